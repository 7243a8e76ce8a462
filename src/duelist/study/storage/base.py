"""The contract of a storage: studies, and transactions that read and write one study.

    with storage.writing(study_id) as tx:
        tx.add_votes([row])

One transaction writes to a study at a time. It sees everything that was committed before; at its end everything it wrote is
durable, or, after an error, none of it. `duelist.testing.StorageContract` is this contract as a test class.

A storage does not interpret what it stores; `duelist.study` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import StorageError
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.rows import (
    ActionRow,
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelColumns,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    MediaRow,
    PendingImport,
    RaterRow,
    RaterVote,
    SessionRow,
    StagedRow,
    StudyRow,
    TokenRow,
    TrainingVote,
    VoteColumns,
    VoteRow,
)


class Transaction(ABC):
    """Reads and writes one study; no other transaction writes to it meanwhile."""

    counters: Counters
    now: int
    """Microseconds since 1970 at the start of the transaction, by the clock that all users of the storage share."""
    pending_import: PendingImport | None
    """The import that is moving into the log."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what the block wrote if it raises; raise StorageError if the whole transaction is lost."""

    @abstractmethod
    def show_until(self, sequence: int) -> None:
        """Show the log as if it ended with that row."""

    # -- the study and its raters --------------------------------------------------------

    @abstractmethod
    def study(self) -> StudyRow:
        """Return the study as it was when the transaction began."""

    @abstractmethod
    def put_study(self, name: str, settings: StudySettings, state: StudyState) -> None:
        """Write name, settings and state; raise StudyExists if another study has that name."""

    @abstractmethod
    def raters(self) -> list[RaterRow]:
        """Return the records of raters, by name."""

    @abstractmethod
    def put_rater(self, row: RaterRow) -> None:
        """Insert or replace the record of a rater."""

    @abstractmethod
    def erase_rater(self, name: str, new_name: str) -> None:
        """Rename a rater everywhere; delete their reasons, their tokens and the extra columns of their imported votes."""

    @abstractmethod
    def first_vote_of(self, rater: str) -> int | None:
        """Return the first row of the log by this rater."""

    @abstractmethod
    def leases_of(self, rater: str) -> list[LeaseRow]:
        """Return every lease of a rater, by duel."""

    @abstractmethod
    def duels_of(self, rater: str) -> list[DuelRow]:
        """Return every duel that a rater was asked, in order."""

    def last_active(self, rater: str) -> int:
        """Return when a rater was asked or voted last, 0 if never."""
        asked = [lease.asked_at for lease in self.leases_of(rater)]
        voted = [row.voted_at for row in self.votes_between(0, self.counters.n_votes) if row.rater == rater]
        return max([0, *asked, *(at for at in voted if at is not None)])

    # -- arms ----------------------------------------------------------------------------

    @abstractmethod
    def add_arms(self, rows: Sequence[ArmRow]) -> None:
        """Insert arms."""

    @abstractmethod
    def arms_since(self, revision: int) -> list[ArmRow]:
        """Return arms that were added or changed after that revision, by number."""

    @abstractmethod
    def set_retired(self, numbers: Sequence[int], retired: bool, revision: int) -> None:
        """Retire or activate arms."""

    @abstractmethod
    def touch_arms(self, numbers: Sequence[int], revision: int) -> None:
        """Mark arms as changed."""

    @abstractmethod
    def add_features(self, chunk: FeatureChunk) -> None:
        """Insert rows of features."""

    @abstractmethod
    def features_since(self, row: int) -> Iterator[FeatureChunk]:
        """Yield chunks that start at that row or later, in order."""

    @abstractmethod
    def contexts_since(self, revision: int) -> list[ContextRow]:
        """Return contexts that were added or changed after that revision, by name."""

    @abstractmethod
    def contexts(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the payloads of those of these contexts that have one."""

    @abstractmethod
    def put_contexts(self, rows: Sequence[ContextRow]) -> None:
        """Insert or replace contexts."""

    # -- duels and leases ----------------------------------------------------------------

    @abstractmethod
    def add_duels(self, rows: Sequence[DuelRow]) -> None:
        """Insert duels."""

    @abstractmethod
    def duel(self, number: int) -> DuelRow | None:
        """Return one duel."""

    @abstractmethod
    def duels_since(self, number: int) -> list[DuelRow]:
        """Return all duels after that one, in order."""

    @abstractmethod
    def duels_between(self, after: int, until: int) -> list[DuelRow]:
        """Return the duels after `after` up to `until`, in order."""

    @abstractmethod
    def sides_since(self, number: int) -> NDArray[np.int64]:
        """Return the left and right feature rows (duels, 2) of all duels after that one, in any order."""

    @abstractmethod
    def waiting_duels(self, rater: str, context: str | None, limit: int) -> list[DuelRow]:
        """Return duels that need more raters and that this rater has not voted on.

        They are among the first `limit` duels with free places (those that need the fewest raters first, then the oldest),
        of one context if one is given.
        """

    @abstractmethod
    def set_free(self, duel: int, free: int) -> None:
        """Write how many more raters a duel needs."""

    @abstractmethod
    def lease(self, duel: int, rater: str) -> LeaseRow | None:
        """Return the lease of a duel to a rater, whatever its state."""

    @abstractmethod
    def open_leases(self) -> list[tuple[LeaseRow, DuelRow]]:
        """Return every open lease with its duel, oldest duel first."""

    @abstractmethod
    def leases_between(self, after: int, until: int) -> list[LeaseRow]:
        """Return the leases of the duels after `after` up to `until`, by duel, then by rater."""

    def count_leases(self, state: LeaseState) -> int:
        """Count the leases in a state."""
        return sum(lease.state == state for lease in self.leases_between(0, self.counters.n_duels))

    @abstractmethod
    def put_lease(self, row: LeaseRow) -> None:
        """Insert or replace a lease."""

    @abstractmethod
    def add_leases(self, rows: Sequence[LeaseRow]) -> None:
        """Insert leases."""

    # -- the log -------------------------------------------------------------------------

    @abstractmethod
    def add_votes(self, rows: Sequence[VoteRow]) -> None:
        """Append rows to the log."""

    @abstractmethod
    def last_vote(self, duel: int, rater: str, criterion: str | None = None) -> VoteRow | None:
        """Return the newest row of a rater on a duel and criterion."""

    @abstractmethod
    def votes_since(self, sequence: int) -> list[VoteRow]:
        """Return the log after that row, in order."""

    @abstractmethod
    def votes_between(self, after: int, until: int) -> list[VoteRow]:
        """Return the rows of the log after `after` up to `until`, in order."""

    @abstractmethod
    def votes_of(self, rater: str, sequence: int) -> list[RaterVote]:
        """Return a rater's rows of the log after that row, in order."""

    @abstractmethod
    def training_votes_since(
        self, sequence: int, include_excluded: bool = False, every_kind: bool = False
    ) -> list[TrainingVote]:
        """Return votes after that row, in order: those on normal duels of raters who are not excluded, or more."""

    def count_late_votes(self) -> int:
        """Count the rows of the log that came after their deadline."""
        return sum(row.late for row in self.votes_between(0, self.counters.n_votes))

    @abstractmethod
    def vote_columns(self, after: int, until: int) -> VoteColumns:
        """Return the rows of the log after `after` up to `until`, in order, by column."""

    @abstractmethod
    def duel_columns(self, after: int, until: int) -> DuelColumns:
        """Return the duels after `after` up to `until`, in order, by column."""

    # -- snapshots of the policy ---------------------------------------------------------

    @abstractmethod
    def put_snapshot(self, sequence: int, body: bytes) -> None:
        """Store the state of the policy after that row of the log."""

    @abstractmethod
    def snapshot_before(self, sequence: int) -> tuple[int, bytes] | None:
        """Return the newest snapshot before that row, with its row."""

    @abstractmethod
    def snapshot_sequences(self) -> list[int]:
        """Return the rows after which there are snapshots, in order."""

    @abstractmethod
    def drop_snapshots(self, sequences: Sequence[int]) -> None:
        """Delete snapshots."""

    # -- imports -------------------------------------------------------------------------

    @abstractmethod
    def details_between(self, after: int, until: int) -> list[DetailRow]:
        """Return the details of the duels after `after` up to `until`, in order."""

    @abstractmethod
    def add_details(self, rows: Sequence[DetailRow]) -> None:
        """Insert details of duels."""

    @abstractmethod
    def staged(self) -> list[StagedRow]:
        """Return the parts of imports that are not in the log yet, in order."""

    @abstractmethod
    def next_staged(self) -> StagedRow | None:
        """Return the next part to move into the log."""

    @abstractmethod
    def add_staged(self, rows: Sequence[StagedRow]) -> None:
        """Insert parts of an import."""

    @abstractmethod
    def drop_staged(self, numbers: Sequence[int]) -> None:
        """Delete parts of an import."""

    # -- media (optional) ----------------------------------------------------------------

    def media_keys(self) -> list[str]:
        """Return the keys of all media files, in order."""
        return []

    def media(self, key: str) -> MediaRow | None:
        """Return a media file."""
        _not_supported("files")

    def add_media(self, rows: Sequence[MediaRow]) -> None:
        """Insert media files; those that exist stay as they are."""
        _not_supported("files")


class Storage(ABC):
    """A place that stores studies, and, if it serves the study server, tokens."""

    @abstractmethod
    def create_study(self, name: str, settings: StudySettings, created_at: int) -> int | None:
        """Create a study and return its id; return None, and write nothing, if the name is taken."""

    @abstractmethod
    def restoring(self, name: str, settings: StudySettings, created_at: int) -> AbstractContextManager[Transaction]:
        """Create a study and write into it in one transaction; raise StudyExists if the name is taken."""

    @abstractmethod
    def find_study(self, name: str) -> StudyRow | None:
        """Return the study of that name."""

    @abstractmethod
    def list_studies(self) -> list[StudyRow]:
        """Return all studies, oldest first."""

    @abstractmethod
    def delete_study(self, study_id: int) -> None:
        """Delete a study and everything in it."""

    @abstractmethod
    def writing(self, study_id: int) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes; raise UnknownStudy if the study was deleted."""

    @abstractmethod
    def reading(self, study_id: int) -> AbstractContextManager[Transaction]:
        """Begin a transaction that reads one consistent state; writes in it fail or are undone."""

    @contextmanager
    def viewing(self, study_id: int) -> Iterator[Transaction]:
        """Begin a transaction that reads, and hide an import that is not whole in the log yet."""
        with self.reading(study_id) as tx:
            if tx.pending_import is not None:
                tx.show_until(tx.pending_import.since)
            yield tx

    @abstractmethod
    def close(self) -> None:
        """Close all connections; they open again on the next use."""

    def scrub(self) -> bool:
        """Remove deleted data from the storage's files; return whether that was possible."""
        return False

    def copy_to_file(self, path: Path) -> bool:
        """Copy the whole storage into a new SQLite file; return whether the storage can."""
        return False

    # -- tokens (optional) ---------------------------------------------------------------

    def add_token(self, row: TokenRow) -> None:
        """Insert a token."""
        _not_supported("tokens")

    def find_token(self, digest: str) -> TokenRow | None:
        """Return the token with that hash, even if it is expired or revoked."""
        _not_supported("tokens")

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first; none in a storage without tokens."""
        return []

    def revoke_token(self, token_id: str, at: int) -> bool:
        """Revoke a token; return whether it exists."""
        _not_supported("tokens")

    def secret(self) -> bytes:
        """Return random bytes that are the same for all who use this storage, and never change."""
        _not_supported("a secret")

    # -- sessions and actions (optional) -------------------------------------------------

    def add_session(self, row: SessionRow, now: int) -> None:
        """Insert a session, and delete those that have expired."""
        _not_supported("sessions")

    def find_session(self, digest: str) -> SessionRow | None:
        """Return the session whose secret has that hash, or had it before the last rotation."""
        _not_supported("sessions")

    def rotate_session(self, digest: str, new_digest: str, at: int, expires_at: int) -> bool:
        """Replace the secret of a session; return whether it had that one."""
        _not_supported("sessions")

    def end_session(self, session_id: str) -> None:
        """Delete a session."""
        _not_supported("sessions")

    def add_action(self, row: ActionRow) -> None:
        """Append to the audit log, and delete its oldest rows if it is very long."""
        _not_supported("an audit log")

    def actions(self, study_id: int | None, before: int | None, limit: int) -> list[ActionRow]:
        """Return rows of the audit log, of one study or of all, newest first."""
        _not_supported("an audit log")


def _not_supported(what: str) -> Never:
    raise StorageError(f"This storage cannot hold {what}.", "Use SQLite or PostgreSQL.")
