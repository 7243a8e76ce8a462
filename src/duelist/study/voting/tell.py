"""Record votes: a row of the log for every vote, revision and undo; a repeated call adds none.

Times in the log never decrease: if the clock is set back, rows get the time of the row before them until it has caught up. Negative
response times are dropped.
"""

from __future__ import annotations

from typing import Final

from duelist.core.errors import InvalidInput, UnknownDuel, VoteConflict
from duelist.study.asking.leases import end_expired_leases, is_valid, new_lease, pair_of
from duelist.study.cache import StudyCache
from duelist.study.records import Outcome, Source, StudySettings
from duelist.study.storage import DuelRow, LeaseRow, LeaseState, Transaction, VoteRow

MAX_CHANGES: Final = 50
"""How often a rater may change or undo one vote: each change stays in the log."""
MAX_PENDING: Final = 20
"""Duels that may be pending with a rater after an undo; further ones are returned, so that no rater can hold them all."""


def new_vote(
    duel: int,
    rater: str,
    outcome: Outcome,
    source: Source = Source.HUMAN,
    response_seconds: float | None = None,
    reason: str | None = None,
    criterion: str | None = None,
) -> VoteRow:
    """Return the row of a vote that `tell` completes with its place in the log."""
    return VoteRow(
        sequence=0,
        duel=duel,
        rater=rater,
        outcome=outcome,
        voted_at=None,
        source=source,
        response_seconds=response_seconds,
        late=False,
        revises=None,
        root=0,
        reason=reason,
        criterion=criterion,
    )


def tell(tx: Transaction, cache: StudyCache, vote: VoteRow, now: int, revise: bool = False) -> tuple[VoteRow, DuelRow]:
    """Append a vote of `new_vote` to the log; return its row, or the row that has it already, and its duel."""
    rater = vote.rater or ""
    _check_criterion(vote.criterion, cache.settings)
    duel = find_duel(tx, vote.duel)
    last = tx.last_vote(vote.duel, rater, vote.criterion)
    if last is not None and last.outcome is not None:
        if last.outcome == vote.outcome:
            return last, duel
        if not revise:
            raise VoteConflict(
                f"{rater!r} has voted {last.outcome.value!r} on duel {vote.duel}, and now says {str(vote.outcome)!r}.",
                "Pass revise=True to change the vote.",
                code="vote_conflict.contradiction",
            )
    error = cache.vote_error(rater)
    if error is not None:
        raise error
    _check_changes(tx, last, rater)
    lease = _find_lease(tx, vote.duel, rater)
    sequence = tx.counters.n_votes + 1
    vote = vote._replace(
        sequence=sequence,
        voted_at=_log_time(tx, lease, now),
        response_seconds=_response_seconds(vote, lease, now),
        late=not is_valid(lease, now) if last is None else last.late,
        revises=None if last is None else last.sequence,
        root=sequence if last is None else last.root,
    )
    _append(tx, cache, vote)
    if not _open_criteria(tx, cache.settings, vote.duel, rater):
        _end_lease(tx, lease, duel)
    return vote, duel


def undo(
    tx: Transaction, cache: StudyCache, duel_id: int, rater: str, now: int, criterion: str | None = None
) -> tuple[VoteRow, DuelRow]:
    """Undo a vote; the duel is pending with the rater again, unless its pair is pending with another one.

    A rater with many pending duels does not get it back either: it waits for the next rater who asks.
    """
    _check_criterion(criterion, cache.settings)
    duel = find_duel(tx, duel_id)
    last = tx.last_vote(duel_id, rater, criterion)
    if last is None:
        raise VoteConflict(f"{rater!r} has not voted on duel {duel_id}.", "There is nothing to undo.")
    if last.outcome is None:
        return last, duel
    error = cache.vote_error(rater)
    if error is not None:
        raise error
    _check_changes(tx, last, rater)
    lease = _find_lease(tx, duel_id, rater)
    vote = last._replace(
        sequence=tx.counters.n_votes + 1,
        outcome=None,
        voted_at=_log_time(tx, lease, now),
        response_seconds=None,
        revises=last.sequence,
        reason=None,
    )
    pending = end_expired_leases(tx, now)
    duel = find_duel(tx, duel_id)  # again: an expired lease may have freed a place
    if lease.state == LeaseState.OPEN:
        _append(tx, cache, vote)  # other criteria of this duel are still to be voted on
        return vote, duel
    pair = pair_of(duel, cache.arms)
    is_elsewhere = any(pair_of(other, cache.arms) == pair and other.number != duel_id for _, other in pending)
    if is_elsewhere or sum(other.rater == rater for other, _ in pending) >= MAX_PENDING:
        tx.put_lease(lease._replace(state=LeaseState.RETURNED))
        tx.set_free(duel_id, duel.free + 1)
    else:
        tx.put_lease(new_lease(duel_id, rater, now, cache.settings))
    _append(tx, cache, vote)
    return vote, duel


