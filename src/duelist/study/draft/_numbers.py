"""Numbers that a file has of its arms: columns of them, with or without holes, or a list of them for each arm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.study.draft._decimals import Signs, decimal_number, signs_of
from duelist.study.formats.fields import as_number
from duelist.study.formats.files import Row, shown

GIVEN: Final = "features"
"""The field that holds a list of numbers for each arm."""
_NOTHING: Final = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "."])
"""What people and programs write where they have no number."""
_MOST: Final = 0.5


class Numbers(NamedTuple):
    """A column of numbers; None where a cell has none, and the first row and cell of those."""

    values: list[float | None]
    hole: tuple[Row, Any] | None
    unclear: bool = False
    """Whether there are numbers, and it is their decimal sign that is not clear."""

    @property
    def whole(self) -> bool:
        """Whether every arm has its number."""
        return self.hole is None

    def describe(self, name: str) -> str:
        """Which cell has no number, in words."""
        if self.hole is None:
            return f"the column {name!r} has a number in every row"
        row, cell = self.hole
        if self.unclear:
            return f"{row.where}: {name!r} is {shown(cell)}, and nothing says whether comma or point is the decimal sign of this column"
        what = "is empty" if is_nothing(cell) else f"is {shown(cell)}"
        more = sum(value is None for value in self.values) - 1
        others = "" if not more else f", and {more} more of its cells {'has' if more == 1 else 'have'} no number"
        return f"{row.where}: {name!r} {what}{others}"

    @property
    def way_out(self) -> str:
        """What to do with a column that is not whole."""
        return "write its numbers with one decimal sign and nothing between thousands" if self.unclear else "fill it in"


def is_nothing(cell: Any) -> bool:
    """Whether a cell is empty, or says that there is nothing to say."""
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in _NOTHING)


def numbers_in(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Numbers]:
    """The columns of numbers: those where most of what is written are numbers."""
    cells = {name: [row.fields.get(name) for row in rows] for name in names}
    if not any(row.decimal_comma for row in rows):
        return {name: found for name in names if (found := _numbers(rows, cells[name], None)) is not None}
    signs = {name: signs_of(column) for name, column in cells.items()}
    comma = any(each.sure == {","} and _are_most(each.numbers, cells[name]) for name, each in signs.items())
    read = {name: _numbers(rows, cells[name], signs[name], comma) for name in names}
    return {name: numbers for name, numbers in read.items() if numbers is not None}


def _numbers(rows: Sequence[Row], cells: Sequence[Any], signs: Signs | None, comma: bool = False) -> Numbers | None:
    sign = signs.decimal(comma) if signs is not None else None
    if signs is not None and sign is None:
        return _unclear(rows, cells) if _are_most(signs.numbers, cells) else None
    values = [_number(row, cell, sign) for row, cell in zip(rows, cells, strict=True)]
    if not _are_most(sum(value is not None for value in values), cells):
        return None
    at = next((k for k, value in enumerate(values) if value is None), None)
    return Numbers(values, None if at is None else (rows[at], cells[at]))


def _unclear(rows: Sequence[Row], cells: Sequence[Any]) -> Numbers:
    marked = [
        k
        for k, cell in enumerate(cells)
        if isinstance(cell, str) and signs_of([cell]).numbers and set(cell) & {",", "."}
    ]
    at = next((k for k in marked if "," in cells[k]), marked[0])
    return Numbers([None] * len(rows), (rows[at], cells[at]), unclear=True)


def _number(row: Row, cell: Any, sign: str | None) -> float | None:
    return decimal_number(cell, sign) if sign is not None and isinstance(cell, str) else as_number(row, cell)


def _are_most(found: int, cells: Sequence[Any]) -> bool:
    return found > 0 and found >= _MOST * sum(not is_nothing(cell) for cell in cells)


def given_features(rows: Sequence[Row]) -> NDArray[np.float64] | None:
    """Features that the file has: a list of numbers for each arm, all of one length; None where no arm has any."""
    lists = [_listed(row) for row in rows]
    if not any(lists):
        return None
    sizes = {len(each or ()) for each in lists}
    if len(sizes) > 1:
        least = next(row for row, each in zip(rows, lists, strict=True) if len(each or ()) == min(sizes))
        raise InvalidInput(
            f"there are arms of {min(sizes)} and of {max(sizes)} features ({least.where} has {min(sizes)}); give all the same"
        )
    return np.array([_checked(row, each or []) for row, each in zip(rows, lists, strict=True)], np.float64)


def _listed(row: Row) -> list[Any] | None:
    """The list of a row; that of a table is JSON in a text."""
    found = row.fields.get(GIVEN)
    if isinstance(found, str) and found.strip().startswith("["):
        try:
            found = json.loads(found)
        except ValueError as error:
            raise InvalidInput(f"{row.where}: features are {shown(found)}; give a list, as [0.5, 2]") from error
    if isinstance(found, list):
        return found or None
    if is_nothing(found):
        return None
    if as_number(row, found) is not None:
        return None  # a column of numbers that happens to have this name
    raise InvalidInput(f"{row.where} has features that are no list, {shown(found)}; give a list, as [0.5, 2]")


def _checked(row: Row, values: list[Any]) -> list[float]:
    found = [as_number(row, value) for value in values]
    wrong = next((value for value, number in zip(values, found, strict=True) if number is None), None)
    if None in found:
        raise InvalidInput(f"{row.where}: a feature is {shown(wrong)}; give a number")
    return [number for number in found if number is not None]
