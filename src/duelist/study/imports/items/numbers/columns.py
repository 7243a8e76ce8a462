"""Parse columns of numbers, complete or not, and lists of features."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats.files import Row
from duelist.study.formats.files.row import shorten
from duelist.study.imports.items.numbers.decimal_sign import DecimalSigns, find_decimal_signs, parse_decimal
from duelist.study.imports.items.numbers.number_text import (
    FLAGS,
    PERCENT,
    NumberText,
    strip_modifiers,
    strip_number,
)
from duelist.study.imports.notes import Note

FEATURE_LISTS: Final = "features"
"""The field that holds a list of features."""
_MISSING: Final = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "."])
"""What people and programs write for a missing value."""
_MAJORITY: Final = 0.5


@dataclass(frozen=True, slots=True)
class ColumnProblem:
    """Why a column of numbers cannot be a feature."""

    column: str
    kind: str
    where: str
    cell: str
    others: int = 0
    """Further cells with this problem."""
    unit: str = ""
    """The unit of the other cells of a column with mixed units."""

    def __str__(self) -> str:
        return f"{self.where}: {self.column!r} {self._problem()}"

    def _problem(self) -> str:
        if self.kind == "unclear_decimal_sign":
            return f"is {self.cell}, and no cell shows whether comma or point is the decimal sign of this column"
        if self.kind == "ambiguous_number":
            return f"is {self.cell}, which looks like a number but may mean something else"
        if self.kind == "mixed_units":
            return f"is {self.cell}, and other cells of this column have {self.unit!r}"
        what = "is empty" if self.kind == "empty_cell" else f"is {self.cell}, which is not a number"
        if not self.others:
            return what
        return f"{what}, and {self.others} more {'cell has' if self.others == 1 else 'cells have'} no number"

    @property
    def remedy(self) -> str:
        """What to do about it, as an imperative without a period."""
        return _REMEDIES[self.kind]


_REMEDIES: Final = {
    "unclear_decimal_sign": "write its numbers with one decimal sign and without thousands separators",
    "ambiguous_number": "write its numbers as plain digits",
    "mixed_units": "write its numbers in one unit",
    "empty_cell": "fill it in",
    "missing_value": "fill it in",
    "not_a_number": "correct it",
}


class NumberColumn(NamedTuple):
    """A column of numbers, or the reason why it is not one."""

    values: list[float]
    problem: ColumnProblem | None = None
    note: Note | None = None
    """How its cells were interpreted, where they are not plain numbers."""

    @property
    def is_complete(self) -> bool:
        """Whether every row has a number."""
        return self.problem is None


def is_empty(cell: Any) -> bool:
    """Return whether a cell is blank."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def is_missing(cell: Any) -> bool:
    """Return whether a cell is blank or says that there is no value."""
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in _MISSING)


class _Cells(NamedTuple):
    """The cells of a column, with stripped texts and possible decimal signs."""

    name: str
    rows: Sequence[Row]
    cells: list[Any]
    texts: list[NumberText | None]
    signs: DecimalSigns

    def is_majority(self, count: int) -> bool:
        """Return whether this is a majority of the cells that are not missing."""
        return count > 0 and count >= _MAJORITY * sum(not is_missing(cell) for cell in self.cells)

    def fail(self, at: int, kind: str, others: int = 0, unit: str = "") -> NumberColumn:
        """Return the column without values, with a problem in this cell."""
        return NumberColumn(
            [], ColumnProblem(self.name, kind, self.rows[at].where, shorten(self.cells[at]), others, unit)
        )

    def succeed(self, values: list[float | None], note: Note | None = None) -> NumberColumn:
        """Return the column with these values, or with a problem if one is missing."""
        holes = [k for k, value in enumerate(values) if value is None]
        if not holes:
            return NumberColumn([value or 0.0 for value in values], note=note)
        cell = self.cells[holes[0]]
        kind = "empty_cell" if is_empty(cell) else "missing_value" if is_missing(cell) else "not_a_number"
        return self.fail(holes[0], kind, others=len(holes) - 1)


def parse_number_columns(rows: Sequence[Row], names: Sequence[str]) -> dict[str, NumberColumn]:
    """Return the columns of which most cells are numbers, or look like numbers."""
    columns = [_read_cells(rows, name) for name in names]
    uses_comma = any(each.signs.certain == {","} and each.is_majority(each.signs.numbers) for each in columns)
    parsed = {each.name: _parse(each, uses_comma) for each in columns}
    return {name: column for name, column in parsed.items() if column is not None}


def _read_cells(rows: Sequence[Row], name: str) -> _Cells:
    cells = [row.fields.get(name) for row in rows]
    texts = [strip_number(cell) if isinstance(cell, str) else None for cell in cells]
    return _Cells(name, rows, cells, texts, find_decimal_signs(each.text for each in texts if each is not None))


