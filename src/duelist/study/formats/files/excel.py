"""Read the first sheet of an Excel file, and find what else the file holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.core.files import READ_ERRORS
from duelist.study.formats.files.row import shorten

MAX_UNPACKED_BYTES: Final = 128 * 2**20
"""Size of all parts of a workbook together."""
MAX_ROWS: Final = 2**20
"""Rows of a sheet in Excel. A damaged number of a row would give billions of empty ones."""
_FORMULA: Final = "f"
"""The `data_type` of a formula in openpyxl."""


def read_sheet_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbered rows of the first sheet that have content.

    Cells are texts as in CSV.
    """
    width = 0
    with _open_workbook(path) as book:
        for line, values in enumerate(_rows(book.worksheets[0]), start=1):
            cells = _trim([_cell_text(value) for value in values])
            width = width or len(cells)
            if cells:
                _check_width(path, line, cells, width)
                yield line, cells + [""] * (width - len(cells))
        if not width and (others := _sheets_with_content(book.worksheets[1:])):
            raise InvalidInput(
                f"{path.name} has nothing in its first sheet, and only that one is read.",
                f"Move {others[0]!r} to the front.",
            )


class UnreadSheets(NamedTuple):
    """The sheet that is read, and those that are not although they have content."""

    first: str
    others: list[str]


def find_unread_sheets(path: Path) -> UnreadSheets:
    """Return the name of the first sheet and of the others that have content."""
    with _open_workbook(path) as book:
        return UnreadSheets(book.worksheets[0].title, _sheets_with_content(book.worksheets[1:]))


class UncomputedFormulas(NamedTuple):
    """Columns with formulas that have no stored value, and the first such cell."""

    columns: list[str]
    cell: str


def find_uncomputed_formulas(path: Path) -> UncomputedFormulas | None:
    """Return the formulas whose values are not stored.

    A program that writes a workbook stores no values; a spreadsheet computes them when it opens the file.
    """
    with _open_workbook(path, values=False) as book, _open_workbook(path) as computed:
        pairs = zip(_rows(book.worksheets[0], values_only=False), _rows(computed.worksheets[0]), strict=False)
        found = [(cell, value) for row, values in pairs for cell, value in _formulas(row, values)]
        # A formula may well be empty; if not one of them has a value, the file was never computed.
        if not found or any(value is not None for _, value in found):
            return None
        columns = list(dict.fromkeys(cell.column_letter for cell, _ in found))
        return UncomputedFormulas(columns, found[0][0].coordinate)


def _formulas(row: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Return the formula cells of a row with their stored values."""
    return ((cell, value) for cell, value in zip(row, values, strict=False) if cell.data_type == _FORMULA)


def _rows(sheet: Any, values_only: bool = True) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()  # some programs store a wrong size
    for number, row in enumerate(sheet.iter_rows(values_only=values_only), start=1):
        if number > MAX_ROWS:
            raise InvalidInput(
                f"Sheet {sheet.title!r} has a row below row {MAX_ROWS:,}, the last one in Excel.",
                "Save it again, or as CSV UTF-8.",
            )
        yield row


def _sheets_with_content(sheets: Sequence[Any]) -> list[str]:
    return [sheet.title for sheet in sheets if any(value is not None for row in _rows(sheet) for value in row)]


@contextmanager
def _open_workbook(path: Path, values: bool = True) -> Iterator[Any]:
    """Open a workbook with the values of its formulas, or with the formulas."""
    with needs_extra("excel", f"the Excel file {path.name}"):
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    try:
        _check_size(path)
        with closing(load_workbook(path, read_only=True, data_only=values)) as book:
            yield book
    except InvalidInput:
        raise
    except (*READ_ERRORS, IndexError, SyntaxError, InvalidFileException) as error:
        raise InvalidInput(
            f"{path.name} cannot be read as an Excel file ({error}).", "Save it again, or as CSV UTF-8."
        ) from error


def _check_size(path: Path) -> None:
    """Raise for a workbook whose parts are very large: a file of 1 MB can hold gigabytes."""
    with ZipFile(path) as parts:
        size = sum(part.file_size for part in parts.infolist())  # no more of a part is ever unpacked
    if size > MAX_UNPACKED_BYTES:
        raise InvalidInput(
            f"{path.name} has {size / 2**20:.0f} MiB when it is unpacked.",
            f"Give at most {MAX_UNPACKED_BYTES // 2**20} MiB, or save it as CSV.",
        )


def _trim(cells: list[str]) -> list[str]:
    """Return the cells up to the last one that has content."""
    last = max((k for k, cell in enumerate(cells, start=1) if cell), default=0)
    return cells[:last]


def _check_width(path: Path, line: int, cells: Sequence[str], width: int) -> None:
    if len(cells) > width:
        raise InvalidInput(
            f"{path.name}, line {line} has {shorten(cells[-1])} in a column without a name.", "Name that column."
        )


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, (datetime, date)) else str(value)
