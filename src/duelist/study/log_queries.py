"""What a server that stands before raters and owners asks of a study: pages of the log, the queue, a rater's own part, files."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple

from duelist.core.errors import InvalidInput, UnknownArm, VoteConflict
from duelist.study.cache import Side
from duelist.study.imports.votes.deduplication import read_log
from duelist.study.records import DuelKind, Outcome, StudyDuel, Vote
from duelist.study.storage import DuelRow, LeaseState, MediaRow, SeenRow, Storage, Transaction, VoteRow
from duelist.study.validation import checked_number, checked_rater, checked_text
from duelist.study.voting.tell import find_duel

LOOKED_THROUGH: Final = 20_000
"""Rows of the log that are looked through for one page; a filter that few rows pass gives short pages."""
_PART: Final = 1000
LAST_SHOWN: Final = 20
LARGEST_FILE: Final = 256 * 2**20


class RaterProgress(NamedTuple):
    """A rater's own part: how many votes of theirs stand, and the newest of them, by duel."""

    votes: int
    last: list[tuple[int, Outcome]]


@dataclass(frozen=True, slots=True)
class LogPage:
    """Rows of the log, newest first; `next` is the `before` of the next page, None at the end; `total` are all rows there are."""

    votes: list[Vote]
    next: int | None
    total: int


class Queue(NamedTuple):
    """Duels that are out; how many went back unanswered (released, or their time was over); votes that came late."""

    out: list[StudyDuel]
    over: list[StudyDuel]
    returned: int
    late: int


class StudyRevision(NamedTuple):
    """How far a study has come: if none of these has changed, nothing has."""

    votes: int
    duels: int
    arms: int
    revision: int
    counting_revision: int
    arms_revision: int


class Serving(ABC):
    """The server's part of `Study`."""

    _storage: Storage
    _id: int
    _reader: Side

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes, refused where the study was put away."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Transaction]:
        """One transaction that reads."""

    @abstractmethod
    def _vote_from(self, row: VoteRow, duel: DuelRow) -> Vote:
        """A row of the log as people see it, in a transaction that reads."""

    @abstractmethod
    def _leases(self, tx: Transaction) -> list[tuple[StudyDuel, bool]]:
        """The duels that are leased, and whether their time is not over."""

    @property
    def id(self) -> int:
        """The number of the study in its storage; it stays when the study is renamed."""
        return self._id

    def revision(self) -> StudyRevision:
        """How far the study has come."""
        with self._storage.viewing(self._id) as tx:
            c = tx.counters
            return StudyRevision(c.n_votes, c.n_duels, c.n_arms, c.revision, c.counting_revision, c.arms_revision)

    # -- raters --------------------------------------------------------------------------

    def release(self, duel: StudyDuel | int, rater: str) -> None:
        """Give a duel back without an answer; it waits for whoever asks next. One that is back already stays so."""
        number, rater = checked_number(duel), checked_rater(rater)
        with self._writing() as tx:
            row, lease = find_duel(tx, number), tx.lease(number, rater)
            if lease is None:
                raise VoteConflict(
                    f"Duel {number} was not asked of {rater!r}.", "Give back a duel that this rater was asked."
                )
            if lease.state == LeaseState.TOLD:
                raise VoteConflict(f"{rater!r} has answered duel {number}.", "Undo the vote first.")
            if lease.state == LeaseState.OPEN:
                tx.put_lease(lease._replace(state=LeaseState.RETURNED))
                tx.set_free(number, row.free + 1)

    def rater_progress(self, rater: str) -> RaterProgress:
        """What a rater has done: votes of theirs that stand, and the newest of them, newest first."""
        rater = checked_rater(rater)
        with self._reading() as tx:
            rows = _standing(tx.seen_by(rater, 0))
        return RaterProgress(
            len(rows), [(row.duel, row.outcome) for row in reversed(rows[-LAST_SHOWN:]) if row.outcome is not None]
        )

    def has_rater(self, name: str) -> bool:
        """Whether anybody of that name has been asked, has voted, or was described."""
        with self._reading() as tx:
            said = checked_rater(name) in self._reader.raters
            return said or bool(tx.leases_of(name)) or tx.first_vote_of(name) is not None

    # -- the log and the queue -----------------------------------------------------------

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
        """A page of the log, newest first: rows before that one that are as wanted."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _PART:
            raise InvalidInput(f"limit is {limit!r}.", f"Give a whole number from 1 to {_PART}.", field="limit")
        wanted = {"rater": rater, "outcome": outcome, "context": context, "criterion": criterion, "kind": kind}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        found: list[Vote] = []
        with self._reading() as tx:
            total = tx.counters.n_votes
            start = total if before is None else min(before - 1, total)
            last = max(start - LOOKED_THROUGH, 0)
            for vote in self._backwards(tx, start, last):
                if all(getattr(vote, name) == value for name, value in wanted.items()) and (
                    arm is None or arm in (vote.first, vote.second)
                ):
                    found.append(vote)
                if len(found) == limit:
                    last = vote.sequence - 1
                    break
        return LogPage(found, last + 1 if last > 0 else None, total)

    def _backwards(self, tx: Transaction, start: int, last: int) -> Iterator[Vote]:
        while start > last:
            end = max(start - _PART, last)
            for row, duel in reversed(list(read_log(tx, end, start))):
                yield self._vote_from(row, duel)
            start = end

    def queue(self) -> Queue:
        """What is out, and what came back."""
        with self._reading() as tx:
            leased = self._leases(tx)
            returned, late = tx.count_leases(LeaseState.RETURNED), tx.count_late()
        out, over = ([duel for duel, held in leased if held is wanted] for wanted in (True, False))
        return Queue(out, over, returned + len(over), late)

    # -- files ---------------------------------------------------------------------------

    def add_media(self, files: list[tuple[str, str, bytes]]) -> list[str]:
        """Keep files (name, media type, content) that raters are shown; the key of each, which is made from its content."""
        rows = [MediaRow(_key(name, body), checked_text("name", name), kind, body) for name, kind, body in files]
        large = next((row for row in rows if len(row.body) > LARGEST_FILE), None)
        if large is not None:
            raise InvalidInput(f"{large.name!r} has {len(large.body)} bytes.", f"Give files of at most {LARGEST_FILE}.")
        for row in rows:  # one at a time: raters wait for no more than one file
            with self._changing() as tx:
                tx.add_media([row])
        return [row.key for row in rows]

    def media(self, key: str) -> MediaRow:
        """The file of that key."""
        with self._storage.viewing(self._id) as tx:
            found = tx.media(checked_text("key", key))
        if found is None:
            raise UnknownArm(
                f"There is no file {key!r} in this study.", "Add it with `add_media`.", code="unknown_arm.file"
            )
        return found


def _key(name: str, body: bytes) -> str:
    """By content, with the ending of the name, so that one sees what it is."""
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    known = f".{ending}" if ending.isascii() and ending.isalnum() else ""
    return hashlib.sha256(body).hexdigest()[:32] + known


def _standing(rows: list[SeenRow]) -> list[SeenRow]:
    """As `records.current_votes`: a revision in the place of what it revises, an undone one left out, in the order first given."""
    roots: dict[int, int] = {}
    latest: dict[int, SeenRow] = {}
    for row in rows:
        root = row.sequence if row.revises is None else roots.get(row.revises, row.revises)
        roots[row.sequence] = root
        latest[root] = row
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]
