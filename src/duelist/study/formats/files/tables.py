"""Read tables (CSV, Excel, Parquet) row by row, and write CSV and Parquet.

The delimiter is whichever of comma, semicolon, tab and bar splits the header into the most columns. Byte-order marks, a
first line `sep=;`, and empty columns without a name are skipped.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats.files.excel import read_sheet_lines
from duelist.study.formats.files.json_records import RowWriter, replacing_gzip
from duelist.study.formats.files.parquet import is_parquet, parquet_columns, read_parquet, writing_parquet
from duelist.study.formats.files.row import Row, open_text, read_lines, shorten, suffix_of

_EXCEL: Final = ".xlsx"
_TAB_SEPARATED: Final = (".tsv", ".tab")
_SUFFIXES: Final = (".csv", *_TAB_SEPARATED, _EXCEL)
_DELIMITERS: Final = ",;\t|"
_LARGEST_CELL: Final = 1 << 26
"""The csv module allows 128 KiB by default, and texts can be longer."""
MAX_COLUMNS: Final = 2000
_FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet computes a cell that starts with one of these; some also take the full-width forms."""
_HEADER_LENGTH: Final = 1 << 16
"""Characters within which a header must end."""
JSON_CELLS: Final = "json"
"""The column that names the cells of a row that hold JSON: values that are not text, and the empty text."""


# -- reading -----------------------------------------------------------------------------


def is_table(path: Path) -> bool:
    """Return whether a file is a table by its name.

    Tables end in .csv, .tsv or .tab, which .gz may follow, or in .xlsx.
    """
    return suffix_of(path) in _SUFFIXES


def read_table(
    path: Path,
    required: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    *,
    detect_header: bool = False,
    noun: str = "comparison",
    other_names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Row]:
    """Yield the rows of a table, without empty cells of unnamed columns.

    Parameters
    ----------
    path
        The file.
    required
        Columns that must be there.
    columns
        Maps names of the format to names of the file.
    encoding
        The encoding of a text file; default: by its byte-order mark, or UTF-8.
    detect_header
        Whether a first line of nothing but numbers is a row, so that the columns are named by `unnamed_columns`.
    noun
        What a row describes, for messages.
    other_names
        Other names, in order of preference, for columns that the file does not have; upper and lower case are the same.
    """
    header = _Header(path, required, columns or {}, other_names or {})
    if suffix_of(path) == _EXCEL:
        lines = read_sheet_lines(path)
        yield from _parse(path, _with_header(lines) if detect_header else lines, header, True, noun)
        return
    if is_parquet(path):
        names = parquet_columns(path)
        _map_header(header, names)
        yield from map(_decode_json_cells, rename_fields(path, read_parquet(path), header.completed(names)))
        return
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))  # global to the process, so it is only ever raised
    with open_text(path, encoding) as file:
        delimiter, skipped = _detect_delimiter(file)
        lines = _csv_lines(path, file, delimiter, skipped)
        has_decimal_comma = delimiter != ","
        yield from _parse(path, _with_header(lines) if detect_header else lines, header, has_decimal_comma, noun)


def unnamed_columns(count: int) -> list[str]:
    """Return the names given to the columns of a table without a header."""
    return [f"column {k}" for k in range(1, count + 1)]


