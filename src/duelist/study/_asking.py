"""Asking: the duel a rater has already, one that waits for a rater, or a new one.

A duel that was handed out is owed an answer. A rater who asks again has the same duel; when the time of a lease has run out
(which is noticed by whoever asks next, there is no daemon), the duel goes to the next rater who asks and whom it fits.

A lease holds from one lease's length before it was given until its deadline. The first half of this is for clocks that
are set back: a lease that seems to come from far in the future would otherwise never end.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from duelist.errors import NothingToAsk
from duelist.study._arms import Features, KnownArms
from duelist.study._choosing import Chooser, Pair, most_considered, out_among
from duelist.study._fold import Fold
from duelist.study.records import StudySettings
from duelist.study.storage import DuelRow, LeaseRow, LeaseState, Transaction

Ints = NDArray[np.int64]
Leased = tuple[LeaseRow, DuelRow]

LOOKED_AT: Final = 256
"""How many waiting duels are looked at for one that fits."""


class Known(NamedTuple):
    """What a process knows of a study."""

    settings: StudySettings
    arms: KnownArms
    fold: Fold


class Wanted(NamedTuple):
    """What may be asked: any of the study's groups, one of them, or the arms that are named; no pairs that are `closed`."""

    context: str | None = None
    candidates: Ints | None = None
    closed: frozenset[Pair] = frozenset()


class Gate(Protocol):
    """What the owner has to say before a rater is given another duel."""

    def __call__(self, out: list[Leased], wanted: Wanted) -> tuple[Wanted, DuelRow | None]:
        """What may be asked, and a duel that is to be asked before all others, if there is one."""


def ask(tx: Transaction, known: Known, rater: str, wanted: Wanted, now: int, gate: Gate | None = None) -> Leased:
    """A duel for the rater, leased."""
    out = take_back(tx, now)
    for lease, duel in out:
        if lease.rater == rater and fits(duel, known.arms, wanted):
            return lease, duel
    wanted, first = (wanted, None) if gate is None else gate(out, wanted)
    waiting = None if first else _waiting(tx, known.arms, out, rater, wanted)
    if first is not None:
        duel = first
        tx.add_duels([duel])
    elif waiting is None:
        duel = _new(tx, known, out, wanted, now)
        tx.add_duels([duel])
    else:
        duel = waiting._replace(free=waiting.free - 1)
        tx.set_free(duel.number, duel.free)
    lease = new_lease(duel.number, rater, now, known.settings)
    tx.put_lease(lease)
    return lease, duel


def new_lease(duel: int, rater: str, now: int, settings: StudySettings) -> LeaseRow:
    """An open lease from now on."""
    return LeaseRow(duel, rater, LeaseState.OPEN, now, now + round(settings.lease_seconds * 1e6))


def holds(lease: LeaseRow, now: int) -> bool:
    """Whether a lease has time left."""
    length = lease.deadline - lease.asked_at
    return lease.asked_at - length <= now < lease.deadline


def take_back(tx: Transaction, now: int) -> list[Leased]:
    """End the leases whose time has run out; those that are still out."""
    out: list[Leased] = []
    free: dict[int, int] = {}
    for lease, duel in tx.open_leases():
        if holds(lease, now):
            out.append((lease, duel))
            continue
        free[duel.number] = free.get(duel.number, duel.free) + 1
        tx.put_lease(lease._replace(state=LeaseState.RETURNED))
        tx.set_free(duel.number, free[duel.number])
    return out


def pair_of(duel: DuelRow, arms: KnownArms) -> Pair:
    """The numbers of the two arms, the smaller first."""
    first, second = arms.owner(duel.first_row), arms.owner(duel.second_row)
    return min(first, second), max(first, second)


def fits(duel: DuelRow, arms: KnownArms, wanted: Wanted) -> bool:
    """Whether a duel is what the rater asked for."""
    if wanted.context is not None and duel.context != wanted.context:
        return False
    return wanted.candidates is None or bool(np.isin(pair_of(duel, arms), wanted.candidates).all())


