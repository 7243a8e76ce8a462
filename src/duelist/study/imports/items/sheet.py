"""Read any supported file of items into columns and rows.

These are tables, JSON, JSON lines, and plain text with one item per line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats.files import Row, is_table, read_table, suffix_of
from duelist.study.formats.files.excel import find_uncomputed_formulas, find_unread_sheets
from duelist.study.formats.files.json_records import read_json, read_json_texts
from duelist.study.formats.files.row import open_text, read_lines
from duelist.study.formats.files.tables import MAX_COLUMNS, unnamed_columns
from duelist.study.imports.items.encodings import detect_encoding
from duelist.study.imports.notes import Note

TEXT: Final = "text"
"""The column of a file that has nothing but texts."""


class Sheet(NamedTuple):
    """The content of a file: column names in their order, and rows."""

    columns: list[str]
    rows: list[Row]
    encoding: str | None
    notes: list[Note]

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column, None where a row has none."""
        return [row.fields.get(column) for row in self.rows]


def read_sheet(path: Path, encoding: str | None = None) -> Sheet:
    """Read a file; its encoding is detected unless it is given."""
    suffix = suffix_of(path)
    if suffix == ".xlsx":
        sheet = _read_table(path, None)
        return sheet._replace(notes=[*sheet.notes, *_workbook_notes(path, sheet.rows)])
    chosen = encoding or detect_encoding(path)
    if is_table(path):
        return _read_table(path, chosen)
    if suffix in (".json", ".jsonl", ".ndjson"):
        texts = read_json_texts(path)
        return _sheet(read_json(path) if texts is None else _text_rows(path, "text", enumerate(texts, start=1)))
    if suffix == ".txt":
        with open_text(path, chosen) as file:
            lines = [(number, line.strip("\r\n")) for number, line in enumerate(read_lines(path, file), start=1)]
        rows = _text_rows(path, "line", ((number, line) for number, line in lines if line.strip()))
        return _sheet(rows, chosen, [Note("one_item_per_line")])
    raise InvalidInput(
        f"Files like {path.name} cannot be read.",
        "Give a file that ends in .csv, .tsv, .xlsx, .json, .jsonl or .txt, or images.",
    )


def _sheet(rows: Iterable[Row], encoding: str | None = None, notes: Iterable[Note] = ()) -> Sheet:
    all_rows = list(rows)
    columns = list(dict.fromkeys(name for row in all_rows for name in row.fields))
    if len(columns) > MAX_COLUMNS:
        raise InvalidInput(f"The file has {len(columns)} columns.", f"Give at most {MAX_COLUMNS}.")
    return Sheet(columns, all_rows, encoding, list(notes))


def _text_rows(path: Path, what: str, texts: Iterable[tuple[int, str]]) -> Iterable[Row]:
    return (Row(f"{path.name}, {what} {number}", {TEXT: text}) for number, text in texts)


def _read_table(path: Path, encoding: str | None) -> Sheet:
    sheet = _sheet(read_table(path, encoding=encoding, detect_header=True, noun="item"), encoding)
    if sheet.columns == unnamed_columns(len(sheet.columns)):
        return sheet._replace(notes=[Note("no_header")])
    if len(sheet.columns) == 1:
        return sheet._replace(notes=[Note("single_column", {"column": sheet.columns[0]})])
    if any(sheet.rows and sheet.rows[0].parse_number(name) is not None for name in sheet.columns):
        return sheet._replace(notes=[Note("uncertain_header", {"columns": sheet.columns})])
    return sheet


def _workbook_notes(path: Path, rows: list[Row]) -> list[Note]:
    """Return notes on what a workbook holds besides the rows that were read."""
    notes = []
    sheets = find_unread_sheets(path)
    if sheets.others:
        notes.append(Note("unread_sheets", {"sheet": sheets.first, "others": sheets.others}))
    has_empty_cells = any(cell == "" for row in rows for cell in row.fields.values())
    formulas = find_uncomputed_formulas(path) if has_empty_cells else None
    if formulas is not None:
        notes.append(Note("uncomputed_formulas", {"columns": formulas.columns, "cell": formulas.cell}))
    return notes
