"""Studies in an SQLite file, or in memory.

Files use a write-ahead log, so that readers never wait, and `synchronous=FULL`, so that a vote that was acknowledged survives
a power cut; with `fullfsync`, macOS empties the cache of the disk itself, too. Only their owner can read new files. Writers
begin with IMMEDIATE: they wait for each other at the start of a transaction, never inside it, in the order of `write_queue`.
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
from duelist.core.files import create_private
from duelist.study.storage.sql.errors import translating_errors
from duelist.study.storage.sql.storage import SqlStorage
from duelist.study.storage.write_queue import BUSY_SECONDS, FileQueue, ThreadQueue, queued

_NETWORK_FILE_SYSTEMS: Final = (
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
    """Studies in one SQLite file."""

    def __init__(self, url: sa.URL) -> None:
        super().__init__(url)
        self._path = Path(url.database or "")
        self._thread_queue = ThreadQueue()
        self._process_queue = FileQueue(self._path)
        if url.database:
            weakref.finalize(self, _close, self._engine, self._path, self._process_queue)

    def close(self) -> None:
        """Close the connections; remove the files of the write queue if no other process has the database open."""
        _close(self._engine, self._path, self._process_queue)

    def check(self, create: bool) -> None:
        """Check the schema; raise UnknownStudy if there is no file, unless `create` is set."""
        if not create:
            self._check_file()
        _warn_on_network(self._path)
        super().check(create)

    def upgrade(self) -> str:
        """Migrate the schema; raise UnknownStudy if there is no file."""
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
        path = Path(url.database or "")
        sa.event.listen(engine, "do_connect", lambda *_: _create_private(path))
        return _with_transactions(engine, in_memory=False)

    def _writer_options(self) -> dict[str, Any]:
        return {"duelist_begin": "BEGIN IMMEDIATE"}

    def scrub(self) -> bool:
        """Empty the write-ahead log, unless a reader prevents it; SQLite overwrote the data in the file itself when it was deleted."""
        with translating_errors(self.url), self._engine.connect() as connection:
            busy, *_ = connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy

    def copy_to_file(self, path: Path) -> bool:
        """Copy the current state with SQLite's online backup, which blocks neither readers nor writers."""
        with translating_errors(self.url), self._engine.connect() as connection:
            source: Any = connection.connection.driver_connection
            create_private(path)
            with contextlib.closing(sqlite3.connect(path)) as target:
                source.backup(target)  # one step: the write-ahead log keeps the state of its start
                target.execute("PRAGMA journal_mode = WAL")
        return True

    def _write_turn(self) -> AbstractContextManager[None]:
        # One thread per process queues among the processes, so that more threads do not mean more turns.
        return queued(self._thread_queue, self._process_queue, seconds=BUSY_SECONDS, storage=self.url)


class MemoryStorage(SqliteStorage):
    """Studies in memory, which live as long as this object, on one connection.

    A second, unused connection keeps the database alive while one that Ctrl-C interrupted is replaced.
    """

    def __init__(self) -> None:
        super().__init__(sa.make_url("sqlite://"))
        SqlStorage.check(self, create=True)

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        name = f"file:duelist-{uuid.uuid4().hex}?mode=memory&cache=shared"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(name, uri=True, check_same_thread=False)

        weakref.finalize(self, connect().close)
        return _with_transactions(sa.create_engine(url, poolclass=sa.StaticPool, creator=connect), in_memory=True)

    def _write_turn(self) -> AbstractContextManager[None]:
        return queued(self._thread_queue, seconds=BUSY_SECONDS, storage=self.url)

    def _read_turn(self) -> AbstractContextManager[None]:
        return self._write_turn()  # all threads share one connection

    def close(self) -> None:
        """Do nothing: closing the connection would delete the database."""


def _close(engine: sa.Engine, path: Path, queue: FileQueue) -> None:
    engine.dispose()
    if not Path(f"{path}-wal").exists():  # SQLite removes it with the last connection
        queue.remove_files()


def _create_private(path: Path) -> None:
    """Create a new database as a private file; its write-ahead log gets the same mode from SQLite."""
    with contextlib.suppress(OSError):  # SQLite's own error says why the file cannot be opened
        create_private(path)


def _with_transactions(engine: sa.Engine, in_memory: bool) -> sa.Engine:
    """Return the engine with explicit transactions in place of the driver's implicit ones."""

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        if not in_memory:
            _use_write_ahead_log(connection)
        for setting in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("duelist_begin", "BEGIN"))

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the write-ahead log on, once per file; SQLite does not wait for other processes here, so this does."""
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
    if kind.startswith(_NETWORK_FILE_SYSTEMS):
        warnings.warn(
            f"{str(path)!r} lies on a network file system ({kind}), where SQLite's locks may not hold; "
            "keep it on a local disk, or use PostgreSQL for several machines",
            StorageWarning,
            stacklevel=2,
        )


def file_system(path: Path, mounts: str) -> str:
    r"""Return the file system type of a path by the table of mounts, empty if unknown.

    >>> file_system(Path("/data/a.db"), "/dev/sda / ext4 rw 0 0\nserver:/x /data nfs4 rw 0 0")
    'nfs4'
    """
    kind, longest = "", -1
    for line in mounts.splitlines():
        _, where, what, *_ = [*line.split(" "), "", "", ""]
        point = Path(where.replace("\\040", " "))
        # The later of two mounts on one point hides the earlier.
        if path.is_relative_to(point) and len(point.parts) >= longest:
            kind, longest = what, len(point.parts)
    return kind
