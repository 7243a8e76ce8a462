"""The contract of a storage, and the plain rows that pass through it.

There is one way to write: `with storage.writing(study_id) as tx`. Inside, nobody else writes to that study and
everything committed before is visible; at the end all of it is durable, or, after an error, nothing of it happened.
`duelist.testing.StorageContract` is this contract as a test class.

A storage knows rows and numbers, nothing of policies; what the numbers mean is decided in `duelist.study`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage.tokens import KeepsMedia, KeepsTokens


@dataclass(slots=True)
class Counters:
    """How far a study has come; a transaction may move it on, and it is written when the transaction ends.

    `revision` counts changes of what the owner sets (name, settings, state, raters), `counting_revision` those of which votes
    count: whoever keeps a copy of such things looks at it again when the number has changed.
    """

    n_arms: int = 0
    n_rows: int = 0
    n_duels: int = 0
    n_votes: int = 0
    arms_revision: int = 0
    dim: int | None = None
    last_voted_at: int = 0
    revision: int = 0
    counting_revision: int = 0


class StudyRow(NamedTuple):
    """A study as it is listed."""

    id: int
    name: str
    settings: StudySettings
    created_at: int
    state: StudyState
    counters: Counters


class ArmRow(NamedTuple):
    """An arm without its features; `revision` is the study's `arms_revision` when it last changed."""

    number: int
    id: str
    payload: Any
    context: str | None
    retired: bool
    revision: int


class ContextRow(NamedTuple):
    """What a context is: the text, the messages or anything else; `revision` is the `arms_revision` when it last changed."""

    name: str
    payload: Any
    revision: int


class FeatureChunk(NamedTuple):
    """Feature vectors of rows `first_row`, `first_row + 1`, ...; `arms` says whose they are."""

    first_row: int
    arms: NDArray[np.int64]
    vectors: NDArray[np.float32] | NDArray[np.float64]  # single precision where that changes none of them


class DuelRow(NamedTuple):
    """A duel as shown: rows of features in the order of the sides, and `free`, the raters it still has room for."""

    number: int
    first_row: int
    second_row: int
    context: str | None
    chosen_by: ChosenBy
    propensity: float | None
    swapped: bool
    layer: int
    share: float
    asked_at: int
    free: int
    kind: DuelKind = DuelKind.NORMAL
    expected: Outcome | None = None


class LeaseState(IntEnum):
    """RETURNED: its time ran out; OPEN: the rater has it; TOLD: the rater has answered."""

    RETURNED = 0
    OPEN = 1
    TOLD = 2


class LeaseRow(NamedTuple):
    """A duel in the hands of a rater."""

    duel: int
    rater: str
    state: LeaseState
    asked_at: int
    deadline: int


class VoteRow(NamedTuple):
    """A row of the log; `root` is the first vote of the chain that `revises` leads back to (itself, if it revises none).

    `batch` is the first row of the log that came with the same import.
    """

    sequence: int
    duel: int
    rater: str | None
    outcome: Outcome | None
    voted_at: int | None
    source: Source
    response_seconds: float | None
    late: bool
    revises: int | None
    root: int
    reason: str | None = None
    criterion: str | None = None
    batch: int | None = None


class DetailRow(NamedTuple):
    """What a file knew of a duel and no other row has, as JSON; under "extra" what we have no word for."""

    duel: int
    body: Any


class StagedRow(NamedTuple):
    """Votes of an import that was accepted and goes into the log little by little; it began after row `since` of the log."""

    number: int
    since: int
    body: bytes


class VoteColumns(NamedTuple):
    """Rows of the log by column, as the database holds them; see `VoteRow`. Seconds come as whole microseconds."""

    sequence: Sequence[int]
    root: Sequence[int]
    duel: Sequence[int]
    rater: Sequence[str | None]
    outcome: Sequence[str | None]
    voted_at: Sequence[int | None]
    response_microseconds: Sequence[int | None]
    criterion: Sequence[str | None]


class DuelColumns(NamedTuple):
    """Duels by column, as the database holds them; see `DuelRow`."""

    number: Sequence[int]
    first_row: Sequence[int]
    second_row: Sequence[int]
    context: Sequence[str | None]
    chosen_by: Sequence[str]
    propensity: Sequence[float | None]
    kind: Sequence[str]
    expected: Sequence[str | None]


class RaterRow(NamedTuple):
    """A rater of whom the owner has said something; of most raters there is no such row.

    One who is `blocked` is asked no more, the votes of one who is `excluded` do not count, `erased` is who has a made-up name.
    """

    name: str
    attributes: dict[str, Any]
    blocked: bool
    excluded: bool
    erased: bool
    blocked_at: int | None
    created_at: int


class SeenRow(NamedTuple):
    """A row of the log with what its duel showed, left and right."""

    sequence: int
    duel: int
    outcome: Outcome | None
    revises: int | None
    first_row: int
    second_row: int


