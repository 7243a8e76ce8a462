"""Studies in PostgreSQL. Writers of a study lock its row; writers of different studies do not meet."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from duelist.errors import MissingExtra
from duelist.study.storage._sql import SqlStorage

_WAIT_MILLISECONDS: Final = 60_000
_SCHEMA_LOCK: Final = 0x6475656C  # any number that nobody else is likely to lock


class PostgresStorage(SqlStorage):
    """Studies in a database on a server."""

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        # A process that stops in the middle of a transaction must not keep the others waiting for ever.
        limits = f"-c lock_timeout={_WAIT_MILLISECONDS} -c idle_in_transaction_session_timeout={_WAIT_MILLISECONDS}"
        try:
            return sa.create_engine(url, pool_pre_ping=True, connect_args={"options": limits, "connect_timeout": 10})
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"PostgreSQL needs {error.name}; install it with `pip install 'duelist[postgres]'`"
            ) from error

    def _reader_options(self) -> dict[str, Any]:
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def _lock_schema(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})
