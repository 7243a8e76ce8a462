"""Errors of databases as errors of this library, which name the storage and say what to do."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from duelist.core.errors import (
    ConnectionLost,
    DuelistError,
    StorageCorrupted,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)

_OF_DATABASES: Final = (sa.exc.DBAPIError, sa.exc.TimeoutError, sa.exc.PendingRollbackError)
"""Also after an error that was caught inside a transaction: its connection is lost to the calls that share it."""
Explanation = tuple[type[StorageError], str, str]

_LOCKED: Final = (
    StorageLocked,
    "is being written by another process for too long",
    "Try again, or end the other writer.",
)
_FULL: Final = (StorageFull, "has no room left", "Free some space and repeat the call, which had no effect.")
_READ_ONLY: Final = (
    StorageReadOnly,
    "cannot be written",
    "Check the permissions of the file and its folder, or of the database.",
)
_CORRUPTED: Final = (
    StorageCorrupted,
    "is damaged or is not a database",
    "Keep the file as it is, and continue with a copy from a backup (SQLite's .recover may save the rest).",
)
_LOST: Final = (
    ConnectionLost,
    "cannot be reached",
    "Check that the server runs, then repeat the call: a vote that arrived is not counted twice.",
)
_NO_FILE: Final = (ConnectionLost, "cannot be opened", "Check that the folder exists and is writable.")

# By prefixes of SQLite's error names; the first match counts.
_SQLITE: Final[dict[str, Explanation]] = {
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
# By prefixes of PostgreSQL's error codes.
_POSTGRES: Final[dict[str, Explanation]] = {
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


def corrupted_if_invalid(convert: Callable[[Any], Converted]) -> Callable[[Any], Converted]:
    """Raise `Unreadable` where a converter of rows fails: the row was damaged in the database."""

    @functools.wraps(convert)
    def converted(row: Any) -> Converted:
        try:
            return convert(row)
        except (TypeError, ValueError) as error:
            raise Unreadable(f"{error}, in a row for {convert.__name__}") from error

    return converted


def translated(error: Exception, storage: str) -> StorageError:
    """Return the error of this library for one of SQLAlchemy or a driver."""
    cause = getattr(error, "orig", None) or error
    kind, problem, hint = _explain(error, cause)
    reason = str(cause).strip().splitlines()
    return kind(f"Storage {storage} {problem} ({reason[0] if reason else type(cause).__name__}).", hint)


def _explain(error: Exception, cause: BaseException) -> Explanation:
    if isinstance(error, sa.exc.TimeoutError):
        return _LOCKED
    if getattr(error, "connection_invalidated", False) or isinstance(error, sa.exc.PendingRollbackError):
        return _LOST
    name = str(getattr(cause, "sqlite_errorname", None) or "")
    code = str(getattr(cause, "sqlstate", None) or "")
    for table, found in ((_SQLITE, name), (_POSTGRES, code)):
        for prefix, explanation in table.items():
            if found.startswith(prefix):
                return explanation
    if name == "SQLITE_ERROR" and str(cause).startswith("no such"):
        return _CORRUPTED  # a table or a column that every file of this schema has
    if isinstance(cause, sqlite3.Error) and not name:
        return _CORRUPTED  # Python could not read what SQLite returned
    if isinstance(error, sa.exc.OperationalError) and not name and not code:
        return _LOST  # PostgreSQL's driver has no code if the server did not answer
    return StorageError, "rejected the call", "The call had no effect."


@contextmanager
def translating_errors(storage: str) -> Iterator[None]:
    """Raise errors of the database inside the block as errors of this library."""
    try:
        yield
    except (Unreadable, UnicodeDecodeError) as error:  # SQLite's own message may quote undecodable data
        _, problem, hint = _CORRUPTED
        raise StorageCorrupted(f"Storage {storage} {problem} ({error}).", hint) from error
    except DuelistError:
        raise
    except Exception as error:
        found = next((each for each in (error, error.__cause__) if isinstance(each, _OF_DATABASES)), None)
        if found is None:
            raise
        raise translated(found, storage) from error
