"""Read and write Parquet, one batch of rows at a time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.core.files import atomic_write
from duelist.study.formats.files.json_records import RowWriter
from duelist.study.formats.files.row import Row, suffix_of

_BATCH: Final = 4096


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet by its name."""
    return suffix_of(path) == ".parquet"


def read_parquet(path: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file without its empty cells."""
    pyarrow = _pyarrow()
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for record in batch.to_pylist():
                    number += 1
                    fields = {name: value for name, value in record.items() if value is not None}
                    yield Row(f"{path.name}, row {number}", fields)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name} cannot be read as Parquet ({error}).", "Get a new copy of it.") from error


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    pyarrow = _pyarrow()
    try:
        return list(pyarrow.parquet.read_schema(path).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name} cannot be read as Parquet ({error}).", "Get a new copy of it.") from error


@contextmanager
def writing_parquet(path: Path, columns: Sequence[str] = ()) -> Iterator[RowWriter]:
    """Write a Parquet file with these columns and those of the rows; it appears when the block succeeds.

    The type of a column depends on all its values, so the rows wait in a temporary file until the last one is known.
    """
    pyarrow = _pyarrow()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:

        def write(fields: Mapping[str, Any]) -> None:
            json.dump(fields, waiting)
            waiting.write("\n")

        yield write
        try:
            _write_all(pyarrow, path, waiting, columns)
        except (pyarrow.ArrowException, UnicodeError) as error:
            raise InvalidInput(
                f"The votes do not fit into Parquet ({error}).", "Give values of one type in each column."
            ) from error


def _write_all(pyarrow: Any, path: Path, waiting: IO[str], columns: Sequence[str]) -> None:
    """Write the buffered rows, stored as JSON lines, to the Parquet file."""
    waiting.seek(0)
    schema = pyarrow.schema([pyarrow.field(name, pyarrow.null()) for name in columns])
    for records in _batches(waiting):
        schema = pyarrow.unify_schemas([schema, _schema_of(pyarrow, records)], promote_options="permissive")
    schema = pyarrow.schema([_as_text_if_empty(pyarrow, field) for field in schema])
    waiting.seek(0)
    with atomic_write(path) as file, pyarrow.parquet.ParquetWriter(file, schema) as table:
        for records in _batches(waiting):
            table.write_table(pyarrow.Table.from_pylist(records, schema=schema))


def _batches(lines: IO[str]) -> Iterator[list[dict[str, Any]]]:
    while part := list(islice(lines, _BATCH)):
        yield [json.loads(line) for line in part]


def _schema_of(pyarrow: Any, records: list[dict[str, Any]]) -> Any:
    """Return the schema of all columns of some records; Arrow itself sees only those of the first."""
    names = dict.fromkeys(name for record in records for name in record)
    types = {name: pyarrow.infer_type([record.get(name) for record in records]) for name in names}
    return pyarrow.schema(list(types.items()))


def _as_text_if_empty(pyarrow: Any, field: Any) -> Any:
    """Return a column without any value as one of texts, since other programs read no column without a type."""
    return field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field


def _pyarrow() -> Any:
    with needs_extra("experiments", "Parquet files"):
        import pyarrow as pa
        import pyarrow.parquet
    return pa
