"""A storage in any database that SQLAlchemy reaches; what differs between databases is in the subclasses."""

from __future__ import annotations

import os
import secrets
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from duelist.core.errors import (
    StorageCorrupted,
    StorageError,
    StorageTooNew,
    StorageTooOld,
    StudyExists,
    UnknownStudy,
)
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.base import (
    ArmRow,
    Counters,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    Lesson,
    SeenRow,
    Staged,
    Storage,
    StudyRow,
    VoteRow,
)
from duelist.study.storage.sql import statements as say
from duelist.study.storage.sql.columns import ColumnsTransaction
from duelist.study.storage.sql.driver import Line, Wordings
from duelist.study.storage.sql.errors import explaining
from duelist.study.storage.sql.migrate import migrate
from duelist.study.storage.sql.owners import settings_text
from duelist.study.storage.sql.rows import (
    ARM_NUMBERS,
    arm_from,
    chunk_from,
    duel_from,
    duel_values,
    lease_from,
    lesson_from,
    seen_from,
    study_from,
    to_json,
    vote_from,
    vote_values,
)
from duelist.study.storage.sql.tables import CHILDREN, HEAD, VERSION_TABLE, studies
from duelist.study.storage.sql.tokens import SqlTokens
from duelist.study.storage.vectors import packed

_IDS = 2**31 - 1  # SQLite keeps the id in 4 bytes of every row then


_REMEMBERED = 4096


class Remembered:
    """Duels that were read lately, and leases with their duels as they were read. But for the room they have, duels never change."""

    def __init__(self) -> None:
        self.duels: dict[int, DuelRow] = {}
        self.leased: dict[tuple[Any, ...], tuple[LeaseRow, DuelRow]] = {}

    def make_room(self) -> None:
        """Forget them, if they are many."""
        for known in (self.duels, self.leased):
            if len(known) > _REMEMBERED:
                known.clear()


