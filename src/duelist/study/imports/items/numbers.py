"""Numbers that a file has of its arms: columns of them, with or without holes, or a list of them for each arm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import InvalidInput
from duelist.study.formats.fields import as_number
from duelist.study.formats.json_records import Row, shown
from duelist.study.imports.items.decimals import Signs, decimal_number, signs_of
from duelist.study.imports.items.number_text import FLAGS, PERCENT, Written, core, written

GIVEN: Final = "features"
"""The field that holds a list of numbers for each arm."""
_NOTHING: Final = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "."])
"""What people and programs write where they have no number."""
_MOST: Final = 0.5


class Unread(NamedTuple):
    """Why a column of numbers is not read, and what to do about it."""

    why: str
    way_out: str


_NO_DECIMAL: Final = Unread(
    "and nothing says whether comma or point is the decimal sign of this column",
    "write its numbers with one decimal sign and nothing between thousands",
)
_LOOKS_LIKE_ONE: Final = Unread(
    "which looks like a number and is none that is sure to be read right", "write its numbers as digits alone"
)


class Numbers(NamedTuple):
    """A column of numbers; None where a cell has none, and the first row and cell of those."""

    values: list[float | None]
    hole: tuple[Row, Any] | None
    unread: Unread | None = None
    """Why none of it is read, although it has numbers or what looks like some."""
    meaning: str = ""
    """What its cells stand for, where they are not just these numbers."""

    @property
    def whole(self) -> bool:
        """Whether every arm has its number."""
        return self.hole is None

    def describe(self, name: str) -> str:
        """Which cell has no number, in words."""
        if self.hole is None:
            return f"the column {name!r} has a number in every row"
        row, cell = self.hole
        if self.unread is not None:
            return f"{row.where}: {name!r} is {shown(cell)}, {self.unread.why}"
        what, none = ("is empty", "no number") if is_empty(cell) else (f"is {shown(cell)}, which is no number", "none")
        more = sum(value is None for value in self.values) - 1
        others = "" if not more else f", and {more} more of its cells {'has' if more == 1 else 'have'} {none}"
        return f"{row.where}: {name!r} {what}{others}"

    @property
    def way_out(self) -> str:
        """What to do with a column that is not whole."""
        if self.unread is not None:
            return self.unread.way_out
        return "fill it in" if self.hole is None or is_nothing(self.hole[1]) else "correct it"


def is_empty(cell: Any) -> bool:
    """Whether nothing is written in a cell."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def is_nothing(cell: Any) -> bool:
    """Whether a cell is empty, or says that there is nothing to say."""
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in _NOTHING)


class _Cells(NamedTuple):
    """A column as it is in the file, its texts as plain as they can be, and what these say of the decimal sign."""

    rows: Sequence[Row]
    cells: list[Any]
    written: list[Written | None]
    signs: Signs

    def are_most(self, found: int) -> bool:
        """Whether so many are most of what is written."""
        return found > 0 and found >= _MOST * sum(not is_nothing(cell) for cell in self.cells)

    def unread(self, at: int, why: Unread) -> Numbers:
        """The column as one of numbers that are not read, for what one of its cells is."""
        return Numbers([None] * len(self.rows), (self.rows[at], self.cells[at]), why)

    def read(self, values: list[float | None], meaning: str = "") -> Numbers:
        """The column as these numbers, with the first of its holes."""
        at = next((k for k, value in enumerate(values) if value is None), None)
        return Numbers(values, None if at is None else (self.rows[at], self.cells[at]), meaning=meaning)


def numbers_in(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Numbers]:
    """The columns of numbers: those where most of what is written are numbers, or look like some."""
    columns = {name: _cells(rows, name) for name in names}
    comma = any(each.signs.sure == {","} and each.are_most(each.signs.numbers) for each in columns.values())
    read = {name: _numbers(column, comma) for name, column in columns.items()}
    return {name: numbers for name, numbers in read.items() if numbers is not None}


def _cells(rows: Sequence[Row], name: str) -> _Cells:
    cells = [row.fields.get(name) for row in rows]
    texts = [written(cell) if isinstance(cell, str) else None for cell in cells]
    return _Cells(rows, cells, texts, signs_of(each.text for each in texts if each is not None))


def _numbers(column: _Cells, comma: bool) -> Numbers | None:
    sign = column.signs.decimal(comma)
    if sign is None:
        others = sum(_number(column, k, ".") is not None for k, text in enumerate(column.written) if text is None)
        found = column.signs.numbers + others
        return column.unread(_unclear_cell(column), _NO_DECIMAL) if column.are_most(found) else _look_alike(column)
    values = [_number(column, k, sign) for k in range(len(column.cells))]
    if not column.are_most(sum(value is not None for value in values)):
        return _flags(column) or _look_alike(column)
    return _in_one_unit(column, values)