class Lesson(NamedTuple):
    """What a row of the log teaches: the vote, and what of its duel the policy wants to know."""

    sequence: int
    root: int
    outcome: Outcome | None
    first_row: int
    second_row: int
    layer: int
    share: float
    criterion: str | None = None
    rater: str | None = None


class Staged(NamedTuple):
    """What of an import is not yet in the log, if there is one: the next part, and the row of the log that the import began after."""

    part: int
    since: int


class Transaction(KeepsMedia, ABC):
    """What can be read and written of one study, while nobody else writes to it."""

    counters: Counters
    now: int
    """Microseconds since 1970 by the clock of the storage, when the transaction had begun: one clock for all who share it."""
    waiting: Staged | None
    """The import that goes into the log little by little."""

    @abstractmethod
    def show_until(self, sequence: int) -> None:
        """Show the log as if it ended with that row."""

    # -- what the owner says -------------------------------------------------------------

    @abstractmethod
    def study(self) -> StudyRow:
        """The study itself, as it was when the transaction began."""

    @abstractmethod
    def put_study(self, name: str, settings: StudySettings, state: StudyState) -> None:
        """Another name, other settings, another state; StudyExists if another study has that name."""

    @abstractmethod
    def raters(self) -> list[RaterRow]:
        """The raters of whom the owner has said something, by name."""

    @abstractmethod
    def put_rater(self, row: RaterRow) -> None:
        """Write what is said of a rater, new or not."""

    @abstractmethod
    def erase_rater(self, name: str, new_name: str) -> None:
        """Call a rater something else wherever they are named; forget the reasons they gave, and what files said of them besides."""

    @abstractmethod
    def first_vote_of(self, rater: str) -> int | None:
        """The first row of the log that is of this rater."""

    @abstractmethod
    def leases_of(self, rater: str) -> list[LeaseRow]:
        """Every lease of a rater, whatever its state, by duel."""

    @abstractmethod
    def duels_asked_of(self, rater: str) -> list[DuelRow]:
        """Every duel that a rater was asked, in order."""

    # -- everything, part by part --------------------------------------------------------

    @abstractmethod
    def duels_between(self, after: int, until: int) -> list[DuelRow]:
        """The duels after the one up to the other, in order."""

    @abstractmethod
    def leases_between(self, after: int, until: int) -> list[LeaseRow]:
        """The leases of the duels after the one up to the other, by duel, then by rater."""

    @abstractmethod
    def votes_between(self, after: int, until: int) -> list[VoteRow]:
        """The rows of the log after the one up to the other, in order."""

    @abstractmethod
    def details(self, first: int, last: int) -> list[DetailRow]:
        """What is kept of the duels from the one to the other, in order."""

    @abstractmethod
    def add_details(self, rows: Sequence[DetailRow]) -> None:
        """Keep more of duels."""

    @abstractmethod
    def staged(self) -> list[StagedRow]:
        """What waits to go into the log, in order."""

    @abstractmethod
    def next_staged(self) -> StagedRow | None:
        """What goes into the log next."""

    @abstractmethod
    def add_staged(self, rows: Sequence[StagedRow]) -> None:
        """More that waits."""

    @abstractmethod
    def drop_staged(self, numbers: Sequence[int]) -> None:
        """What waits no more."""

    @abstractmethod
    def vote_columns(self, after: int, until: int) -> VoteColumns:
        """The rows of the log after the one up to the other, in order, by column."""

    @abstractmethod
    def duel_columns(self, after: int, until: int) -> DuelColumns:
        """The duels after the one up to the other, in order, by column."""

    @abstractmethod
    def add_leases(self, rows: Sequence[LeaseRow]) -> None:
        """Leases that are not there yet."""

    # -- arms ----------------------------------------------------------------------------

    @abstractmethod
    def contexts_since(self, revision: int) -> list[ContextRow]:
        """Contexts that are new or have changed after that revision, by name."""

    @abstractmethod
    def contexts(self, names: Sequence[str]) -> dict[str, Any]:
        """The payloads of those contexts that have one."""

    @abstractmethod
    def put_contexts(self, rows: Sequence[ContextRow]) -> None:
        """What contexts are, new or not."""

    @abstractmethod
    def add_arms(self, rows: Sequence[ArmRow]) -> None:
        """New arms."""

    @abstractmethod
    def arms_since(self, revision: int) -> list[ArmRow]:
        """Arms that are new or have changed after that revision, by number."""

    @abstractmethod
    def set_retired(self, numbers: Sequence[int], retired: bool, revision: int) -> None:
        """Take arms out of the game, or back in."""

    @abstractmethod
    def touch_arms(self, numbers: Sequence[int], revision: int) -> None:
        """Note that arms have changed."""

    @abstractmethod
    def add_features(self, chunk: FeatureChunk) -> None:
        """More rows of features."""

    @abstractmethod
    def features_since(self, row: int) -> Iterator[FeatureChunk]:
        """Chunks that start at that row or later, in order."""

    @abstractmethod
    def add_duels(self, rows: Sequence[DuelRow]) -> None:
        """New duels."""

    @abstractmethod
    def duel(self, number: int) -> DuelRow | None:
        """One duel."""

    @abstractmethod
    def duels_since(self, number: int) -> list[DuelRow]:
        """All duels after that one, in order."""

    @abstractmethod
    def sides_since(self, number: int) -> NDArray[np.int64]:
        """The rows of features that all duels after that one showed, left and right (duels, 2), in any order."""

    @abstractmethod
    def waiting_duels(self, rater: str, context: str | None, limit: int) -> list[DuelRow]:
        """Duels with room for this rater: of the first `limit` with any room (the fullest first, then the oldest;
        only those of the context, if one is given), those that the rater has not told.
        """

    @abstractmethod
    def set_free(self, duel: int, free: int) -> None:
        """How many more raters a duel has room for."""

    @abstractmethod
    def lease(self, duel: int, rater: str) -> LeaseRow | None:
        """The lease of a duel to a rater, whatever its state."""

    @abstractmethod
    def open_leases(self) -> list[tuple[LeaseRow, DuelRow]]:
        """Every open lease with its duel, oldest duel first."""

    def count_leases(self, state: LeaseState) -> int:
        """How many leases are in a state."""
        last = self.counters.n_duels
        return sum(lease.state == state for lease in self.leases_between(0, last))

    def count_late(self) -> int:
        """How many rows of the log came after their deadline."""
        return sum(row.late for row in self.votes_between(0, self.counters.n_votes))

    @abstractmethod
    def put_lease(self, row: LeaseRow) -> None:
        """Write a lease, new or not."""

    @abstractmethod
    def add_votes(self, rows: Sequence[VoteRow]) -> None:
        """More rows of the log."""

    @abstractmethod
    def last_vote(self, duel: int, rater: str, criterion: str | None = None) -> VoteRow | None:
        """The newest row of a rater about a duel, on that criterion."""

    @abstractmethod
    def votes_since(self, sequence: int) -> list[VoteRow]:
        """The log after that row, in order."""

    @abstractmethod
    def seen_by(self, rater: str, sequence: int) -> list[SeenRow]:
        """A rater's rows of the log after that row, in order."""

    @abstractmethod
    def lessons_since(self, sequence: int, everyone: bool = False) -> list[Lesson]:
        """What the log after that row teaches, in order: votes on normal duels, of raters who are not left out, or of everyone."""

    @abstractmethod
    def put_snapshot(self, sequence: int, body: bytes) -> None:
        """Keep the state of the policy after that row of the log."""

    @abstractmethod
    def snapshot_before(self, sequence: int) -> tuple[int, bytes] | None:
        """The newest snapshot from before that row, if there is one."""

    @abstractmethod
    def snapshot_sequences(self) -> list[int]:
        """After which rows there are snapshots, in order."""

    @abstractmethod
    def drop_snapshots(self, sequences: Sequence[int]) -> None:
        """Delete those snapshots."""