class SqlTransaction(ColumnsTransaction):
    """A transaction of one study on one connection."""

    def __init__(
        self,
        line: Line,
        study_id: int,
        counters: Counters,
        now: int | None = None,
        waiting: Staged | None = None,
        remembered: Remembered | None = None,
    ) -> None:
        super().__init__(line, study_id, counters, now, waiting)
        self._remembered = remembered or Remembered()
        self.n_added = 0
        self.last_added: DuelRow | None = None

    # -- arms ----------------------------------------------------------------------------

    def add_arms(self, rows: Sequence[ArmRow]) -> None:
        """New arms."""
        self._do_many(
            say.ADD_ARMS,
            [{"study_id": self._study_id, **row._asdict(), "payload": to_json(row.payload)} for row in rows],
        )

    def arms_since(self, revision: int) -> list[ArmRow]:
        """Arms that are new or have changed after that revision, by number."""
        found = self._rows(say.ARMS_SINCE, since=revision)
        return sorted(map(arm_from, found), key=lambda row: row.number)

    def set_retired(self, numbers: Sequence[int], retired: bool, revision: int) -> None:
        """Take arms out of the game, or back in."""
        common = {"study": self._study_id, "now_retired": retired, "at": revision}
        self._do_many(say.RETIRE_ARM, [{**common, "arm": int(number)} for number in numbers])

    def touch_arms(self, numbers: Sequence[int], revision: int) -> None:
        """Note that arms have changed."""
        common = {"study": self._study_id, "at": revision}
        self._do_many(say.TOUCH_ARM, [{**common, "arm": int(number)} for number in numbers])

    def add_features(self, chunk: FeatureChunk) -> None:
        """More rows of features."""
        self._line.do(
            say.ADD_FEATURES,
            {
                "study_id": self._study_id,
                "first_row": chunk.first_row,
                "arms": np.ascontiguousarray(chunk.arms, ARM_NUMBERS).tobytes(),
                "vectors": packed(chunk.vectors),
            },
        )

    def features_since(self, row: int) -> Iterator[FeatureChunk]:
        """Chunks that start at that row or later, in order."""
        found = self._line.connection.execute(say.FEATURES_SINCE, {"study": self._study_id, "since": row})
        return map(chunk_from, found)

    # -- duels and leases ----------------------------------------------------------------

    def add_duels(self, rows: Sequence[DuelRow]) -> None:
        """New duels."""
        self._do_many(say.ADD_DUELS, [{"study_id": self._study_id, **duel_values(row)} for row in rows])
        self.n_added, self.last_added = self.n_added + len(rows), rows[-1] if rows else None

    def duel(self, number: int) -> DuelRow | None:
        """One duel."""
        found = self._one(say.DUEL, duel=number)
        return None if found is None else duel_from(found)

    def duels_since(self, number: int) -> list[DuelRow]:
        """All duels after that one, in order."""
        return [duel_from(row) for row in self._rows(say.DUELS_SINCE, since=number)]

    def sides_since(self, number: int) -> NDArray[np.int64]:
        """The rows of features that all duels after that one showed, left and right (duels, 2), in any order."""
        found = self._rows(say.SIDES_SINCE, since=number)
        return np.array([tuple(row) for row in found], np.int64).reshape(-1, 2)

    def waiting_duels(self, rater: str, context: str | None, limit: int) -> list[DuelRow]:
        """Duels with room for this rater; see the contract for which and in what order."""
        if context is None:
            found = self._rows(say.WAITING_DUELS, rater=rater, most=limit)
        else:
            found = self._rows(say.WAITING_IN_CONTEXT, rater=rater, within=context, most=limit)
        return [duel_from(row) for row in found]

    def set_free(self, duel: int, free: int) -> None:
        """How many more raters a duel has room for."""
        self._do(say.SET_FREE, duel=duel, now_free=free)

    def lease(self, duel: int, rater: str) -> LeaseRow | None:
        """The lease of a duel to a rater, whatever its state."""
        found = self._one(say.LEASE, of=duel, by=rater)
        return None if found is None else lease_from(found)

    def open_leases(self) -> list[tuple[LeaseRow, DuelRow]]:
        """Every open lease with its duel, oldest duel first."""
        known = self._remembered.leased
        return [known.get(row) or self._leased_from(row) for row in sorted(map(tuple, self._rows(say.OPEN_LEASES)))]

    def _leased_from(self, row: tuple[Any, ...]) -> tuple[LeaseRow, DuelRow]:
        """A lease with its duel, remembered: most leases are looked at by everybody who asks until they are told."""
        number, rater, asked_at, deadline, free = row
        duel = self._remembered.duels.get(number) or self._read_duel(number)
        lease = LeaseRow(number, rater, LeaseState.OPEN, asked_at, deadline)
        found = lease, duel if duel.free == free else duel._replace(free=free)
        if not self.n_added:
            self._remembered.leased[row] = found
        return found

    def _read_duel(self, number: int) -> DuelRow:
        """A duel that others have asked, remembered."""
        duel = self.duel(number)
        if duel is None:
            raise StorageCorrupted(
                f"The storage is damaged: a lease is of duel {number}, which is gone.", "Go on with a backup."
            )
        if not self.n_added:  # else it may be one that is taken back
            self._remembered.duels[number] = duel
        return duel

    def put_lease(self, row: LeaseRow) -> None:
        """Write a lease, new or not."""
        self._do(say.PUT_LEASE, **{**row._asdict(), "state": int(row.state)})

    # -- the log -------------------------------------------------------------------------

    def add_votes(self, rows: Sequence[VoteRow]) -> None:
        """More rows of the log."""
        self._do_many(say.ADD_VOTES, [{"study_id": self._study_id, **vote_values(row)} for row in rows])

    def last_vote(self, duel: int, rater: str, criterion: str | None = None) -> VoteRow | None:
        """The newest row of a rater about a duel, on that criterion."""
        found = (vote_from(row) for row in self._rows(say.VOTES_ON_DUEL, of=duel, by=rater))
        return max((row for row in found if row.criterion == criterion), key=lambda row: row.sequence, default=None)

    def votes_since(self, sequence: int) -> list[VoteRow]:
        """The log after that row, in order."""
        return [vote_from(row) for row in self._rows(say.VOTES_SINCE, since=sequence, until=self._until)]

    def seen_by(self, rater: str, sequence: int) -> list[SeenRow]:
        """A rater's rows of the log after that row, in order."""
        found = self._rows(say.SEEN_BY, by=rater, since=sequence)
        return sorted((seen_from(row) for row in found), key=lambda row: row.sequence)

    def lessons_since(self, sequence: int, everyone: bool = False) -> list[Lesson]:
        """What the log after that row teaches, in order: votes on normal duels, of raters who are not left out, or of everyone."""
        statement = say.LESSONS_SINCE[self._line.connection.dialect.name, everyone]
        found = self._rows(statement, since=sequence, until=self._until)
        return [lesson_from(row) for row in found]

    # -- snapshots -----------------------------------------------------------------------

    def put_snapshot(self, sequence: int, body: bytes) -> None:
        """Keep the state of the policy after that row of the log."""
        self._line.do(say.PUT_SNAPSHOT, {"study_id": self._study_id, "sequence": sequence, "body": body})

    def snapshot_before(self, sequence: int) -> tuple[int, bytes] | None:
        """The newest snapshot from before that row, if there is one."""
        found = self._one(say.SNAPSHOT_BEFORE, before=sequence)
        return None if found is None else (found[0], bytes(found[1]))

    def snapshot_sequences(self) -> list[int]:
        """After which rows there are snapshots, in order."""
        return [row[0] for row in self._rows(say.SNAPSHOT_SEQUENCES)]

    def drop_snapshots(self, sequences: Sequence[int]) -> None:
        """Delete those snapshots."""
        self._do_many(say.DROP_SNAPSHOT, [{"study": self._study_id, "unwanted": s} for s in sequences])