def _unclear_cell(column: _Cells) -> int:
    """A cell that shows the trouble: one with a comma, if there is one."""
    texts = ["" if each is None or not signs_of([each.text]).numbers else each.text for each in column.written]
    marked = [k for k, text in enumerate(texts) if set(text) & {",", "."}]
    return next((k for k in marked if "," in texts[k]), marked[0])


def _number(column: _Cells, k: int, sign: str) -> float | None:
    text = column.written[k]
    return as_number(column.rows[k], column.cells[k]) if text is None else decimal_number(text.text, sign)


def _in_one_unit(column: _Cells, values: list[float | None]) -> Numbers:
    """The numbers of a column that has one unit at most; per cent are hundredths, as in spreadsheets."""
    units = [
        None if value is None else each.unit if each else "" for value, each in zip(values, column.written, strict=True)
    ]
    unit = next(filter(None, units), "")
    # A price needs no sign, and zero no unit; but 0.3 among per cent may be 30 of them.
    other = next(
        (k for k, each in enumerate(units) if each not in (None, unit) and (each or (unit == PERCENT and values[k]))),
        None,
    )
    if other is not None:
        return column.unread(
            other, Unread(f"and other cells of this column have {unit!r}", "write its numbers in one unit")
        )
    if unit != PERCENT:
        return column.read(values)
    first = units.index(unit)
    hundredths = [None if value is None else value / 100.0 for value in values]
    return column.read(hundredths, f"is in per cent: {shown(column.cells[first])} is read as {hundredths[first]}")


def _flags(column: _Cells) -> Numbers | None:
    """A column of nothing but TRUE and FALSE, or yes and no."""
    words = [None if is_nothing(cell) else str(cell).strip().casefold() for cell in column.cells]
    said = set(words) - {None}
    pair = next((pair for pair in FLAGS if said and said <= set(pair)), None)
    if pair is None:
        return None
    values = [None if word is None else float(word == pair[0]) for word in words]
    return column.read(values, f"says {pair[0]} or {pair[1]}, which are read as 1 and 0")


def _look_alike(column: _Cells) -> Numbers | None:
    """A column that mostly looks like numbers, as (3) does, which may be 3 and may be -3."""
    looks = [isinstance(cell, str) and bool(signs_of([core(cell).text]).numbers) for cell in column.cells]
    if not column.are_most(sum(looks)):
        return None
    plain = [each is not None and bool(signs_of([each.text]).numbers) for each in column.written]
    at = next((k for k, look in enumerate(looks) if look and not plain[k]), looks.index(True))
    return column.unread(at, _LOOKS_LIKE_ONE)


def given_features(rows: Sequence[Row]) -> NDArray[np.float64] | None:
    """Features that the file has: a list of numbers for each arm, all of one length; None where no arm has any."""
    lists = [_listed(row) for row in rows]
    if not any(lists):
        return None
    sizes = {len(each or ()) for each in lists}
    if len(sizes) > 1:
        least = next(row for row, each in zip(rows, lists, strict=True) if len(each or ()) == min(sizes))
        raise InvalidInput(
            f"There are arms of {min(sizes)} and of {max(sizes)} features ({least.where} has {min(sizes)}).",
            "Give all the same.",
        )
    return np.array([_checked(row, each or []) for row, each in zip(rows, lists, strict=True)], np.float64)


def _listed(row: Row) -> list[Any] | None:
    """The list of a row; that of a table is JSON in a text."""
    found = row.fields.get(GIVEN)
    if isinstance(found, str) and found.strip().startswith("["):
        try:
            found = json.loads(found)
        except ValueError as error:
            raise InvalidInput(f"{row.where}: features are {shown(found)}.", "Give a list, as [0.5, 2].") from error
    if isinstance(found, list):
        return found or None
    if is_nothing(found):
        return None
    if as_number(row, found) is not None:
        return None  # a column of numbers that happens to have this name
    raise InvalidInput(f"{row.where} has features that are no list, {shown(found)}.", "Give a list, as [0.5, 2].")


def _checked(row: Row, values: list[Any]) -> list[float]:
    found = [as_number(row, value) for value in values]
    wrong = next((value for value, number in zip(values, found, strict=True) if number is None), None)
    if None in found:
        raise InvalidInput(f"{row.where}: a feature is {shown(wrong)}.", "Give a number.")
    return [number for number in found if number is not None]
