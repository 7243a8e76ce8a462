"""The log as columns, for readings: a row of Python objects for every vote would take longer than all that is done with it.

The database puts each column of a chunk of rows into one JSON array, which is read at once: three times as fast as to fetch the rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam as given
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from duelist.study.storage.base import DuelColumns, VoteColumns
from duelist.study.storage.sql.errors import whole
from duelist.study.storage.sql.owners import OwningTransaction
from duelist.study.storage.sql.tables import duels, votes


class _Gathered(FunctionElement[str]):
    """A column as one JSON array."""

    type = sa.Text()
    name = "gathered"
    inherit_cache = True


@compiles(_Gathered)
def _in_sqlite(element: _Gathered, compiler: Any, **options: Any) -> str:
    return f"json_group_array({compiler.process(element.clauses, **options)})"


@compiles(_Gathered, "postgresql")
def _in_postgres(element: _Gathered, compiler: Any, **options: Any) -> str:
    return f"CAST(json_agg({compiler.process(element.clauses, **options)}) AS TEXT)"


def _between(table: sa.Table, key: str, columns: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    """Some columns of the rows after one up to another, in order."""
    rows = (
        sa.select(*columns)
        .where(
            table.c.study_id == given("study", type_=sa.BigInteger),
            table.c[key] > given("after", type_=sa.BigInteger),
            table.c[key] <= given("until", type_=sa.BigInteger),
        )
        .order_by(table.c[key])
        .subquery("part")
    )
    gathered: list[Any] = [_Gathered(column) for column in rows.c]
    return sa.select(*gathered)


# A whole number is written and read five times as fast as any other; who takes thirty years is not timed.
_SECONDS = votes.c.response_seconds
_MICROSECONDS: Final = sa.case((_SECONDS < 1e9, sa.cast(sa.func.round(_SECONDS * 1e6), sa.BigInteger)))
VOTES: Final = _between(
    votes,
    "sequence",
    [_MICROSECONDS.label(name) if name == "response_microseconds" else votes.c[name] for name in VoteColumns._fields],
)
DUELS: Final = _between(duels, "number", [duels.c[name] for name in DuelColumns._fields])


class ColumnsTransaction(OwningTransaction):
    """The part of a transaction that readings use."""

    def vote_columns(self, after: int, until: int) -> VoteColumns:
        """The rows of the log after the one up to the other, in order."""
        return VoteColumns(*map(_column, self._one(VOTES, after=after, until=min(until, self._until))))

    def duel_columns(self, after: int, until: int) -> DuelColumns:
        """The duels after the one up to the other, in order."""
        return DuelColumns(*map(_column, self._one(DUELS, after=after, until=until)))


@whole
def _column(text: str | None) -> list[Any]:
    """PostgreSQL has nothing for no rows, SQLite an empty array."""
    return [] if text is None else json.loads(text)
