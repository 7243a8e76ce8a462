"""Read CSV files row by row, with errors that name the file and the line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from duelist.core.errors import InvalidInput


def records(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield rows of a CSV file with their line numbers; the named columns must exist."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not there.", "docs/guides/data.md says where it comes from.")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            found = ", ".join(reader.fieldnames or ()) or "none"
            raise InvalidInput(f"{path} has no column {missing[0]!r}.", f"Its columns are {found}.")
        for row in reader:
            yield reader.line_num, row


def whole_numbers(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield whole numbers from some columns of a CSV file."""
    for line, row in records(path, columns):
        try:
            yield tuple(int(row[c]) for c in columns)
        except (TypeError, ValueError) as error:
            values = ", ".join(f"{c} {row[c]!r}" for c in columns)
            raise InvalidInput(f"{path}, line {line}: {values}.", "Each must be a whole number.") from error


def texts(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the location of each row, and the texts of some of its columns."""
    for line, row in records(path, columns):
        where = f"{path}, line {line}"
        missing = [c for c in columns if row[c] is None]
        if missing:
            raise InvalidInput(f"{where} ends before {missing[0]!r}.", "Give every column, if only an empty one.")
        yield where, tuple(row[c] for c in columns)


def positions(path: Path, column: str, ids: Sequence[int]) -> dict[int, int]:
    """Return the position of each id in the list; ids must be unique."""
    repeated = [event for k, event in enumerate(ids) if event in ids[:k]]
    if repeated:
        raise InvalidInput(f"{path} has {column} {repeated[0]} twice.", "Give each one row.")
    return {event: k for k, event in enumerate(ids)}


def check_known(path: Path, known: set[int], pairs: Sequence[tuple[int, ...]]) -> None:
    """Raise for votes on unknown items, and for votes on an item and itself."""
    for k, (a, b) in enumerate(pairs):
        if a not in known or b not in known:
            raise InvalidInput(
                f"{path}, vote {k + 1} is on {a} and {b}.", "One of them is not in the table of items beside it."
            )
        if a == b:
            raise InvalidInput(f"{path}, vote {k + 1} compares {a} with itself.", "Remove it.")
