"""Rows of tables, one at a time: CSV as RFC 4180 has it, and as spreadsheets save it; sheets of Excel; and CSV to write.

Between columns there may be commas, semicolons, tabs or bars: whichever gives the header the most columns. Where it is not
the comma, numbers may have one in place of the point. A byte-order mark, a first line `sep=;` and columns without a name
and without content are passed over.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.excel import sheet_lines
from duelist.study.formats.fields import as_number
from duelist.study.formats.json_records import Row, RowWriter, opened, packed, read_json, shown, suffix_of

Columns = Mapping[str, str]
"""Names of a format's fields, and what the file calls them."""

_TABLES: Final = (".csv", ".tsv", ".tab", ".xlsx")
_SHEET: Final = ".xlsx"
_TABBED: Final = (".tsv", ".tab")
_DELIMITERS: Final = ",;\t|"
_LARGEST_CELL: Final = 1 << 30
"""Answers can be longer than the 128 KiB that the csv module allows unless told otherwise."""
_HEAD: Final = 1 << 16
"""Characters within which a header ends."""
JSON_CELLS: Final = "json"
"""The column that says which cells of its row are JSON: what is no text, and the empty text, which no other cell can hold."""


# -- reading -----------------------------------------------------------------------------


def is_table(path: Path) -> bool:
    """Whether the name says that this is a table: .csv, .tsv, .tab (all also with .gz) or .xlsx."""
    return suffix_of(path) in _TABLES


def read_rows(
    path: Path, needed: Sequence[str] = (), columns: Columns | None = None, encoding: str | None = None
) -> Iterator[Row]:
    """Records of a table by its name, of JSON lines or a JSON array otherwise, with the format's names for the columns."""
    if is_table(path):
        return read_table(path, needed, columns, encoding)
    if encoding is not None:
        raise InvalidInput(
            f"encoding is {encoding!r}, but {path} is no table, and JSON is UTF-8.", "Leave it out.", field="encoding"
        )
    return _renamed(path, read_json(path), columns)


def read_table(
    path: Path,
    needed: Sequence[str] = (),
    columns: Columns | None = None,
    encoding: str | None = None,
    *,
    headless: bool = False,
    each: str = "comparison",
) -> Iterator[Row]:
    """Records of a table with a header, each with the cells that have content or a name; a cell may hold line ends.

    With `headless` a table whose first line is all numbers has no header, and its columns are called as `nameless` has it.
    What `each` of them is, is for messages.
    """
    if suffix_of(path) == _SHEET:
        lines = sheet_lines(path)
        yield from _records(path, _named(lines) if headless else lines, needed, columns, True, each)
        return
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))  # of the whole process: only ever raised
    with opened(path, encoding) as file:
        delimiter, skipped = _delimiter(file)
        comma = delimiter != ","
        lines = _csv_lines(path, file, delimiter, skipped)
        # Between commas, too, numbers may have one, in quotes.
        yield from _records(path, _named(lines) if headless else lines, needed, columns, comma, each)


def nameless(count: int) -> list[str]:
    """What the columns of a table without a header are called."""
    return [f"column {k}" for k in range(1, count + 1)]