def _parse(column: _Cells, others_use_comma: bool) -> NumberColumn | None:
    sign = column.signs.choose(others_use_comma)
    if sign is None:
        numbers = sum(_parse_cell(column, k, ".") is not None for k, text in enumerate(column.texts) if text is None)
        if column.is_majority(column.signs.numbers + numbers):
            return column.fail(_unclear_cell(column), "unclear_decimal_sign")
        return _ambiguous(column)
    values = [_parse_cell(column, k, sign) for k in range(len(column.cells))]
    if column.is_majority(sum(value is not None for value in values)):
        return _apply_unit(column, values)
    return _parse_flags(column) or _ambiguous(column)


def _unclear_cell(column: _Cells) -> int:
    """Return a cell whose decimal sign is unclear, preferably with a comma."""
    texts = ["" if each is None or not find_decimal_signs([each.text]).numbers else each.text for each in column.texts]
    with_sign = [k for k, text in enumerate(texts) if set(text) & {",", "."}]
    return next((k for k in with_sign if "," in texts[k]), with_sign[0])


def _parse_cell(column: _Cells, k: int, sign: str) -> float | None:
    text = column.texts[k]
    return column.rows[k].parse_number(column.cells[k]) if text is None else parse_decimal(text.text, sign)


def _apply_unit(column: _Cells, values: list[float | None]) -> NumberColumn:
    """Return a column that has at most one unit.

    Percentages are hundredths, as in spreadsheets.
    """
    units = [
        None if value is None else text.unit if text else "" for value, text in zip(values, column.texts, strict=True)
    ]
    unit = next(filter(None, units), "")
    # A price needs no symbol and zero no unit, but 0.3 among percentages may mean 30 %.
    other = next(
        (k for k, each in enumerate(units) if each not in (None, unit) and (each or (unit == PERCENT and values[k]))),
        None,
    )
    if other is not None:
        return column.fail(other, "mixed_units", unit=unit)
    if unit != PERCENT:
        return column.succeed(values)
    first = units.index(unit)
    hundredths = [None if value is None else value / 100.0 for value in values]
    example = {"cell": shorten(column.cells[first]), "value": hundredths[first]}
    return column.succeed(hundredths, Note("percent_column", {"column": column.name, **example}))


def _parse_flags(column: _Cells) -> NumberColumn | None:
    """Return a column of only TRUE and FALSE, or only yes and no, as 1 and 0."""
    words = [None if is_missing(cell) else str(cell).strip().casefold() for cell in column.cells]
    distinct = set(words) - {None}
    pair = next((pair for pair in FLAGS if distinct and distinct <= set(pair)), None)
    if pair is None:
        return None
    values = [None if word is None else float(word == pair[0]) for word in words]
    return column.succeed(values, Note("boolean_column", {"column": column.name, "one": pair[0], "zero": pair[1]}))


def _ambiguous(column: _Cells) -> NumberColumn | None:
    """Return a column of ambiguous numbers, such as (3), which may be 3 or -3."""
    looks = [
        isinstance(cell, str) and bool(find_decimal_signs([strip_modifiers(cell).text]).numbers)
        for cell in column.cells
    ]
    if not column.is_majority(sum(looks)):
        return None
    certain = [each is not None and bool(find_decimal_signs([each.text]).numbers) for each in column.texts]
    at = next((k for k, look in enumerate(looks) if look and not certain[k]), looks.index(True))
    return column.fail(at, "ambiguous_number")


# -- lists of features -------------------------------------------------------------------


def parse_feature_lists(rows: Sequence[Row]) -> list[list[float]] | None:
    """Return the list of features of each item, or None if no item has one."""
    lists = [_feature_list(row) for row in rows]
    if not any(lists):
        return None
    sizes = {len(each or ()) for each in lists}
    if len(sizes) > 1:
        shortest = next(row for row, each in zip(rows, lists, strict=True) if len(each or ()) == min(sizes))
        raise InvalidInput(
            f"Some items have {min(sizes)} features and others {max(sizes)} ({shortest.where} has {min(sizes)}).",
            "Give every item the same number of features.",
        )
    return [_parse_list(row, each or []) for row, each in zip(rows, lists, strict=True)]


def _feature_list(row: Row) -> list[Any] | None:
    """Return the list of a row; in a table it is JSON in a cell."""
    found = row.fields.get(FEATURE_LISTS)
    if isinstance(found, str) and found.strip().startswith("["):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{row.where}: features are {shorten(found)}.", "Give a list of numbers, such as [0.5, 2]."
            ) from error
    if isinstance(found, list):
        return found or None
    if is_missing(found) or row.parse_number(found) is not None:  # a number: a column that happens to have this name
        return None
    raise InvalidInput(
        f"{row.where}: features are {shorten(found)}, which is not a list.", "Give a list of numbers, such as [0.5, 2]."
    )


def _parse_list(row: Row, values: list[Any]) -> list[float]:
    numbers = [row.parse_number(value) for value in values]
    if None in numbers:
        wrong = values[numbers.index(None)]
        raise InvalidInput(f"{row.where}: a feature is {shorten(wrong)}.", "Give a number.")
    return [number for number in numbers if number is not None]
