"""Telling: one row of the log for every vote, revision and undo, and none for what is already there.

The log's times never go back: if the clock does, a row takes the time of the row before it, until the clock has caught up.
The time a rater took is left open if the clock says that it was less than none.
"""

from __future__ import annotations

from typing import NamedTuple

from duelist.core.errors import InvalidInput, UnknownDuel, VoteConflict
from duelist.study.asking.ask import Known, holds, new_lease, pair_of, take_back
from duelist.study.records import Outcome, Source, StudySettings
from duelist.study.storage import DuelRow, LeaseRow, LeaseState, Transaction, VoteRow


class Told(NamedTuple):
    """What a rater says."""

    duel: int
    rater: str
    outcome: Outcome
    source: Source
    response_seconds: float | None
    revise: bool
    reason: str | None = None
    criterion: str | None = None


def tell(
    tx: Transaction, known: Known, told: Told, now: int, refused: VoteConflict | None = None
) -> tuple[VoteRow, DuelRow]:
    """The row of the log that holds this vote, a new one or the one that is there already, and its duel.

    A new one is `refused` if the owner wants none.
    """
    _check_criterion(told.criterion, known.settings)
    duel = find_duel(tx, told.duel)
    last = tx.last_vote(told.duel, told.rater, told.criterion)
    if last is not None and last.outcome is not None:
        if last.outcome == told.outcome:
            return last, duel
        if not told.revise:
            raise VoteConflict(
                f"{told.rater!r} has voted {last.outcome.value!r} on duel {told.duel}, and now says "
                f"{told.outcome.value!r}.",
                "Pass revise=True to change the vote.",
                code="vote_conflict.contradiction",
            )
    if refused is not None:
        raise refused
    lease = _lease_of(tx, told.duel, told.rater)
    vote = VoteRow(
        sequence=tx.counters.n_votes + 1,
        duel=told.duel,
        rater=told.rater,
        outcome=told.outcome,
        voted_at=_log_time(tx, lease, now),
        source=told.source,
        response_seconds=_response(told, lease, now),
        late=not holds(lease, now) if last is None else last.late,
        revises=None if last is None else last.sequence,
        root=tx.counters.n_votes + 1 if last is None else last.root,
        reason=told.reason,
        criterion=told.criterion,
    )
    _append(tx, known, vote)
    if not _open_criteria(tx, known.settings, told.duel, told.rater):
        _close(tx, lease, duel)
    return vote, duel


def _check_criterion(criterion: str | None, settings: StudySettings) -> None:
    if criterion is None and settings.criteria:
        raise InvalidInput(
            f"This study asks about {', '.join(settings.criteria)}.",
            "Name the one that the vote is on with criterion=..., or vote on all of them with `tell_all`.",
            code="invalid_input.criterion_missing",
            field="criterion",
        )
    if criterion is not None and criterion not in settings.criteria:
        there = ", ".join(map(repr, settings.criteria)) or "it has none, leave it out"
        raise InvalidInput(
            f"criterion is {criterion!r}, which this study does not ask about.",
            f"Choose one of its criteria: {there}.",
            field="criterion",
        )


def _open_criteria(tx: Transaction, settings: StudySettings, duel: int, rater: str) -> list[str]:
    """The criteria that a rater has yet to judge a duel by."""
    last = {criterion: tx.last_vote(duel, rater, criterion) for criterion in settings.criteria}
    return [criterion for criterion, vote in last.items() if vote is None or vote.outcome is None]


def undo(
    tx: Transaction,
    known: Known,
    duel_id: int,
    rater: str,
    now: int,
    criterion: str | None = None,
    refused: VoteConflict | None = None,
) -> tuple[VoteRow, DuelRow]:
    """Take a vote back; the duel is in the rater's hands again, unless its pair is out to somebody else."""
    _check_criterion(criterion, known.settings)
    duel = find_duel(tx, duel_id)
    last = tx.last_vote(duel_id, rater, criterion)
    if last is None:
        raise VoteConflict(f"{rater!r} has not voted on duel {duel_id}.", "There is nothing to undo.")
    if last.outcome is None:
        return last, duel
    if refused is not None:
        raise refused
    lease = _lease_of(tx, duel_id, rater)
    vote = last._replace(
        sequence=tx.counters.n_votes + 1,
        outcome=None,
        voted_at=_log_time(tx, lease, now),
        response_seconds=None,
        revises=last.sequence,
        reason=None,
    )
    out = take_back(tx, now)
    duel = find_duel(tx, duel_id)  # only now: what came back has made room
    if lease.state == LeaseState.OPEN:
        _append(tx, known, vote)  # of several criteria, others were still to be judged
        return vote, duel
    pair = pair_of(duel, known.arms)
    if any(pair_of(other, known.arms) == pair and other.number != duel_id for _, other in out):
        tx.put_lease(lease._replace(state=LeaseState.RETURNED))
        tx.set_free(duel_id, duel.free + 1)
    else:
        tx.put_lease(new_lease(duel_id, rater, now, known.settings))
    _append(tx, known, vote)
    return vote, duel


def find_duel(tx: Transaction, duel_id: int) -> DuelRow:
    """The duel of that id."""
    duel = tx.duel(duel_id) if 0 < duel_id < 2**63 else None
    if duel is None:
        raise UnknownDuel(f"Duel {duel_id} was never asked in this study.", "Give the id of a duel that was asked.")
    return duel


def _lease_of(tx: Transaction, duel_id: int, rater: str) -> LeaseRow:
    lease = tx.lease(duel_id, rater)
    if lease is None:
        raise VoteConflict(
            f"Duel {duel_id} was not asked of {rater!r}.", "A rater can vote only on the duels that they were asked."
        )
    return lease


def _log_time(tx: Transaction, lease: LeaseRow, now: int) -> int:
    return max(now, tx.counters.last_voted_at, lease.asked_at)


def _response(told: Told, lease: LeaseRow, now: int) -> float | None:
    if told.response_seconds is not None or lease.state == LeaseState.TOLD or now < lease.asked_at:
        return told.response_seconds
    return (now - lease.asked_at) / 1e6


def _close(tx: Transaction, lease: LeaseRow, duel: DuelRow) -> None:
    """The rater has answered. If the duel was back already, the place that was free is taken by this vote."""
    if lease.state == LeaseState.TOLD:
        return
    if lease.state == LeaseState.RETURNED and duel.free > 0:
        tx.set_free(duel.number, duel.free - 1)
    tx.put_lease(lease._replace(state=LeaseState.TOLD))


def _append(tx: Transaction, known: Known, vote: VoteRow) -> None:
    tx.add_votes([vote])
    before = tx.counters.n_votes
    tx.counters.n_votes = vote.sequence
    tx.counters.last_voted_at = vote.voted_at or tx.counters.last_voted_at
    outdated = [] if vote.revises is None else [s for s in tx.snapshot_sequences() if s >= vote.root]
    tx.drop_snapshots(outdated)
    known.fold.keep(tx, known.arms, before, anyway=bool(outdated))
