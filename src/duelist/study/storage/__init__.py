"""Where studies are kept: a file, a server, or memory."""

from __future__ import annotations

import sqlalchemy as sa

from duelist.core.errors import InvalidInput
from duelist.study.storage.base import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelColumns,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    Lesson,
    RaterRow,
    SeenRow,
    Staged,
    StagedRow,
    Storage,
    StudyRow,
    Transaction,
    VoteColumns,
    VoteRow,
)
from duelist.study.storage.postgres import PostgresStorage
from duelist.study.storage.sql.storage import SqlStorage
from duelist.study.storage.sqlite import MemoryStorage, SqliteStorage
from duelist.study.storage.tokens import MediaRow, TokenRow

__all__ = [
    "ArmRow",
    "ContextRow",
    "Counters",
    "DetailRow",
    "DuelColumns",
    "DuelRow",
    "FeatureChunk",
    "LeaseRow",
    "LeaseState",
    "Lesson",
    "MediaRow",
    "MemoryStorage",
    "PostgresStorage",
    "RaterRow",
    "SeenRow",
    "SqlStorage",
    "SqliteStorage",
    "Staged",
    "StagedRow",
    "Storage",
    "StudyRow",
    "TokenRow",
    "Transaction",
    "VoteColumns",
    "VoteRow",
    "open_storage",
    "upgrade_storage",
    "without_password",
]

_FORMS = '"sqlite:///file.db", "postgresql+psycopg://user@host/database", or "memory"'


def open_storage(storage: str | Storage | None, create: bool = True) -> Storage:
    """The storage of a URL; "memory" or None for a new one in memory; a storage is returned as it is.

    With `create`, tables are made where there are none; otherwise that is an error.
    """
    if isinstance(storage, Storage):
        return storage
    if storage is None or storage == "memory":
        return MemoryStorage()
    opened = _unchecked(storage)
    opened.check(create)
    return opened


def upgrade_storage(storage: str) -> str:
    """Bring the schema of a storage up to date; the version it has then. Make a backup first."""
    return _unchecked(storage).upgrade()


def without_password(storage: str) -> str:
    """A URL that may be shown."""
    return storage if storage == "memory" else _url(storage).render_as_string(hide_password=True)


def _url(storage: str) -> sa.URL:
    try:
        return sa.make_url(storage)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidInput(f"storage is {storage!r}, which is no URL.", f"Give {_FORMS}.", field="storage") from None


def _unchecked(storage: str) -> SqlStorage:
    url = _url(storage)
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        return SqliteStorage(url)
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        return PostgresStorage(url.set(drivername="postgresql+psycopg"))
    raise InvalidInput(f"storage is {url.render_as_string()!r}.", f"Give {_FORMS}.", field="storage")
