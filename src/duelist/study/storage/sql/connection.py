"""A database connection that bypasses SQLAlchemy's execution: the driver runs SQL that SQLAlchemy compiled once.

`Study.ask` runs about ten short statements. SQLAlchemy's own work around each of them takes longer than the database's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa


class CompiledStatement(NamedTuple):
    """SQL for the driver, the values that are part of it, and the positions of boolean columns that come as 0 or 1."""

    sql: str
    constants: dict[str, Any]
    booleans: tuple[int, ...]


class StatementCache:
    """Statements compiled for a database, each on its first use. An INSERT must always have the same columns."""

    def __init__(self, dialect: sa.Dialect) -> None:
        # Parameters are passed by name in every database, except for rows of one table, which are many.
        dialect_class: Any = type(dialect)
        is_qmark = dialect.paramstyle == "qmark"
        self._dialect: Any = dialect_class(paramstyle="named") if is_qmark else dialect
        self._row_dialect: Any = dialect if is_qmark else dialect_class(paramstyle="format")
        self._compiled: dict[sa.Executable, CompiledStatement] = {}
        self._row_inserts: dict[sa.Insert, str] = {}

    def get(self, statement: sa.Executable, values: dict[str, Any]) -> CompiledStatement:
        """Return the compiled form of a statement that takes these values."""
        return self._compiled.get(statement) or self._compile(statement, values)

    def row_insert(self, statement: sa.Insert) -> str:
        """Return the SQL of an INSERT that takes the values of all columns by position."""
        if statement not in self._row_inserts:
            self._row_inserts[statement] = str(statement.compile(dialect=self._row_dialect))
        return self._row_inserts[statement]

    def _compile(self, statement: Any, values: dict[str, Any]) -> CompiledStatement:
        columns = list(values) if isinstance(statement, sa.Insert) else None
        compiled = statement.compile(dialect=self._dialect, column_keys=columns)
        constants = {name: value for name, value in compiled.params.items() if name not in values}
        self._compiled[statement] = CompiledStatement(str(compiled), constants, self._booleans(statement))
        return self._compiled[statement]

    def _booleans(self, statement: Any) -> tuple[int, ...]:
        if self._dialect.supports_native_boolean or not isinstance(statement, sa.Select):
            return ()
        return tuple(k for k, column in enumerate(statement.selected_columns) if isinstance(column.type, sa.Boolean))


class DriverConnection:
    """A connection in a transaction, with a cursor of its driver."""

    def __init__(self, connection: sa.Connection, statements: StatementCache) -> None:
        self.connection = connection
        self._statements = statements
        self._cursor: Any = connection.connection.cursor()

    def all(self, statement: sa.Executable, values: dict[str, Any]) -> Sequence[Any]:
        """Execute a statement and return every row."""
        return self._execute(statement, values, rows=True)

    def first(self, statement: sa.Executable, values: dict[str, Any]) -> Any:
        """Execute a statement and return the first row, None if there is none."""
        found = self._execute(statement, values, rows=True)
        return found[0] if found else None

    def do(self, statement: sa.Executable, values: dict[str, Any]) -> None:
        """Execute a statement that returns no rows."""
        self._execute(statement, values, rows=False)

    def do_many(self, statement: sa.Executable, values: list[dict[str, Any]]) -> None:
        """Execute a statement that returns no rows once for each of several values."""
        compiled = self._statements.get(statement, values[0])
        try:
            constants = compiled.constants
            self._cursor.executemany(compiled.sql, [{**constants, **each} for each in values] if constants else values)
        except BaseException as error:
            self._raise(error, compiled.sql)
            raise

    def insert_rows(self, statement: sa.Insert, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows with a value for every column of the table, in their order: a third faster than by name."""
        sql = self._statements.row_insert(statement)
        try:
            if len(rows) == 1:
                self._cursor.execute(sql, rows[0])
            elif rows:
                self._cursor.executemany(sql, rows)
        except BaseException as error:
            self._raise(error, sql)
            raise

    def _execute(self, statement: sa.Executable, values: dict[str, Any], rows: bool) -> Any:
        compiled = self._statements.get(statement, values)
        try:
            self._cursor.execute(compiled.sql, {**compiled.constants, **values} if compiled.constants else values)
            found = self._cursor.fetchall() if rows else None
        except BaseException as error:
            self._raise(error, compiled.sql)
            raise
        return [_with_booleans(row, compiled.booleans) for row in found] if found and compiled.booleans else found

    def _raise(self, error: BaseException, sql: str) -> None:
        """Raise a driver's error as SQLAlchemy's; never reuse a connection that is lost or was interrupted."""
        connection: Any = self.connection
        dialect, driver = connection.dialect, connection.dialect.loaded_dbapi
        from_driver = isinstance(error, driver.Error)
        lost = from_driver and dialect.is_disconnect(error, connection.connection, self._cursor)
        if lost or not isinstance(error, Exception):
            connection.invalidate(error)
        if from_driver:
            raise sa.exc.DBAPIError.instance(
                sql, None, error, driver.Error, hide_parameters=True, connection_invalidated=lost, dialect=dialect
            ) from error


def _with_booleans(row: Any, positions: tuple[int, ...]) -> tuple[Any, ...]:
    values = list(row)
    for k in positions:
        values[k] = bool(values[k])
    return tuple(values)
