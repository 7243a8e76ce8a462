"""Open the storage that a URL names.

SQLAlchemy, and the storages built on it, are imported here on first use: a study on a server needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.study.storage.base import Storage

if TYPE_CHECKING:
    from sqlalchemy import URL

    from duelist.study.storage.sql.storage import SqlStorage

_FORMS: Final = 'Use "sqlite:///file.db", "postgresql+psycopg://user@host/database", or "memory".'


def open_storage(storage: str | Storage | None, create: bool = True) -> Storage:
    """Open the storage at a URL, or a new one in memory for "memory" or None.

    An open storage is returned as it is. With `create`, missing tables are created; without, they are an error.
    """
    if isinstance(storage, Storage):
        return storage
    if storage is None or storage == "memory":
        with needs_extra("study", "studies"):
            from duelist.study.storage.sqlite import MemoryStorage
        return MemoryStorage()
    opened = _storage_at(storage)
    opened.check(create)
    return opened


def upgrade_storage(storage: str) -> str:
    """Upgrade a storage to the newest schema and return its version. Make a backup first."""
    return _storage_at(storage).upgrade()


def without_password(storage: str) -> str:
    """Return a storage URL with its password hidden."""
    return storage if storage == "memory" else _parse(storage).render_as_string(hide_password=True)


def _parse(storage: str) -> URL:
    with needs_extra("study", "studies"):
        from sqlalchemy import exc, make_url
    try:
        return make_url(storage)
    except (exc.ArgumentError, ValueError):
        raise InvalidInput(f"The storage {storage!r} is not a URL.", _FORMS, field="storage") from None


def _storage_at(storage: str) -> SqlStorage:
    url = _parse(storage)
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        from duelist.study.storage.sqlite import SqliteStorage

        return SqliteStorage(url)
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        from duelist.study.storage.postgres import PostgresStorage

        return PostgresStorage(url.set(drivername="postgresql+psycopg"))
    raise InvalidInput(f"The storage {url.render_as_string()!r} is of an unknown kind.", _FORMS, field="storage")