class Storage(KeepsTokens, ABC):
    """A place that keeps studies."""

    @abstractmethod
    def create_study(self, name: str, settings: StudySettings, created_at: int) -> int | None:
        """The id of a new study; None, and nothing is written, if the name is taken."""

    @abstractmethod
    def restoring(self, name: str, settings: StudySettings, created_at: int) -> AbstractContextManager[Transaction]:
        """A new study and everything that is written into it at once: all of it, or none; StudyExists if the name is taken."""

    @abstractmethod
    def find_study(self, name: str) -> StudyRow | None:
        """The study of that name."""

    @abstractmethod
    def list_studies(self) -> list[StudyRow]:
        """All studies, oldest first."""

    @abstractmethod
    def delete_study(self, study_id: int) -> None:
        """Delete a study and everything in it."""

    @abstractmethod
    def writing(self, study_id: int) -> AbstractContextManager[Transaction]:
        """One writer at a time: durable when it ends, undone when it raises; UnknownStudy if it was deleted."""

    @abstractmethod
    def reading(self, study_id: int) -> AbstractContextManager[Transaction]:
        """A consistent view of what is committed; what is written in it is refused or undone."""

    @contextmanager
    def viewing(self, study_id: int) -> Iterator[Transaction]:
        """As `reading`, with the log as it was before an import that is not whole in it yet."""
        with self.reading(study_id) as tx:
            if tx.waiting is not None:
                tx.show_until(tx.waiting.since)
            yield tx

    @abstractmethod
    def close(self) -> None:
        """Give back what the storage holds open; it opens again when used."""

    def scrub(self) -> bool:
        """Leave nothing of what was deleted or overwritten in the files of the storage; whether that could be done."""
        return False

    def copy_to_file(self, path: Path) -> bool:
        """Write the storage as it is at this moment into a new SQLite file; whether that can be done."""
        return False
