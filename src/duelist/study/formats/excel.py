"""Files of Excel: the lines of their first sheet, and what is to be said of the rest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.core.files import READ_ERRORS
from duelist.study.formats.json_records import shown

_NAMED: Final = 3
_FORMULA: Final = "f"
"""What openpyxl calls the type of a cell with a formula."""


def sheet_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of the first sheet of an Excel file that have content, as the texts that CSV would have."""
    width = 0
    with _opened(path) as book:
        for line, values in enumerate(_rows(book.worksheets[0]), start=1):
            cells = _without_end([_as_csv(value) for value in values])
            width = width or len(cells)
            if cells:
                _check_width(path, line, cells, width)
                yield line, cells + [""] * (width - len(cells))
        if not width and (others := _with_content(book.worksheets[1:])):
            raise InvalidInput(
                f"{path} has nothing in its first sheet, and only that one is read.",
                f"Move {others[0]!r} to the front.",
            )


def sheets_left_out(path: Path) -> list[str]:
    """A note on the sheets that have content and are not read."""
    with _opened(path) as book:
        first, others = book.worksheets[0].title, _with_content(book.worksheets[1:])
    if not others:
        return []
    named = ", ".join(map(repr, others[:_NAMED])) + (
        f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    )
    return [
        f"Only the first sheet, {first!r}, is read; left out: {named}. If they have arms, too, save each as a file of its own."
    ]


def formulas_without_values(path: Path) -> list[str]:
    """A note on formulas whose values a file does not have: programs write such files, and spreadsheets compute them when opened."""
    with _opened(path, values=False) as book, _opened(path) as computed:
        pairs = zip(_rows(book.worksheets[0], values_only=False), _rows(computed.worksheets[0]), strict=False)
        found = [(cell, value) for row, values in pairs for cell, value in _formulas(row, values)]
        # A formula may well come to nothing; where not one of them has a value, nobody has computed them.
        if not found or any(value is not None for _, value in found):
            return []
        columns = list(dict.fromkeys(cell.column_letter for cell, _ in found))
        first = found[0][0].coordinate
    where = f"column {columns[0]}" if len(columns) == 1 else f"columns {', '.join(columns)}"
    return [
        f"The file has formulas whose values are not stored ({where}, the first in {first}), so these cells are taken as empty. "
        "Open it in Excel or LibreOffice, save it, and give it again."
    ]


def _formulas(row: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The cells of a row that are formulas, with their values."""
    return ((cell, value) for cell, value in zip(row, values, strict=False) if cell.data_type == _FORMULA)


def _rows(sheet: Any, values_only: bool = True) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()  # what the file says of its size is wrong in those of some programs
    yield from sheet.iter_rows(values_only=values_only)


def _with_content(sheets: Sequence[Any]) -> list[str]:
    return [sheet.title for sheet in sheets if any(value is not None for row in _rows(sheet) for value in row)]


@contextmanager
def _opened(path: Path, values: bool = True) -> Iterator[Any]:
    """The file, with the values of its formulas or with the formulas."""
    with needs_extra("excel", f"the Excel file {path.name}"):
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    try:
        with closing(load_workbook(path, read_only=True, data_only=values)) as book:
            yield book
    except InvalidInput:
        raise
    except (*READ_ERRORS, IndexError, SyntaxError, InvalidFileException) as error:
        raise InvalidInput(
            f"{path} cannot be read as an Excel file ({error}).", "Save it again, or as CSV UTF-8."
        ) from error


def _without_end(cells: list[str]) -> list[str]:
    """The cells up to the last one that has content."""
    last = max((k for k, cell in enumerate(cells, start=1) if cell), default=0)
    return cells[:last]


def _check_width(path: Path, line: int, cells: Sequence[str], width: int) -> None:
    if len(cells) > width:
        raise InvalidInput(
            f"{path}, line {line} has {shown(cells[-1])} in a column without a name.", "Name that column."
        )


def _as_csv(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, (datetime, date)) else str(value)
