"""The places of a study with open registration: find participants who hold one, and free idle ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from duelist.study.cache import StudyCache
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