def _waiting(tx: Transaction, arms: KnownArms, out: list[Leased], rater: str, wanted: Wanted) -> DuelRow | None:
    """A duel that has room for this rater: its arms in the game, its pair not out as another duel."""
    held = {pair_of(duel, arms): duel.number for _, duel in out}
    for duel in tx.waiting_duels(rater, wanted.context, LOOKED_AT):
        pair = pair_of(duel, arms)
        in_game = pair not in wanted.closed and not any(arms.is_retired(number) for number in pair)
        if in_game and held.get(pair, duel.number) == duel.number and fits(duel, arms, wanted):
            return duel
    return None


def _new(tx: Transaction, known: Known, out: list[Leased], wanted: Wanted, now: int) -> DuelRow:
    """A new duel, chosen, with its sides shuffled. All its randomness comes from the study's seed and its number."""
    arms, settings = known.arms, known.settings
    number = tx.counters.n_duels + 1
    rng = np.random.default_rng((settings.seed, number))
    known.fold.begin(tx, arms)
    policy = known.fold.follow(tx, arms)
    pairs_out = [*(pair_of(duel, arms) for _, duel in out), *wanted.closed]
    context, groups = _context(arms, wanted, pairs_out, rng)
    numbers, matrix = _candidates(arms, wanted, context)
    pending = [
        (arms.difference(duel.first_row, duel.second_row), duel.layer, duel.share)
        for _, duel in out
        if duel.share > 0.0
    ]
    taken = out_among(pairs_out, numbers)
    chooser = Chooser(policy, matrix, taken, pending, tx.counters.n_duels, rng, groups)
    chosen = chooser.choose(settings.random_share)
    rows = arms.newest_rows(numbers[[chosen.first, chosen.second]]).tolist()
    swapped = bool(rng.random() < 0.5)
    tx.counters.n_duels = number
    return DuelRow(
        number=number,
        first_row=rows[swapped],
        second_row=rows[not swapped],
        context=context if wanted.candidates is None else arms.common_context(rows),
        chosen_by=chosen.chosen_by,
        chance=chosen.chance,
        swapped=swapped,
        layer=chosen.layer,
        share=chosen.share,
        asked_at=now,
        free=settings.raters_per_duel - 1,
    )


def _candidates(arms: KnownArms, wanted: Wanted, context: str | None) -> tuple[Ints, Features]:
    """The numbers and the features of the candidates: at least two, all in the game."""
    numbers = arms.groups()[context] if wanted.candidates is None else wanted.candidates
    if len(numbers) < 2:
        raise NothingToAsk(f"there is {len(numbers)} candidate in the game; give at least two")
    # Of very many only some are looked at: to convert all of them would take longer than to choose.
    precision = np.float64 if len(numbers) <= most_considered(arms.dim) else np.float32
    return numbers, (
        arms.group_matrix(context, precision) if wanted.candidates is None else arms.matrix(numbers, precision)
    )


def _context(arms: KnownArms, wanted: Wanted, out: list[Pair], rng: np.random.Generator) -> tuple[str | None, int]:
    """The context to ask in, and among how many it was drawn."""
    if wanted.candidates is not None:
        return wanted.context, 1
    names = [wanted.context] if wanted.context is not None else _open_contexts(arms, out)
    context = names[int(rng.integers(len(names)))] if names else None
    if context not in arms.askable():
        where = "no group of arms has" if context is None else f"context {context!r} does not have"
        raise NothingToAsk(f"{where} two arms in the game; add some with `add_arms`, or `restore` retired ones")
    return context, len(names)


def _open_contexts(arms: KnownArms, out: list[Pair]) -> list[str | None]:
    """The contexts with two arms in the game that have a pair to ask; all of them, if none has."""
    askable = arms.askable()
    held = Counter(arms.context_of(a) for a, b in set(out) if not (arms.is_retired(a) or arms.is_retired(b)))
    full = {context for context, count in held.items() if context in askable and count >= askable[context]}
    return [name for name in askable if name not in full] or list(askable)
