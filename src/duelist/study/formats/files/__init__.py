"""Read tables (CSV, Excel), Parquet, JSON, JSON lines and plain text into rows.

Every reader yields `Row` values one at a time, so that memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from duelist.core.errors import InvalidInput
from duelist.study.formats.files.json_records import RowWriter, read_json, writing_json
from duelist.study.formats.files.parquet import is_parquet, read_parquet, writing_parquet
from duelist.study.formats.files.row import Row, suffix_of
from duelist.study.formats.files.tables import is_table, read_table, rename_fields

__all__ = ["Row", "is_table", "read_rows", "read_table", "suffix_of", "writing_records"]


def read_rows(
    path: Path, required: Sequence[str] = (), columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> Iterator[Row]:
    """Yield the rows of a table, of a Parquet file, or else of a JSON file.

    `columns` maps names of the format to names of the file.
    """
    if is_table(path):
        return read_table(path, required, columns, encoding)
    if encoding is not None:
        raise InvalidInput(
            f"encoding is {encoding!r}, but {path.name} is not a text table; JSON and Parquet are always UTF-8.",
            "Leave the encoding out.",
            field="encoding",
        )
    return rename_fields(path, read_parquet(path) if is_parquet(path) else read_json(path), columns)


def writing_records(path: Path) -> AbstractContextManager[RowWriter]:
    """Write records whose values may be lists and mappings: Parquet, a JSON array or JSON lines, by the file's name."""
    return writing_parquet(path) if is_parquet(path) else writing_json(path)
