"""A storage in a database that SQLAlchemy supports; subclasses implement what differs between databases."""

# ruff: noqa: D102 - the contract, `duelist.study.storage.base`, documents the methods

from __future__ import annotations

import os
import secrets
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from duelist.core.errors import InvalidArchive, StorageError, StorageTooNew, StorageTooOld, StudyExists, UnknownStudy
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.base import Storage
from duelist.study.storage.rows import ActionRow, Counters, PendingImport, SessionRow, StudyRow, TokenRow
from duelist.study.storage.sql import statements as sql
from duelist.study.storage.sql.connection import DriverConnection, StatementCache
from duelist.study.storage.sql.converters import settings_to_json, study_from
from duelist.study.storage.sql.errors import translating_errors
from duelist.study.storage.sql.migrate import migrate
from duelist.study.storage.sql.tables import CHILDREN, HEAD, VERSION_TABLE, studies
from duelist.study.storage.sql.transaction import DuelCache, SqlTransaction

_LARGEST_ID: Final = 2**31 - 1
"""Ids are in every row; SQLite stores them in 4 bytes up to this one."""
MAX_ACTIONS: Final = 100_000
"""Rows of the audit log that are kept, the newest."""


class SqlStorage(Storage):
    """Studies in a database; see the subclasses for each kind of database."""

    def __init__(self, url: sa.URL) -> None:
        self.url = url.render_as_string(hide_password=True)
        with translating_errors(self.url):
            self._engine = self._make_engine(url)
        self._writer = self._engine.execution_options(**self._writer_options())
        self._reader = self._engine.execution_options(**self._reader_options())
        self._statements = StatementCache(self._engine.dialect)
        self._duel_caches: dict[int, DuelCache] = {}
        _OPEN.add(self)
        weakref.finalize(self, self._engine.dispose)

    # -- what databases differ in --------------------------------------------------------

    _begin_reading: ClassVar[sa.Executable] = sql.BEGIN
    _begin_writing: ClassVar[sa.Executable] = sql.BEGIN_AND_LOCK
    """The first statement of a transaction; a database server returns its time with it."""

    @abstractmethod
    def _make_engine(self, url: sa.URL) -> sa.Engine:
        """Return an engine whose commits are durable and whose writers wait for each other."""

    def _writer_options(self) -> dict[str, Any]:
        return {}

    def _reader_options(self) -> dict[str, Any]:
        return {}

    def _write_turn(self) -> AbstractContextManager[Any]:
        """Return a lock that writers hold around their transaction."""
        return nullcontext()

    def _read_turn(self) -> AbstractContextManager[Any]:
        """Return a lock that readers hold around their transaction; none if readers see a snapshot of the database."""
        return nullcontext()

    def _queue(self, connection: DriverConnection, study_id: int) -> None:
        """Wait in the transaction for earlier writers of this study."""

    def _lock_schema(self, connection: sa.Connection) -> None:
        """Lock the schema until the transaction ends."""

    # -- studies -------------------------------------------------------------------------

    def create_study(self, name: str, settings: StudySettings, created_at: int) -> int | None:
        with self._connected(self._writer) as connection:
            return self._add_study(connection, name, settings, created_at)

    def _add_study(self, connection: sa.Connection, name: str, settings: StudySettings, created_at: int) -> int | None:
        row = {
            "name": name,
            "settings": settings_to_json(settings),
            "created_at": created_at,
            "state": StudyState.OPEN.value,
            **asdict(Counters()),
        }
        self._lock_schema(connection)  # two processes may create the same name at once
        if connection.execute(sql.STUDY_BY_NAME, {"name": name}).first() is not None:
            return None
        return int(connection.execute(sql.ADD_STUDY, {"id": _unused_id(connection), **row}).scalar_one())

    @contextmanager
    def restoring(self, name: str, settings: StudySettings, created_at: int) -> Iterator[SqlTransaction]:
        with self._connected(self._writer) as connection:
            study_id = self._add_study(connection, name, settings, created_at)
            if study_id is None:
                raise StudyExists(f"There is a study {name!r} already in {self.url}.", "Give another name.")
            transaction = SqlTransaction(DriverConnection(connection, self._statements), study_id, Counters())
            try:
                yield transaction
            except sa.exc.IntegrityError as error:
                raise InvalidArchive(
                    f"Two rows of the archive have the same key ({error.orig}).", "Use another copy."
                ) from error
            transaction.save_counters()

    def find_study(self, name: str) -> StudyRow | None:
        with self._connected(self._reader) as connection:
            found = connection.execute(sql.STUDY_BY_NAME, {"name": name}).first()
            return None if found is None else study_from(found)

    def list_studies(self) -> list[StudyRow]:
        with self._connected(self._reader) as connection:
            return [study_from(row) for row in connection.execute(sql.STUDIES).all()]

    def delete_study(self, study_id: int) -> None:
        with self._connected(self._writer) as connection:
            self._begin(DriverConnection(connection, self._statements), study_id, self._begin_writing)
            for table in CHILDREN:
                connection.execute(sa.delete(table).where(table.c.study_id == study_id))
            connection.execute(sa.delete(studies).where(studies.c.id == study_id))

    # -- transactions --------------------------------------------------------------------

    @contextmanager
    def writing(self, study_id: int) -> Iterator[SqlTransaction]:
        with self._connected(self._writer) as engine_connection:
            connection = DriverConnection(engine_connection, self._statements)
            self._queue(connection, study_id)
            transaction = self._begin(connection, study_id, self._begin_writing)
            before = replace(transaction.counters)
            yield transaction
            if transaction.counters != before:
                transaction.save_counters()
        self._duel_cache(study_id).duels.update(transaction.asked)

    @contextmanager
    def reading(self, study_id: int) -> Iterator[SqlTransaction]:
        with self._connected(self._reader) as connection:
            transaction = self._begin(DriverConnection(connection, self._statements), study_id, self._begin_reading)
            before = replace(transaction.counters)
            yield transaction
            if transaction.counters != replace(before, n_votes=min(before.n_votes, transaction.shown_until)):
                raise StorageError(
                    f"Counters of study {study_id} were changed while reading.", "Open a writing transaction."
                )
            connection.rollback()

    @contextmanager
    def _connected(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        turn = self._write_turn() if engine is self._writer else self._read_turn()
        with translating_errors(self.url), turn, engine.begin() as connection:
            yield connection

    def _begin(self, connection: DriverConnection, study_id: int, statement: sa.Executable) -> SqlTransaction:
        found = connection.first(statement, {"study": study_id})
        if found is None:
            raise UnknownStudy(
                f"There is no study with the number {study_id}: it was deleted.",
                "Create it again, or load another study.",
            )
        *counters, part, since, now = found
        pending_import = None if part is None else PendingImport(part, since)
        cache = self._duel_cache(study_id)
        return SqlTransaction(connection, study_id, Counters(*counters), now, pending_import, cache)

    def _duel_cache(self, study_id: int) -> DuelCache:
        cache = self._duel_caches.setdefault(study_id, DuelCache())
        cache.limit_size()
        return cache

    def close(self) -> None:
        self._engine.dispose()

    # -- the schema ----------------------------------------------------------------------

    def check(self, create: bool) -> None:
        """Check the version of the schema; create the tables if there are none and `create` is set."""
        version = self._checked_version()
        if version is None and create:
            with self._connected(self._writer) as connection:
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
        """Return the version of the schema, None if there is none; raise StorageTooNew for a newer one than ours."""
        with self._connected(self._reader) as connection:
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
        """Migrate the schema to the newest version and return that version."""
        if self._checked_version() is None:
            raise UnknownStudy(f"{self.url} holds no studies.", "There is nothing to upgrade.")
        with self._connected(self._writer) as connection:
            self._lock_schema(connection)
            migrate(connection)
            return str(self._version(connection))

    # -- tokens --------------------------------------------------------------------------

    def add_token(self, row: TokenRow) -> None:
        with self._connected(self._writer) as connection:
            connection.execute(sql.ADD_TOKEN, row._asdict())

    def find_token(self, digest: str) -> TokenRow | None:
        with self._connected(self._reader) as connection:
            found = connection.execute(sql.TOKEN_BY_HASH, {"digest": digest}).first()
        return None if found is None else TokenRow(*found)

    def tokens(self) -> list[TokenRow]:
        with self._connected(self._reader) as connection:
            found = [TokenRow(*row) for row in connection.execute(sql.TOKENS)]
        return sorted(found, key=lambda row: (row.created_at, row.id))

    def revoke_token(self, token_id: str, at: int) -> bool:
        with self._connected(self._writer) as connection:
            connection.execute(sql.REVOKE_TOKEN, {"token_id": token_id, "now": at})
            return connection.execute(sql.TOKEN_ID, {"token_id": token_id}).first() is not None

    def secret(self) -> bytes:
        with self._connected(self._reader) as connection:
            found = connection.execute(sql.SECRET).scalar()
        if found is None:
            with self._connected(self._writer) as connection:
                connection.execute(sql.ADD_SECRET, {"value": secrets.token_bytes(32)})
                found = connection.execute(sql.SECRET).scalar_one()
        return bytes(found)

    # -- sessions and actions ------------------------------------------------------------

    def add_session(self, row: SessionRow, now: int) -> None:
        with self._connected(self._writer) as connection:
            connection.execute(sql.DROP_EXPIRED_SESSIONS, {"now": now})
            connection.execute(sql.ADD_SESSION, row._asdict())

    def find_session(self, digest: str) -> SessionRow | None:
        with self._connected(self._reader) as connection:
            found = connection.execute(sql.SESSION, {"digest": digest}).first()
        return None if found is None else SessionRow(*found)

    def rotate_session(self, digest: str, new_digest: str, at: int, expires_at: int) -> bool:
        given = {"digest": digest, "new_digest": new_digest, "at": at, "until": expires_at}
        with self._connected(self._writer) as connection:
            return connection.execute(sql.ROTATE_SESSION, given).rowcount == 1

    def end_session(self, session_id: str) -> None:
        with self._connected(self._writer) as connection:
            connection.execute(sql.END_SESSION, {"session": session_id})

    def add_action(self, row: ActionRow) -> None:
        values = {name: value for name, value in row._asdict().items() if name != "number"}
        with self._connected(self._writer) as connection:
            connection.execute(sql.ADD_ACTION, values)
            connection.execute(sql.DROP_OLD_ACTIONS, {"most": MAX_ACTIONS})

    def actions(self, study_id: int | None, before: int | None, limit: int) -> list[ActionRow]:
        given = {"before": 2**62 if before is None else before, "most": limit}
        statement = sql.ACTIONS if study_id is None else sql.ACTIONS_OF_STUDY
        with self._connected(self._reader) as connection:
            found = connection.execute(statement, given if study_id is None else {**given, "study": study_id})
            return [ActionRow(*row) for row in found]


_OPEN: weakref.WeakSet[SqlStorage] = weakref.WeakSet()


def _close_all() -> None:
    for storage in list(_OPEN):
        storage.close()


if hasattr(os, "register_at_fork"):
    # A child process must not use its parent's connections or locks.
    os.register_at_fork(before=_close_all)


def _unused_id(connection: sa.Connection) -> int:
    """Return a random id, so that a process with a deleted study open does not write into the next one."""
    while True:
        number = 1 + secrets.randbelow(_LARGEST_ID)
        if connection.execute(sql.BEGIN, {"study": number}).first() is None:
            return number
