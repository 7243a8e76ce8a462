"""Studies in PostgreSQL. Writers of a study lock its row; writers of different studies do not meet."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from duelist.core.extras import needs_extra
from duelist.study.storage.sql import statements as say
from duelist.study.storage.sql.driver import Line
from duelist.study.storage.sql.storage import SqlStorage

_WAIT_MILLISECONDS: Final = 60_000
_SCHEMA_LOCK: Final = 0x6475656C  # any number that nobody else is likely to lock
# A process that stops in the middle of a transaction must not keep the others waiting for ever.
_LIMITS: Final = f"-c lock_timeout={_WAIT_MILLISECONDS} -c idle_in_transaction_session_timeout={_WAIT_MILLISECONDS}"
# A server that has gone without a word (a cable, a firewall) is noticed after a minute, not after the two hours of TCP.
_SIGNS_OF_LIFE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "connect_timeout": 10}
# A vote that is acknowledged is on disk, also where the server was told that others need not be.
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)


_QUEUE: Final = sa.text("SELECT pg_advisory_xact_lock(:space, :study)")
# Its own clock, for all who reach it: leases must not end early because somebody's clock is ahead.
_NOW: Final = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)


class PostgresStorage(SqlStorage):
    """Studies in a database on a server."""

    _count = say.count(_NOW)
    _count_and_lock = say.count(_NOW, lock=True)

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        given = {name: url.query[name] for name in (*_SIGNS_OF_LIFE, "options") if name in url.query}
        settings = {**_SIGNS_OF_LIFE, **given, "options": f"{_LIMITS} {given.get('options', '')}".strip()}
        with needs_extra("postgres", "studies in PostgreSQL"):
            engine = sa.create_engine(url, pool_pre_ping=True, connect_args=settings)
        sa.event.listen(engine, "connect", _make_durable)
        return engine

    def _reader_options(self) -> dict[str, Any]:
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def _queue(self, line: Line, study_id: int) -> None:
        # Rows are unfair: who has just committed has the row again before those who wait for it have woken up. These locks queue.
        line.do(_QUEUE, {"space": _SCHEMA_LOCK, "study": study_id})

    def _lock_schema(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})


def _make_durable(connection: Any, _record: Any) -> None:
    connection.execute(_DURABLE)
    connection.commit()
