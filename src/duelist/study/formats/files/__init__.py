"""Read tables (CSV, Excel), JSON, JSON lines and plain text into rows.

Every reader yields `Row` values one at a time, so that memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from duelist.core.errors import InvalidInput
from duelist.study.formats.files.json_records import read_json
from duelist.study.formats.files.row import Row, suffix_of
from duelist.study.formats.files.tables import is_table, read_table, rename_fields

__all__ = ["Row", "is_table", "read_rows", "read_table", "suffix_of"]


def read_rows(
    path: Path, required: Sequence[str] = (), columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> Iterator[Row]:
    """Yield the rows of a table, or else of a JSON file.

    `columns` maps names of the format to names of the file.
    """
    if is_table(path):
        return read_table(path, required, columns, encoding)
    if encoding is not None:
        raise InvalidInput(
            f"encoding is {encoding!r}, but {path.name} is not a table, and JSON is always UTF-8.",
            "Leave the encoding out.",
            field="encoding",
        )
    return rename_fields(path, read_json(path), columns)
