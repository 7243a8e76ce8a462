"""The log of a study: its votes, pending duels, and revision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.core.tables import RecordList
from duelist.study.asking.leases import LeasedDuel, is_valid
from duelist.study.base import StudyBase
from duelist.study.cache import StudyCache
from duelist.study.errors import damaged
from duelist.study.imports.votes.deduplication import read_log
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import DuelKind, Outcome, StudyDuel, Vote, current_votes
from duelist.study.storage import DuelRow, LeaseState, Transaction, VoteRow
from duelist.study.storage.encoding import from_microseconds
from duelist.study.validation import checked_rater

MAX_SCANNED: Final = 20_000
"""Rows of the log that one page scans; a filter that few rows match gives short pages."""
_BATCH: Final = 1000
RECENT_VOTES: Final = 20


class RaterProgress(NamedTuple):
    """The number of duels that a rater has voted on without skipping, and their newest votes by duel, newest first."""

    votes: int
    recent: list[tuple[int, Outcome]]


@dataclass(frozen=True, slots=True)
class LogPage:
    """Rows of the log, newest first; `next` is `before` of the next page, None at the end; `total` counts all rows."""

    votes: list[Vote]
    next: int | None
    total: int


class Queue(NamedTuple):
    """Pending duels, expired ones that wait for the next rater, the number of returned ones, and of late votes.

    A duel is returned without a vote when it expires or is released.
    """

    pending: list[StudyDuel]
    expired: list[StudyDuel]
    returned: int
    late: int


class StudyRevision(NamedTuple):
    """Numbers that change with every change of a study; if they are equal, nothing has changed."""

    votes: int
    duels: int
    arms: int
    settings_revision: int
    counting_revision: int
    arms_revision: int


class StudyLog(StudyBase):
    """The part of `Study` that reads the log."""

    def __len__(self) -> int:
        """Return the number of rows of the log."""
        with self._storage.viewing(self._id) as tx:
            return tx.counters.n_votes

    def __bool__(self) -> bool:
        """Return True: a study without votes has length 0, but is not false."""
        return True

    def votes(self) -> RecordList[Vote]:
        """Return every row of the log; `duelist.study.current_votes` drops revised and undone ones.

        The list is also a table: `study.votes().to_pandas()`.
        """
        with self._reading() as tx:
            duels = {duel.number: duel for duel in tx.duels_since(0)}
            rows = tx.votes_since(0)
            orphan = next((row for row in rows if row.duel not in duels), None)
            if orphan is not None:
                raise damaged(f"vote {orphan.sequence} is on duel {orphan.duel}, which does not exist")
            return RecordList(Vote, (self._vote_from(row, duels[row.duel]) for row in rows))

    def log(
        self,
        before: int | None = None,
        limit: int = 100,
        *,
        rater: str | None = None,
        arm: str | None = None,
        outcome: Outcome | str | None = None,
        context: str | None = None,
        criterion: str | None = None,
        kind: DuelKind | str | None = None,
    ) -> LogPage:
        """Return a page of the log, newest first: matching rows before row `before`."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _BATCH:
            raise InvalidInput(f"limit is {limit!r}.", f"Give a whole number from 1 to {_BATCH}.", field="limit")
        filters = {"rater": rater, "outcome": outcome, "context": context, "criterion": criterion, "kind": kind}
        filters = {name: value for name, value in filters.items() if value is not None}
        found: list[Vote] = []
        with self._reading() as tx:
            total = tx.counters.n_votes
            start = total if before is None else min(before - 1, total)
            end = max(start - MAX_SCANNED, 0)
            for vote in self._backwards(tx, start, end):
                if all(getattr(vote, name) == value for name, value in filters.items()) and (
                    arm is None or arm in (vote.first, vote.second)
                ):
                    found.append(vote)
                if len(found) == limit:
                    end = vote.sequence - 1
                    break
        return LogPage(found, end + 1 if end > 0 else None, total)

    def _backwards(self, tx: Transaction, start: int, end: int) -> Iterator[Vote]:
        while start > end:
            after = max(start - _BATCH, end)
            for row, duel in reversed(list(read_log(tx, after, start))):
                yield self._vote_from(row, duel)
            start = after

    def pending(self) -> list[StudyDuel]:
        """Return the duels that raters have now, one entry per rater and duel."""
        with self._reading() as tx:
            return [duel for duel, valid in self._leased_duels(tx) if valid]

    def queue(self) -> Queue:
        """Return pending and expired duels, and how many were returned or late."""
        with self._reading() as tx:
            leased = self._leased_duels(tx)
            returned, late = tx.count_leases(LeaseState.RETURNED), tx.count_late_votes()
        pending, expired = ([duel for duel, valid in leased if valid is wanted] for wanted in (True, False))
        return Queue(pending, expired, returned + len(expired), late)

    def _leased_duels(self, tx: Transaction) -> list[tuple[StudyDuel, bool]]:
        """Return the duels with an open lease, and whether the lease is valid."""
        now, arms = self._now(tx), self._read_cache.arms
        return [(duel_from_rows(leased, arms, tx), is_valid(leased[0], now)) for leased in tx.open_leases()]

    def rater_progress(self, rater: str) -> RaterProgress:
        """Return the number of duels that a rater has voted on, skips not counted, and the newest votes."""
        rater = checked_rater(rater)
        with self._reading() as tx:
            votes = current_votes(tx.votes_of(rater, 0))
        recent = [(vote.duel, vote.outcome) for vote in reversed(votes[-RECENT_VOTES:]) if vote.outcome is not None]
        return RaterProgress(len({vote.duel for vote in votes if vote.outcome is not Outcome.SKIP}), recent)

    def revision(self) -> StudyRevision:
        """Return numbers that change with every change of the study."""
        with self._storage.viewing(self._id) as tx:
            c = tx.counters
            return StudyRevision(c.n_votes, c.n_duels, c.n_arms, c.revision, c.counting_revision, c.arms_revision)

    def _vote_from(self, row: VoteRow, duel: DuelRow) -> Vote:
        return vote_from_rows(row, duel, self._read_cache)


def vote_from_rows(row: VoteRow, duel: DuelRow, cache: StudyCache) -> Vote:
    """Return the record of a row of the log and its duel."""
    rater = cache.raters.get(row.rater) if row.rater is not None else None
    return Vote(
        sequence=row.sequence,
        duel_id=row.duel,
        outcome=row.outcome,
        rater=row.rater,
        voted_at=None if row.voted_at is None else from_microseconds(row.voted_at),
        first=cache.arms.id_of(cache.arms.number_at(duel.first_row)),
        second=cache.arms.id_of(cache.arms.number_at(duel.second_row)),
        context=duel.context,
        source=row.source,
        response_seconds=row.response_seconds,
        late=row.late,
        revises=row.revises,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        reason=row.reason,
        criterion=row.criterion,
        kind=duel.kind,
        expected=duel.expected,
        excluded=rater is not None and rater.excluded,
    )


def duel_from_rows(leased: LeasedDuel, arms: ArmCatalog, tx: Transaction) -> StudyDuel:
    """Return the record of a duel that is leased to a rater."""
    lease, duel = leased
    return StudyDuel(
        id=duel.number,
        first=arms.arm_at(duel.first_row),
        second=arms.arm_at(duel.second_row),
        rater=lease.rater,
        asked_at=from_microseconds(lease.asked_at),
        deadline=from_microseconds(lease.deadline),
        context=duel.context,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        swapped=duel.swapped,
        layer=duel.layer,
        share=duel.share,
        kind=duel.kind,
        prompt=arms.prompt(tx, duel.context),
    )