def _with_header(lines: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Prepend a header if the first line is nothing but numbers."""
    number, first = next(lines, (0, None))
    if first is None:
        return
    if _are_numbers(first):
        yield number, unnamed_columns(len(first))
    yield number, first
    yield from lines


def _are_numbers(cells: Sequence[str]) -> bool:
    row = Row("", {}, decimal_comma=True)
    return bool(cells) and all(row.parse_number(cell) is not None for cell in cells)


def _parse(
    path: Path,
    lines: Iterator[tuple[int, list[str]]],
    wanted: _Header,
    decimal_comma: bool,
    noun: str,
) -> Iterator[Row]:
    _, header = next(lines, (0, None))
    if header is None:
        raise InvalidInput(f"{path.name} is empty.", f"Give a header, and one row per {noun}.")
    names = _map_header(wanted, header)
    are_named = all(names)
    for line, written in lines:
        cells = [unescape_formula(cell) if cell.startswith("'") else cell for cell in written]
        where = f"{path.name}, line {line}"
        if len(cells) != len(names):
            raise InvalidInput(
                f"{where} has {len(cells)} cells, but the header has {len(names)}.",
                "Quote cells that contain a delimiter, a quote or a line break.",
            )
        fields = dict(zip(names, cells, strict=True))
        if not are_named:
            unnamed = next((cell for name, cell in zip(names, cells, strict=True) if cell and not name), None)
            if unnamed is not None:
                raise InvalidInput(f"{where} has {shorten(unnamed)} in a column without a name.", "Name that column.")
            del fields[""]
        yield _decode_json_cells(Row(where, fields, decimal_comma))


class _Header(NamedTuple):
    """What a reader wants of the header of a file; see `read_table`."""

    path: Path
    required: Sequence[str]
    columns: Mapping[str, str]
    other_names: Mapping[str, Sequence[str]]

    def completed(self, header: Sequence[str]) -> Mapping[str, str]:
        """Return the mapped columns, and those that have one of the other names."""
        by_lower = {name.strip().casefold(): name for name in reversed(header)}
        found = dict(self.columns)
        for ours, others in self.other_names.items():
            if ours in header or ours in found:
                continue
            names = (by_lower[each] for each in (ours, *others) if each in by_lower)
            theirs = next((name for name in names if name not in found.values()), None)
            if theirs is not None:
                found[ours] = theirs
        return found


def _map_header(wanted: _Header, header: list[str]) -> list[str]:
    """Return the column names, with mapped columns under the names of the format."""
    path, required = wanted.path, wanted.required
    if len(header) > MAX_COLUMNS:
        raise InvalidInput(f"{path.name} has {len(header)} columns.", f"Give at most {MAX_COLUMNS}.")
    header = [unescape_formula(name) for name in header]
    columns = wanted.completed(header)
    for ours, theirs in columns.items():
        if theirs not in header:
            raise _no_such_column(path, ours, theirs, header)
    ours_of = {theirs: ours for ours, theirs in columns.items()}
    # If another column was mapped to a name that the file uses too, the file's own column is kept under a longer name.
    names = [ours_of.get(name, f"{name} (column)" if name in columns else name) for name in header]
    missing = next((name for name in required if name not in names), None)
    if missing is not None:
        listed = ", ".join(header)
        raise InvalidInput(
            f"{path.name} has no column {missing!r}.",
            f"Its columns are {listed}. If one of them is meant, pass columns={{{missing!r}: ...}}.",
            code="invalid_input.column_missing",
            column=missing,
            columns=listed,
        )
    repeated = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if repeated is not None:
        raise InvalidInput(f"{path.name} has the column {repeated!r} twice.", "Rename one of them.")
    return names


def rename_fields(path: Path, rows: Iterator[Row], columns: Mapping[str, str] | None) -> Iterator[Row]:
    """Yield JSON rows with mapped fields under the names of the format."""
    if not columns:
        yield from rows
        return
    missing = dict(columns)
    names: set[str] = set()
    for row in rows:
        names.update(row.fields)
        mapped = {ours: row.fields[theirs] for ours, theirs in columns.items() if theirs in row.fields}
        others = {
            f"{name} (column)" if name in columns else name: value
            for name, value in row.fields.items()
            if name not in columns.values()
        }
        missing = {ours: theirs for ours, theirs in missing.items() if ours not in mapped}
        yield row._replace(fields=others | mapped)
    if missing and names:
        raise _no_such_column(path, *next(iter(missing.items())), sorted(names))


def _no_such_column(path: Path, ours: str, theirs: str, names: Sequence[str]) -> InvalidInput:
    return InvalidInput(
        f"columns maps {ours!r} to {theirs!r}, but {path.name} has no such column.",
        f"Its columns are {', '.join(names)}.",
        field="columns",
    )


def _detect_delimiter(file: IO[str]) -> tuple[str, int]:
    """Return the delimiter and the number of lines before the header."""
    head = file.read(_HEADER_LENGTH)
    file.seek(0)
    first = head.splitlines()[0] if head else ""
    if len(first) == 5 and first.lower().startswith("sep="):
        return first[4], 1
    most, best = 0, ","
    for delimiter in _DELIMITERS:
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        cells = next((row for row in rows if any(cell.strip(_DELIMITERS) for cell in row)), [])
        if delimiter != "," and len(cells) > 1 and _are_numbers(cells):
            return delimiter, 0  # the commas are decimal commas
        if len(cells) > most:
            most, best = len(cells), delimiter
    return best, 0


def _csv_lines(path: Path, file: IO[str], delimiter: str, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that have content: spreadsheets write blank lines as `,,`."""
    reader = csv.reader(read_lines(path, file), strict=True, delimiter=delimiter)
    line = 1
    try:
        for cells in reader:
            if line > skipped and any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{path.name} cannot be read as CSV ({error}).", "Save it as RFC 4180 requires.") from error


def _decode_json_cells(row: Row) -> Row:
    """Decode the cells that the column `json` names.

    A column of that name with other content is kept as it is.
    """
    listed = row.fields.get(JSON_CELLS)
    if listed is None:
        return row
    try:
        names = json.loads(listed or "[]")
        values = {name: json.loads(row.fields[name]) for name in names}
    except (ValueError, TypeError, KeyError, RecursionError):
        return row
    others = {name: cell for name, cell in row.fields.items() if name != JSON_CELLS}
    return row._replace(fields=others | values, json_cells=frozenset(values))


# -- writing -----------------------------------------------------------------------------


@contextmanager
def writing_csv(path: Path, columns: Sequence[str]) -> Iterator[RowWriter]:
    """Write CSV (RFC 4180, UTF-8), or tab-separated values or Parquet if the name says so.

    A value of None becomes an empty cell.
    """
    if suffix_of(path) == _EXCEL:
        raise InvalidInput("Excel files cannot be written.", "Give a name that ends in .csv.", field="path")
    if is_parquet(path):
        with writing_parquet(path, columns) as writer:
            yield writer
        return
    with replacing_gzip(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        delimiter = "\t" if suffix_of(path) in _TAB_SEPARATED else ","
        table = csv.writer(text, lineterminator="\r\n", delimiter=delimiter)
        table.writerow([_cell(name) for name in columns])

        def write(fields: Mapping[str, Any]) -> None:
            try:
                table.writerow([_cell(fields.get(name)) for name in columns])
            except UnicodeEncodeError as error:
                raise InvalidInput(f"{shorten(error.object)} has an unpaired surrogate.", "Remove it.") from error

        yield write
        text.flush()
        text.detach()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return escape_formula(value) if isinstance(value, str) else to_json(value)


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before it, as people write it.

    >>> [escape_formula(text) for text in ("=1+1", "'=1+1", "plain")]
    ["'=1+1", "''=1+1", 'plain']
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA_SIGNS) else text


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_SIGNS) else cell


def fits_cell(value: Any) -> bool:
    """Return whether a cell can hold this value as it is: a text that is not empty."""
    return isinstance(value, str) and value != ""


def encode_json_cells(record: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Encode the named cells that need it as JSON, and list them in a column."""
    encoded = [name for name in names if name in record and not fits_cell(record[name])]
    if not encoded:
        return record
    return record | {name: to_json(record[name]) for name in encoded} | {JSON_CELLS: to_json(encoded)}


def to_json(value: Any) -> str:
    """Return a value as JSON for one cell."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{shorten(value)} cannot be written into a cell ({error}).", "Give a text, or something JSON can hold."
        ) from error
