"""Tables as results show them: plain text in the shell, HTML in a notebook, a data frame for more."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from duelist.core.dataframes import to_pandas, to_polars

if TYPE_CHECKING:
    from pandas import DataFrame
    from polars import DataFrame as PolarsFrame

Record = TypeVar("Record")

_RIGHT: Final = "text-align: right; font-variant-numeric: tabular-nums"
_LEFT: Final = "text-align: left"
MOST_ROWS: Final = 200
"""Rows shown in a notebook; further rows are only counted."""


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format rows as aligned columns: the first left-aligned, the others right-aligned."""
    columns = list(zip(headers, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in (headers, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def format_percent(value: float | None) -> str:
    """Format a share as a percentage, or a dash if there is none."""
    return "-" if value is None else f"{100 * value:.0f}%"


def format_count(n: int, noun: str) -> str:
    """Format a number with its noun, whose plural ends in s.

    >>> format_count(1, "vote"), format_count(2_000, "vote")
    ('1 vote', '2,000 votes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """Shorten a text in the middle, since ids often differ at their ends, and put it on one line.

    >>> shortened("a rather long name", 9)
    'a ra…name'
    """
    line = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") else c for c in text)
    if len(line) <= most:
        return line
    tail = (most - 1) // 2
    return f"{line[: most - 1 - tail]}…{line[len(line) - tail :]}"


class TableContent(NamedTuple):
    """The content of a table: headers, rows, notes below, and a title above."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""


class TabularResult(ABC):
    """A result that shows itself as a table; its data class has `repr=False`, so that `repr` is that table, too."""

    __slots__ = ()

    @abstractmethod
    def _table(self) -> TableContent:
        """Return the table to show."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return all values as columns, by name."""

    def __str__(self) -> str:
        shown = self._table()
        return "\n".join([*filter(None, [shown.title]), format_table(shown.headers, shown.rows), *shown.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        shown = self._table()
        left_out = len(shown.rows) - MOST_ROWS
        notes = [*shown.notes, *([f"{left_out} more rows are not shown"] if left_out > 0 else [])]
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in shown.rows[:MOST_ROWS])
        under = "".join(f"<div>{escape(note)}</div>" for note in notes)
        title = f"<div>{escape(shown.title)}</div>" if shown.title else ""
        return f"<div>{title}<table><thead><tr>{_cells('th', shown.headers)}</tr></thead><tbody>{body}</tbody></table>{under}</div>"

    def to_pandas(self) -> DataFrame:
        """Return everything the result holds as a pandas data frame."""
        return to_pandas(self._columns())


class RecordList(list[Record]):
    """A list of records of one kind that converts to a data frame, with a column for each field.

    >>> from duelist.core.duel import Duel
    >>> duels = RecordList(Duel, [Duel(3, 1, 0), Duel(2, 0, 1)])
    >>> duels.to_pandas()["first"].tolist()
    [3, 2]
    """

    def __init__(self, kind: type[Record], records: Iterable[Record] = ()) -> None:
        super().__init__(records)
        self._kind = kind

    def to_pandas(self) -> DataFrame:
        """Return the records as a pandas data frame."""
        return to_pandas(self._columns())

    def to_polars(self) -> PolarsFrame:
        """Return the records as a polars data frame."""
        return to_polars(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        columns = columns_of(self, [field.name for field in fields(self._kind)])  # type: ignore[arg-type]
        return {name: [_plain(value) for value in values] for name, values in columns.items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Enum) else value


def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return attributes of objects as columns."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def _cells(kind: str, cells: Sequence[str]) -> str:
    return "".join(f'<{kind} style="{_RIGHT if k else _LEFT}">{escape(cell)}</{kind}>' for k, cell in enumerate(cells))
