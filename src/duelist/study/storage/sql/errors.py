"""What a database complains about, in words that name the storage and the way out."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from duelist.core.errors import (
    ConnectionLost,
    StorageCorrupted,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)

Advice = tuple[type[StorageError], str, str]

_LOCKED: Final = (
    StorageLocked,
    "is being written by another process for too long",
    "Try again, or end the other writer.",
)
_FULL: Final = (StorageFull, "has no room left", "Free some space and repeat the call, nothing of it was written.")
_READ_ONLY: Final = (
    StorageReadOnly,
    "cannot be written",
    "Check who may write to the file and to its folder, or to the database.",
)
_CORRUPTED: Final = (
    StorageCorrupted,
    "is damaged or is not a database",
    "Keep the file as it is, and go on with a copy of it from a backup (SQLite's .recover may save the rest).",
)
_LOST: Final = (
    ConnectionLost,
    "cannot be reached",
    "Check that the server runs, then repeat the call: a vote that arrived is not counted twice.",
)
_NO_FILE: Final = (ConnectionLost, "cannot be opened", "Check that the folder exists and may be written to.")

# By the beginnings of SQLite's names for its errors; the first that fits counts.
_SQLITE: Final[dict[str, Advice]] = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR_WRITE": _FULL,
    "SQLITE_IOERR_SHMSIZE": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_CORRUPT": _CORRUPTED,
    "SQLITE_NOTADB": _CORRUPTED,
    "SQLITE_CANTOPEN": _NO_FILE,
}
# By the beginnings of PostgreSQL's codes.
_POSTGRES: Final[dict[str, Advice]] = {
    "55P03": _LOCKED,
    "40P01": _LOCKED,
    "40001": _LOCKED,
    "53100": _FULL,
    "53200": _FULL,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "XX001": _CORRUPTED,
    "XX002": _CORRUPTED,
    "08": _LOST,
    "57P": _LOST,
    "53300": _LOST,
}


class Unreadable(Exception):
    """A row that no release of duelist has written."""


Converted = TypeVar("Converted")


def whole(convert: Callable[[Any], Converted]) -> Callable[[Any], Converted]:
    """Convert a row as it comes from the database; what cannot be converted was damaged there."""

    @functools.wraps(convert)
    def converted(row: Any) -> Converted:
        try:
            return convert(row)
        except (TypeError, ValueError) as error:
            raise Unreadable(f"{error}, in a row for {convert.__name__.strip('_')}") from error

    return converted


def explained(error: Exception, place: str) -> StorageError:
    """The error of SQLAlchemy or a driver, as one of ours."""
    cause = getattr(error, "orig", None) or error
    kind, problem, hint = _advice(error, cause)
    reason = str(cause).strip().splitlines()
    return kind(f"Storage {place} {problem} ({reason[0] if reason else type(cause).__name__}).", hint)


def _advice(error: Exception, cause: BaseException) -> Advice:
    if isinstance(error, sa.exc.TimeoutError):
        return _LOCKED
    if getattr(error, "connection_invalidated", False):
        return _LOST
    name = str(getattr(cause, "sqlite_errorname", None) or "")
    code = str(getattr(cause, "sqlstate", None) or "")
    for known, given in ((_SQLITE, name), (_POSTGRES, code)):
        for start, advice in known.items():
            if given.startswith(start):
                return advice
    if name == "SQLITE_ERROR" and str(cause).startswith("no such"):
        return _CORRUPTED  # a table or a column that every file of this schema has
    if isinstance(cause, sqlite3.Error) and not name:
        return _CORRUPTED  # Python could not read what SQLite gave it
    if isinstance(error, sa.exc.OperationalError) and not name and not code:
        return _LOST  # the driver of PostgreSQL has no code where there was no answer
    return StorageError, "refused the call", "Nothing of it was written."


@contextmanager
def explaining(place: str) -> Iterator[None]:
    """Turn errors of the database inside the block into ours."""
    try:
        yield
    except (Unreadable, UnicodeDecodeError) as error:  # the latter where SQLite's own message quotes what is damaged
        _, problem, hint = _CORRUPTED
        raise StorageCorrupted(f"Storage {place} {problem} ({error}).", hint) from error
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        raise explained(error, place) from error
