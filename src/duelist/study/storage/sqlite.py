"""Studies in a file, or in memory, by SQLite.

A file is opened with a write-ahead log, so that readers never wait, and with `synchronous=FULL`, so that a vote that was
acknowledged survives a power cut. Writers begin with IMMEDIATE: they wait for each other at the start, never in the middle;
and they queue for it, see `turns`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
import warnings
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from duelist.core.errors import StorageWarning, UnknownStudy
from duelist.study.storage.sql.errors import explaining
from duelist.study.storage.sql.storage import SqlStorage
from duelist.study.storage.write_queue import BUSY_SECONDS, FileTurns, ThreadTurns, waiting_for

_NETWORKED: Final = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "davfs",
    "fuse.ceph",
    "fuse.gluster",
    "fuse.juicefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
)
_MOUNTS: Final = Path("/proc/self/mounts")


class SqliteStorage(SqlStorage):
    """Studies in one file."""

    def __init__(self, url: sa.URL) -> None:
        super().__init__(url)
        self._path = Path(url.database or "")
        self._threads = ThreadTurns()
        self._processes = FileTurns(self._path)

    def check(self, create: bool) -> None:
        """As for every database; and the file must be there, unless `create` says to make it."""
        if not create:
            self._check_file()
        _warn_on_network(self._path)
        super().check(create)

    def upgrade(self) -> str:
        """As for every database; a file that is not there is not made."""
        self._check_file()
        return super().upgrade()

    def _check_file(self) -> None:
        if not self._path.exists():
            raise UnknownStudy(
                f"There is no file {str(self._path)!r}.",
                "Create a study with `create_study`.",
                code="unknown_study.storage",
            )

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS})
        return _listened_to(engine, in_memory=False)

    def _writer_options(self) -> dict[str, Any]:
        return {"duelist_begin": "BEGIN IMMEDIATE"}

    def scrub(self) -> bool:
        """Empty the write-ahead log, unless somebody reads; what lies in the file itself was overwritten when it was deleted."""
        with explaining(self.url), self._engine.connect() as connection:
            busy, *_ = connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy

    def copy_to_file(self, path: Path) -> bool:
        """As it is at this moment, by SQLite's own backup: nobody waits for it, and it waits for nobody."""
        with explaining(self.url), self._engine.connect() as connection:
            source: Any = connection.connection.driver_connection
            with contextlib.closing(sqlite3.connect(path)) as target:
                source.backup(target)  # in one step: a write-ahead log keeps what was there when it began
                target.execute("PRAGMA journal_mode = WAL")
        return True

    def _turn_to_write(self) -> AbstractContextManager[None]:
        # One thread of each process queues among the processes, so that none has more turns for having more threads.
        return waiting_for(self._threads, self._processes, seconds=BUSY_SECONDS, place=self.url)


class MemoryStorage(SqliteStorage):
    """Studies that live as long as this object: the same tables, in memory, on one connection.

    A second one, which nobody uses, holds the database while a connection that a Ctrl-C has left in the middle is replaced.
    """

    def __init__(self) -> None:
        super().__init__(sa.make_url("sqlite://"))
        SqlStorage.check(self, create=True)

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        name = f"file:duelist-{uuid.uuid4().hex}?mode=memory&cache=shared"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(name, uri=True, check_same_thread=False)

        weakref.finalize(self, connect().close)
        return _listened_to(sa.create_engine(url, poolclass=sa.StaticPool, creator=connect), in_memory=True)

    def _turn_to_write(self) -> AbstractContextManager[None]:
        return waiting_for(self._threads, seconds=BUSY_SECONDS, place=self.url)

    def _turn_to_read(self) -> AbstractContextManager[None]:
        return self._turn_to_write()  # there is one connection for all

    def close(self) -> None:
        """Nothing: to close the connection would be to forget everything."""


def _listened_to(engine: sa.Engine, in_memory: bool) -> sa.Engine:
    """The engine, with transactions that begin when and how we say, not when the driver thinks they should."""

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        if not in_memory:
            _use_write_ahead_log(connection)
        for setting in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("duelist_begin", "BEGIN"))

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the log on, once in the life of a file; SQLite does not wait for others here, so we do."""
    give_up = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _warn_on_network(path: Path) -> None:
    kind = file_system(path.resolve(), _MOUNTS.read_text() if _MOUNTS.exists() else "")
    if kind.startswith(_NETWORKED):
        warnings.warn(
            f"{str(path)!r} lies on a network file system ({kind}), where SQLite's locks may not hold; "
            "keep it on a local disk, or use PostgreSQL for several machines",
            StorageWarning,
            stacklevel=2,
        )


def file_system(path: Path, mounts: str) -> str:
    r"""The kind of file system that `path` lies on, by a table of mounts; empty if it does not say.

    >>> file_system(Path("/data/a.db"), "/dev/sda / ext4 rw 0 0\nserver:/x /data nfs4 rw 0 0")
    'nfs4'
    """
    kind, longest = "", -1
    for line in mounts.splitlines():
        _, where, what, *_ = [*line.split(" "), "", "", ""]
        point = Path(where.replace("\\040", " "))
        # Of two on one place the later hides the earlier: autofs below what it has mounted.
        if path.is_relative_to(point) and len(point.parts) >= longest:
            kind, longest = what, len(point.parts)
    return kind
