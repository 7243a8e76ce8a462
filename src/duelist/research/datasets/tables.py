"""CSV files read row by row; what is wrong with one is said with its name and line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from duelist.core.errors import InvalidInput


def records(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file with their line numbers; the columns named must be there."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not there.", "Docs/data.md says where it comes from.")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            found = ", ".join(reader.fieldnames or ()) or "none"
            raise InvalidInput(f"{path} has no column {missing[0]!r}.", f"Its columns are {found}.")
        for row in reader:
            yield reader.line_num, row


def whole_numbers(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Whole numbers of some columns of a CSV file."""
    for line, row in records(path, columns):
        try:
            yield tuple(int(row[c]) for c in columns)
        except (TypeError, ValueError) as error:
            told = ", ".join(f"{c} {row[c]!r}" for c in columns)
            raise InvalidInput(f"{path}, line {line}: {told}.", "Each must be a whole number.") from error


def texts(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where each row is, and the texts of some columns of it."""
    for line, row in records(path, columns):
        where = f"{path}, line {line}"
        missing = [c for c in columns if row[c] is None]
        if missing:
            raise InvalidInput(f"{where} ends before {missing[0]!r}.", "Give every column, if only an empty one.")
        yield where, tuple(row[c] for c in columns)


def positions(path: Path, column: str, ids: Sequence[int]) -> dict[int, int]:
    """Where each id stands in the list; each may stand there once."""
    repeated = [event for k, event in enumerate(ids) if event in ids[:k]]
    if repeated:
        raise InvalidInput(f"{path} has {column} {repeated[0]} twice.", "Give each one row.")
    return {event: k for k, event in enumerate(ids)}


def check_known(path: Path, known: set[int], pairs: Sequence[tuple[int, ...]]) -> None:
    """Refuse votes on things that the table beside them does not have, and on one thing alone."""
    for k, (a, b) in enumerate(pairs):
        if a not in known or b not in known:
            raise InvalidInput(
                f"{path}, vote {k + 1} is on {a} and {b}.", "One of them is not in the table of items beside it."
            )
        if a == b:
            raise InvalidInput(f"{path}, vote {k + 1} compares {a} with itself.", "Remove it.")