class SqlStorage(SqlTokens, Storage):
    """Studies in a database; see the subclasses for what is special about each."""

    def __init__(self, url: sa.URL) -> None:
        self.url = url.render_as_string(hide_password=True)
        with explaining(self.url):
            self._engine = self._make_engine(url)
        self._writer = self._engine.execution_options(**self._writer_options())
        self._reader = self._engine.execution_options(**self._reader_options())
        self._wordings = Wordings(self._engine.dialect)
        self._remembered: dict[int, Remembered] = {}
        _OPEN.add(self)
        weakref.finalize(self, self._engine.dispose)

    # -- what databases differ in --------------------------------------------------------

    _count: ClassVar[sa.Executable] = say.COUNT
    _count_and_lock: ClassVar[sa.Executable] = say.COUNT_AND_LOCK
    """What every transaction begins with. A database that others reach as well tells the time with it."""

    @abstractmethod
    def _make_engine(self, url: sa.URL) -> sa.Engine:
        """An engine whose connections are durable and wait for each other."""

    def _writer_options(self) -> dict[str, Any]:
        return {}

    def _reader_options(self) -> dict[str, Any]:
        return {}

    def _turn_to_write(self) -> AbstractContextManager[Any]:
        """What writers wait for before they begin."""
        return nullcontext()

    def _turn_to_read(self) -> AbstractContextManager[Any]:
        """What readers wait for before they begin: nothing, where they have a view of their own."""
        return nullcontext()

    def _queue(self, line: Line, study_id: int) -> None:
        """Wait for those who came before to write to this study, where the transaction has to have begun for that."""

    def _lock_schema(self, connection: sa.Connection) -> None:
        """Keep others from changing the schema until the transaction ends."""

    # -- the contract --------------------------------------------------------------------

    def create_study(self, name: str, settings: StudySettings, created_at: int) -> int | None:
        """The id of a new study; None, and nothing is written, if the name is taken."""
        with self._begun(self._writer) as connection:
            return self._new_study(connection, name, settings, created_at)

    def _new_study(self, connection: sa.Connection, name: str, settings: StudySettings, created_at: int) -> int | None:
        body = {
            "name": name,
            "settings": settings_text(settings),
            "created_at": created_at,
            "state": StudyState.OPEN.value,
            **asdict(Counters()),
        }
        self._lock_schema(connection)  # two may create the same name at once
        if connection.execute(say.STUDY_BY_NAME, {"name": name}).first() is not None:
            return None
        return int(connection.execute(say.ADD_STUDY, {"id": _fresh_id(connection), **body}).scalar_one())

    @contextmanager
    def restoring(self, name: str, settings: StudySettings, created_at: int) -> Iterator[SqlTransaction]:
        """A new study and everything that is written into it at once: all of it, or none; StudyExists if the name is taken."""
        with self._begun(self._writer) as connection:
            study_id = self._new_study(connection, name, settings, created_at)
            if study_id is None:
                raise StudyExists(f"There is a study {name!r} already in {self.url}.", "Give another name.")
            transaction = SqlTransaction(Line(connection, self._wordings), study_id, Counters())
            yield transaction
            transaction.save_counters()

    def find_study(self, name: str) -> StudyRow | None:
        """The study of that name."""
        with self._begun(self._reader) as connection:
            found = connection.execute(say.STUDY_BY_NAME, {"name": name}).first()
            return None if found is None else study_from(found)

    def list_studies(self) -> list[StudyRow]:
        """All studies, oldest first."""
        with self._begun(self._reader) as connection:
            return [study_from(row) for row in connection.execute(say.STUDIES).all()]

    def delete_study(self, study_id: int) -> None:
        """Delete a study and everything in it."""
        with self._begun(self._writer) as connection:
            self._begin(Line(connection, self._wordings), study_id, self._count_and_lock)
            for table in CHILDREN:
                connection.execute(sa.delete(table).where(table.c.study_id == study_id))
            connection.execute(sa.delete(studies).where(studies.c.id == study_id))

    @contextmanager
    def writing(self, study_id: int) -> Iterator[SqlTransaction]:
        """One writer at a time: durable when it ends, undone when it raises; UnknownStudy if it was deleted."""
        with self._begun(self._writer) as connection:
            line = Line(connection, self._wordings)
            self._queue(line, study_id)
            transaction = self._begin(line, study_id, self._count_and_lock)
            before = replace(transaction.counters)
            yield transaction
            if transaction.counters != before:
                transaction.save_counters()
        if (
            transaction.n_added == 1 and transaction.last_added is not None
        ):  # asked: it will be looked at until it is told
            self._remembered_of(study_id).duels[transaction.last_added.number] = transaction.last_added

    @contextmanager
    def reading(self, study_id: int) -> Iterator[SqlTransaction]:
        """A consistent view of what is committed; what is written in it is refused or undone."""
        with self._begun(self._reader) as connection:
            transaction = self._begin(Line(connection, self._wordings), study_id, self._count)
            before = replace(transaction.counters)
            yield transaction
            if transaction.counters != replace(before, n_votes=min(before.n_votes, transaction.shown_until)):
                raise StorageError(
                    f"Counters of study {study_id} were changed while reading.", "Open a writing transaction."
                )
            connection.rollback()

    def close(self) -> None:
        """Give back what the storage holds open; it opens again when used."""
        self._engine.dispose()

    # -- inside --------------------------------------------------------------------------

    @contextmanager
    def _begun(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        turn = self._turn_to_write() if engine is self._writer else self._turn_to_read()
        with explaining(self.url), turn, engine.begin() as connection:
            yield connection

    def _begin(self, line: Line, study_id: int, statement: sa.Executable) -> SqlTransaction:
        found = line.first(statement, {"study": study_id})
        if found is None:
            raise UnknownStudy(f"Study number {study_id} is not in {self.url}.", "It has been deleted, create it anew.")
        *counters, part, since, now = found
        waiting = None if part is None else Staged(part, since)
        return SqlTransaction(line, study_id, Counters(*counters), now, waiting, self._remembered_of(study_id))

    def _remembered_of(self, study_id: int) -> Remembered:
        known = self._remembered.setdefault(study_id, Remembered())
        known.make_room()
        return known

    def check(self, create: bool) -> None:
        """Make the tables where there are none and `create` says so; refuse what this release cannot work with."""
        version = self._checked_version()
        if version is None and create:
            with self._begun(self._writer) as connection:
                self._lock_schema(connection)
                if self._version(connection) is None:
                    migrate(connection)
        elif version is None:
            raise UnknownStudy(
                f"{self.url} holds no studies.",
                "Create the first one with `create_study`.",
                code="unknown_study.storage",
            )
        elif version < HEAD:
            raise StorageTooOld(
                f"Storage {self.url} has schema {version}, this release of duelist needs {HEAD}.",
                f"Make a backup and run `duelist storage upgrade {self.url}`.",
            )

    def _checked_version(self) -> str | None:
        """The version of the schema, None if there is none; a newer one than ours is refused."""
        with self._begun(self._reader) as connection:
            version = self._version(connection)
        if version is not None and version > HEAD:
            raise StorageTooNew(
                f"Storage {self.url} has schema {version}, newer than {HEAD}, the newest that this release of "
                "duelist knows.",
                "Install a newer duelist.",
            )
        return version

    @staticmethod
    def _version(connection: sa.Connection) -> str | None:
        if not sa.inspect(connection).has_table(VERSION_TABLE):
            return None
        return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608  (a constant)

    def upgrade(self) -> str:
        """Bring the schema up to date; its version."""
        if self._checked_version() is None:
            raise UnknownStudy(f"{self.url} holds no studies.", "There is nothing to upgrade.")
        with self._begun(self._writer) as connection:
            self._lock_schema(connection)
            migrate(connection)
            return str(self._version(connection))


_OPEN: weakref.WeakSet[SqlStorage] = weakref.WeakSet()


def _close_all() -> None:
    for storage in list(_OPEN):
        storage.close()


if hasattr(os, "register_at_fork"):
    # A child must not speak on its parent's connections, nor share their locks: before a fork there are none.
    os.register_at_fork(before=_close_all)


def _fresh_id(connection: sa.Connection) -> int:
    """By chance, so that whoever still holds a study that was deleted does not write into the next one (SQLite counts on from the
    largest id that is left).
    """
    while True:
        number = 1 + secrets.randbelow(_IDS)
        if connection.execute(say.COUNT, {"study": number}).first() is None:
            return number
