"""The places of a study with open registration: find participants who hold one, and free idle ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from duelist.study.cache import StudyCache
from duelist.study.participation.flow import Question
from duelist.study.participation.state import Participation
from duelist.study.storage import LeaseState, RaterRow, Transaction
from duelist.study.voting.tell import find_duel, return_lease

_HOLDERS = (None, "completed")
"""Endings of those who keep their place."""


def participants(cache: StudyCache) -> Iterator[tuple[RaterRow, Participation]]:
    """Yield the raters who entered by the open address."""
    for row in cache.raters.values():
        state = Participation.from_json(row.participation)
        if state.entered_at is not None:
            yield row, state


def free_places(cache: StudyCache) -> float:
    """Return how many more participants may enter."""
    places = cache.settings.recruiting.places
    if places is None:
        return float("inf")
    return places - sum(state.ending in _HOLDERS and not row.blocked for row, state in participants(cache))


def is_over_quota(cache: StudyCache, question: Question, answer: Any, rater: str) -> bool:
    """Whether as many other raters as the quota allows have chosen this option, and hold their place."""
    if answer not in question.quotas:
        return False
    others = (row for row in cache.raters.values() if row.name != rater and not row.blocked)
    holders = (row for row in others if Participation.of(row).ending in _HOLDERS)
    return sum(row.attributes.get(question.name) == answer for row in holders) >= question.quotas[answer]


def finds_place(cache: StudyCache, row: RaterRow | None) -> bool:
    """Whether there is a place for someone new (None), or for a rater who comes back; one who timed out needs a new place.

    Their answers count for the quotas again, which others may have filled meanwhile.
    """
    if row is not None and Participation.of(row).ending != "timed_out":
        return True
    if row is not None:
        for question in cache.settings.flow.questions:
            if is_over_quota(cache, question, row.attributes.get(question.name), row.name):
                return False
    return free_places(cache) > 0


def release_idle(tx: Transaction, cache: StudyCache, now: int) -> None:
    """End the participation of those who have been idle for too long, and release their pending duels."""
    minutes = cache.settings.recruiting.idle_minutes
    if minutes is None:
        return
    for row, state in list(participants(cache)):
        if state.ending is not None or row.blocked:
            continue
        since = state.entered_at or 0
        if now - since > minutes * 60e6 and now - max(since, tx.last_active(row.name)) > minutes * 60e6:
            put_participation(tx, cache, row, replace(state, ending="timed_out"))
            release_all(tx, row.name)


def put_participation(tx: Transaction, cache: StudyCache, row: RaterRow, state: Participation) -> RaterRow:
    """Write how a rater takes part, also into the cache, which later calls of this transaction read; return the row."""
    row = row._replace(participation=state.to_json())
    tx.put_rater(row)
    tx.counters.revision += 1
    cache.remember(row)
    return row


def release_all(tx: Transaction, rater: str) -> None:
    """Release the pending duels of a rater."""
    for lease in tx.leases_of(rater):
        if lease.state == LeaseState.OPEN:
            return_lease(tx, lease, find_duel(tx, lease.duel))
