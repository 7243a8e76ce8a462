"""Leases: which duels are pending with which raters, and until when.

A lease is valid from one lease's length before it was given until its deadline. The first half is for clocks that are set back: a
lease that seems to come from the far future would otherwise never end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelist.core.arrays import Ints
from duelist.study.asking.pairs import Pair
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import StudySettings
from duelist.study.storage import DuelRow, LeaseRow, LeaseState, Transaction

LeasedDuel = tuple[LeaseRow, DuelRow]


class AskRequest(NamedTuple):
    """Which duels are allowed: of any context, of one, or of given candidates, but not on `full_pairs`.

    The rater is already working on the duels `in_progress` and wants another one. `entropy` is mixed into the randomness of a new duel.
    """

    context: str | None = None
    candidates: Ints | None = None
    full_pairs: frozenset[Pair] = frozenset()
    in_progress: frozenset[int] = frozenset()
    entropy: tuple[int, ...] = ()


def new_lease(duel: int, rater: str, now: int, settings: StudySettings) -> LeaseRow:
    """Return an open lease that starts now."""
    return LeaseRow(duel, rater, LeaseState.OPEN, now, now + round(settings.lease_seconds * 1e6))


def is_valid(lease: LeaseRow, now: int) -> bool:
    """Whether a lease has neither expired nor comes from the future."""
    length = lease.deadline - lease.asked_at
    return lease.asked_at - length <= now < lease.deadline


def end_expired_leases(tx: Transaction, now: int) -> list[LeasedDuel]:
    """End the leases that have expired, and return those that are still pending."""
    pending: list[LeasedDuel] = []
    free: dict[int, int] = {}
    for leased in tx.open_leases():
        lease, duel = leased
        if is_valid(lease, now):
            pending.append(leased)
            continue
        free[duel.number] = free.get(duel.number, duel.free) + 1
        tx.put_lease(lease._replace(state=LeaseState.RETURNED))
        tx.set_free(duel.number, free[duel.number])
    return pending


def pair_of(duel: DuelRow, arms: ArmCatalog) -> Pair:
    """Return the numbers of a duel's two arms, the smaller first."""
    first, second = arms.number_at(duel.first_row), arms.number_at(duel.second_row)
    return min(first, second), max(first, second)


def matches(duel: DuelRow, arms: ArmCatalog, request: AskRequest) -> bool:
    """Whether a duel has the context and the candidates of a request."""
    if request.context is not None and duel.context != request.context:
        return False
    return request.candidates is None or bool(np.isin(pair_of(duel, arms), request.candidates).all())