def _named(lines: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """The lines with a header: the one that is there, or one made where the first line is all numbers."""
    number, first = next(lines, (0, None))
    if first is None:
        return
    if _all_numbers(first):
        yield number, nameless(len(first))
    yield number, first
    yield from lines


def _all_numbers(cells: Sequence[str]) -> bool:
    row = Row("", {}, decimal_comma=True)
    return bool(cells) and all(as_number(row, cell) is not None for cell in cells)


def _records(
    path: Path,
    lines: Iterator[tuple[int, list[str]]],
    needed: Sequence[str],
    columns: Columns | None,
    comma: bool,
    each: str,
) -> Iterator[Row]:
    _, names = next(lines, (0, None))
    if names is None:
        raise InvalidInput(f"{path} is empty.", f"Give a header and a row for each {each}.")
    names = _header(path, names, needed, columns or {})
    for line, cells in lines:
        if len(cells) != len(names):
            raise InvalidInput(
                f"{path}, line {line} has {len(cells)} cells, but the header has {len(names)}.",
                "Quote cells that hold a separator, a quote or a line end.",
            )
        nameless = next((cell for name, cell in zip(names, cells, strict=True) if cell and not name), None)
        if nameless is not None:
            raise InvalidInput(
                f"{path}, line {line} has {shown(nameless)} in a column without a name.", "Name that column."
            )
        fields = {name: cell for name, cell in zip(names, cells, strict=True) if name}
        yield _unpacked(Row(f"{path}, line {line}", fields, comma))


def _header(path: Path, found: list[str], needed: Sequence[str], columns: Columns) -> list[str]:
    """The names of the columns, those that were mapped under the format's name."""
    for ours, theirs in columns.items():
        if theirs not in found:
            raise InvalidInput(
                f"columns has {ours!r}: {theirs!r}, but {path} has no such column.",
                f"Its columns are {', '.join(found)}.",
                field="columns",
            )
    ours_of = {theirs: ours for ours, theirs in columns.items()}
    # A column that bears the name that another one was given keeps its content under a name of its own.
    names = [ours_of.get(name, f"{name} (column)" if name in columns else name) for name in found]
    missing = [name for name in needed if name not in names]
    if missing:
        raise InvalidInput(
            f"{path} has no column {missing[0]!r}.",
            f"Its columns are {', '.join(found)}. If one of them is meant, pass columns={{{missing[0]!r}: ...}}.",
            code="invalid_input.column_missing",
            column=missing[0],
            columns=", ".join(found),
        )
    repeated = [name for k, name in enumerate(names) if name and name in names[:k]]
    if repeated:
        raise InvalidInput(f"{path} has the column {repeated[0]!r} twice.", "Rename one of them.")
    return names


def _renamed(path: Path, rows: Iterator[Row], columns: Columns | None) -> Iterator[Row]:
    if not columns:
        yield from rows
        return
    unseen = dict(columns)
    known: set[str] = set()
    for row in rows:
        known.update(row.fields)
        moved = {ours: row.fields[theirs] for ours, theirs in columns.items() if theirs in row.fields}
        kept = {
            f"{name} (column)" if name in columns else name: value
            for name, value in row.fields.items()
            if name not in columns.values()
        }
        unseen = {ours: theirs for ours, theirs in unseen.items() if ours not in moved}
        yield row._replace(fields=kept | moved)
    if unseen and known:
        ours, theirs = next(iter(unseen.items()))
        raise InvalidInput(
            f"columns has {ours!r}: {theirs!r}, but the fields of {path} are {', '.join(sorted(known))}."
        )


def _delimiter(file: IO[str]) -> tuple[str, int]:
    """What stands between columns, and how many lines come before the header; the file is at its beginning again."""
    head = file.read(_HEAD)
    file.seek(0)
    first = head.splitlines()[0] if head else ""
    if len(first) == 5 and first.lower().startswith("sep="):
        return first[4], 1
    most, best = 0, ","
    for delimiter in _DELIMITERS:
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        cells = next((row for row in rows if any(cell.strip(_DELIMITERS) for cell in row)), [])
        if delimiter != "," and len(cells) > 1 and _all_numbers(cells):
            return delimiter, 0  # commas within are those of numbers
        if len(cells) > most:
            most, best = len(cells), delimiter
    return best, 0


def _csv_lines(path: Path, file: IO[str], delimiter: str, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """The lines that have content: a spreadsheet writes the others as `,,`."""
    reader = csv.reader(file, strict=True, delimiter=delimiter)
    line = 1
    try:
        for cells in reader:
            if line > skipped and any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{path} cannot be read as CSV ({error}).", "Save it as RFC 4180 has it.") from error


def _unpacked(row: Row) -> Row:
    """The cells that are said to be JSON as what they mean; a column of that name that says something else is kept."""
    said = row.fields.get(JSON_CELLS)
    if said is None:
        return row
    try:
        names = json.loads(said or "[]")
        values = {name: json.loads(row.fields[name]) for name in names}
    except (ValueError, TypeError, KeyError):
        return row
    others = {name: cell for name, cell in row.fields.items() if name != JSON_CELLS}
    return row._replace(fields=others | values, coded=frozenset(values))


# -- writing -----------------------------------------------------------------------------


@contextmanager
def writing_csv(path: Path, columns: Sequence[str]) -> Iterator[RowWriter]:
    """A writer of CSV (RFC 4180, UTF-8) with these columns, and of tabs between them by the file's name; None is an empty cell."""
    if suffix_of(path) == _SHEET:
        raise InvalidInput(f"{path} would be an Excel file, which is not written.", "Give a name that ends in .csv.")
    with packed(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\r\n", delimiter="\t" if suffix_of(path) in _TABBED else ",")
        table.writerow(columns)

        def write(fields: Mapping[str, Any]) -> None:
            try:
                table.writerow([_cell(fields.get(name)) for name in columns])
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"{shown(error.object)} has half a character (a lone surrogate).", "Remove it."
                ) from error

        yield write
        text.flush()
        text.detach()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value)


def is_plain(value: Any) -> bool:
    """Whether a cell holds this as it is: a text that is not empty."""
    return isinstance(value, str) and value != ""


def with_json_cells(record: dict[str, Any], contents: Iterable[str]) -> dict[str, Any]:
    """The record with the cells among `contents` that are no plain text as JSON, and the column that names them."""
    coded = [name for name in contents if name in record and not is_plain(record[name])]
    if not coded:
        return record
    return record | {name: as_json(record[name]) for name in coded} | {JSON_CELLS: as_json(coded)}


def as_json(value: Any) -> str:
    """A value as JSON in one cell."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{shown(value)} cannot be written into a cell ({error}).", "Give a text or JSON."
        ) from error