def release(tx: Transaction, duel_id: int, rater: str) -> None:
    """Return a duel without a vote, so that it waits for the next rater."""
    duel, lease = find_duel(tx, duel_id), tx.lease(duel_id, rater)
    if lease is None:
        raise VoteConflict(f"Duel {duel_id} was not asked of {rater!r}.", "Release a duel that this rater was asked.")
    if lease.state == LeaseState.VOTED:
        raise VoteConflict(f"{rater!r} has voted on duel {duel_id}.", "Undo the vote first.")
    if lease.state == LeaseState.OPEN:
        return_lease(tx, lease, duel)


def return_lease(tx: Transaction, lease: LeaseRow, duel: DuelRow) -> None:
    """End an open lease without a vote."""
    tx.put_lease(lease._replace(state=LeaseState.RETURNED))
    tx.set_free(duel.number, duel.free + 1)


def find_duel(tx: Transaction, duel_id: int) -> DuelRow:
    """Return the duel of that id; raise UnknownDuel if there is none."""
    duel = tx.duel(duel_id) if 0 < duel_id < 2**63 else None
    if duel is None:
        raise UnknownDuel(f"Duel {duel_id} was never asked in this study.", "Give the id of a duel that was asked.")
    return duel


def _check_criterion(criterion: str | None, settings: StudySettings) -> None:
    if criterion is None and settings.criteria:
        raise InvalidInput(
            f"This study asks about {', '.join(settings.criteria)}.",
            "Name the one that the vote is on with criterion=..., or vote on all of them with `tell_all`.",
            code="invalid_input.criterion_missing",
            field="criterion",
        )
    if criterion is not None and criterion not in settings.criteria:
        criteria = ", ".join(map(repr, settings.criteria)) or "it has none, leave it out"
        raise InvalidInput(
            f"criterion is {criterion!r}, which this study does not ask about.",
            f"Choose one of its criteria: {criteria}.",
            field="criterion",
        )


def _check_changes(tx: Transaction, last: VoteRow | None, rater: str) -> None:
    """Raise if a vote was changed very often."""
    if last is None or last.revises is None:
        return
    rows = (row for row in tx.votes_of(rater, last.root) if row.duel == last.duel and row.revises is not None)
    if sum(1 for _ in rows) >= MAX_CHANGES:
        raise VoteConflict(
            f"{rater!r} has changed this vote {MAX_CHANGES} times.", "It stays as it is.", code="vote_conflict.changes"
        )


def _open_criteria(tx: Transaction, settings: StudySettings, duel: int, rater: str) -> list[str]:
    """Return the criteria of a duel that a rater has no vote on."""
    last = {criterion: tx.last_vote(duel, rater, criterion) for criterion in settings.criteria}
    return [criterion for criterion, vote in last.items() if vote is None or vote.outcome is None]


def _find_lease(tx: Transaction, duel_id: int, rater: str) -> LeaseRow:
    lease = tx.lease(duel_id, rater)
    if lease is None:
        raise VoteConflict(
            f"Duel {duel_id} was not asked of {rater!r}.", "A rater can vote only on the duels that they were asked."
        )
    return lease


def _log_time(tx: Transaction, lease: LeaseRow, now: int) -> int:
    return max(now, tx.counters.last_voted_at, lease.asked_at)


def _response_seconds(vote: VoteRow, lease: LeaseRow, now: int) -> float | None:
    if vote.response_seconds is not None or lease.state == LeaseState.VOTED or now < lease.asked_at:
        return vote.response_seconds
    return (now - lease.asked_at) / 1e6


def _end_lease(tx: Transaction, lease: LeaseRow, duel: DuelRow) -> None:
    """Mark a lease as voted on; a vote on a returned duel takes the place that it had freed."""
    if lease.state == LeaseState.VOTED:
        return
    if lease.state == LeaseState.RETURNED and duel.free > 0:
        tx.set_free(duel.number, duel.free - 1)
    tx.put_lease(lease._replace(state=LeaseState.VOTED))


def _append(tx: Transaction, cache: StudyCache, vote: VoteRow) -> None:
    tx.add_votes([vote])
    before = tx.counters.n_votes
    tx.counters.n_votes = vote.sequence
    tx.counters.last_voted_at = vote.voted_at or tx.counters.last_voted_at
    outdated = [] if vote.revises is None else [s for s in tx.snapshot_sequences() if s >= vote.root]
    tx.drop_snapshots(outdated)
    cache.replay.store_snapshot(tx, cache.arms, before, force=bool(outdated))
