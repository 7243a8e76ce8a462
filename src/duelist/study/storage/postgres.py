"""Studies in PostgreSQL: a writer locks its study's row, so writers of different studies do not wait for each other."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from duelist.core.extras import needs_extra
from duelist.study.storage.sql import statements as sql
from duelist.study.storage.sql.connection import DriverConnection
from duelist.study.storage.sql.storage import SqlStorage

_WAIT_MILLISECONDS: Final = 60_000
_LOCK_SPACE: Final = 0x6475656C  # an arbitrary number for advisory locks
# A process that hangs in a transaction must not block the others forever.
_TIMEOUTS: Final = f"-c lock_timeout={_WAIT_MILLISECONDS} -c idle_in_transaction_session_timeout={_WAIT_MILLISECONDS}"
# Notice a dead connection after a minute instead of TCP's two hours.
_KEEPALIVES: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "connect_timeout": 10}
# A vote that was acknowledged must be on disk, even if the server's default is asynchronous commits.
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
_QUEUE: Final = sa.text("SELECT pg_advisory_xact_lock(:space, :study)")
# The server's clock: leases must not end early because the clock of one client is ahead.
_NOW: Final = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)


class PostgresStorage(SqlStorage):
    """Studies in a PostgreSQL database."""

    _begin_reading = sql.begin(_NOW)
    _begin_writing = sql.begin(_NOW, lock=True)

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        given = {name: url.query[name] for name in (*_KEEPALIVES, "options") if name in url.query}
        settings = {**_KEEPALIVES, **given, "options": f"{_TIMEOUTS} {given.get('options', '')}".strip()}
        with needs_extra("postgres", "studies in PostgreSQL"):
            engine = sa.create_engine(url, pool_pre_ping=True, connect_args=settings)
        sa.event.listen(engine, "connect", _make_durable)
        return engine

    def _reader_options(self) -> dict[str, Any]:
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def _queue(self, connection: DriverConnection, study_id: int) -> None:
        # Row locks are unfair: a process that just committed gets the row again before waiting ones wake up. Advisory locks queue.
        connection.do(_QUEUE, {"space": _LOCK_SPACE, "study": study_id})

    def _lock_schema(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK_SPACE})


def _make_durable(connection: Any, _record: Any) -> None:
    connection.execute(_DURABLE)
    connection.commit()
