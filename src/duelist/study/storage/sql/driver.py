"""Statements in the words of the driver: SQLAlchemy writes each of them once, and from then on the driver is given them as they are.

An ask is made of some ten short statements. What SQLAlchemy does around each of them, every time, takes longer than a database
needs to answer it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa


class Wording(NamedTuple):
    """A statement as the driver takes it: its text, the values that are part of it, and the columns that come as 0 or 1."""

    text: str
    fixed: dict[str, Any]
    flags: tuple[int, ...]


class Wordings:
    """The statements of a database, each worded when it is first said. An INSERT is always of the same columns."""

    def __init__(self, dialect: sa.Dialect) -> None:
        # By name in every database: names are how we give values, and what SQLAlchemy calls its own.
        speaker: Any = type(dialect)
        self._dialect: Any = speaker(paramstyle="named") if dialect.paramstyle == "qmark" else dialect
        self._known: dict[sa.Executable, Wording] = {}

    def of(self, statement: sa.Executable, values: dict[str, Any]) -> Wording:
        """The words for a statement that is given these values."""
        return self._known.get(statement) or self._worded(statement, values)

    def _worded(self, statement: Any, values: dict[str, Any]) -> Wording:
        columns = list(values) if isinstance(statement, sa.Insert) else None
        compiled = statement.compile(dialect=self._dialect, column_keys=columns)
        fixed = {name: value for name, value in compiled.params.items() if name not in values}
        self._known[statement] = Wording(str(compiled), fixed, self._flags(statement))
        return self._known[statement]

    def _flags(self, statement: Any) -> tuple[int, ...]:
        if self._dialect.supports_native_boolean or not isinstance(statement, sa.Select):
            return ()
        return tuple(k for k, column in enumerate(statement.selected_columns) if isinstance(column.type, sa.Boolean))


class Line:
    """A connection in a transaction, on which statements are said in the driver's words."""

    def __init__(self, connection: sa.Connection, wordings: Wordings) -> None:
        self.connection = connection
        self._wordings = wordings
        self._cursor: Any = connection.connection.cursor()

    def all(self, statement: sa.Executable, values: dict[str, Any]) -> Sequence[Any]:
        """Every row of the answer."""
        return self._said(statement, values, rows=True)

    def first(self, statement: sa.Executable, values: dict[str, Any]) -> Any:
        """The first row of the answer, None if there is none."""
        found = self._said(statement, values, rows=True)
        return found[0] if found else None

    def do(self, statement: sa.Executable, values: dict[str, Any]) -> None:
        """Say something that is not answered with rows."""
        self._said(statement, values, rows=False)

    def _said(self, statement: sa.Executable, values: dict[str, Any], rows: bool) -> Any:
        words = self._wordings.of(statement, values)
        try:
            self._cursor.execute(words.text, {**words.fixed, **values} if words.fixed else values)
            found = self._cursor.fetchall() if rows else None
        except BaseException as error:
            self._complain(error, words.text)
            raise
        return [_with_flags(row, words.flags) for row in found] if found and words.flags else found

    def _complain(self, error: BaseException, text: str) -> None:
        """Raise an error of the driver as SQLAlchemy does; a connection that is lost, or was left in the middle, is not used again."""
        connection: Any = self.connection
        dialect, driver = connection.dialect, connection.dialect.loaded_dbapi
        ours = isinstance(error, driver.Error)
        lost = ours and dialect.is_disconnect(error, connection.connection, self._cursor)
        if lost or not isinstance(error, Exception):
            connection.invalidate(error)
        if ours:
            raise sa.exc.DBAPIError.instance(
                text, None, error, driver.Error, hide_parameters=True, connection_invalidated=lost, dialect=dialect
            ) from error


def _with_flags(row: Any, flags: tuple[int, ...]) -> tuple[Any, ...]:
    """A row with True and False where the database has 1 and 0."""
    values = list(row)
    for k in flags:
        values[k] = bool(values[k])
    return tuple(values)
