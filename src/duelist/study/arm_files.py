"""Arms from a file: JSON lines or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput

_NAMED: Final = ("id", "payload", "context")


class ArmFile(NamedTuple):
    """What `Study.add_arms` takes."""

    ids: list[str]
    features: NDArray[np.float32]
    payloads: list[Any]
    contexts: list[str | None]


def read_arms(path: Path) -> ArmFile:
    """Arms of a file.

    JSON lines: an object an arm, with `id`, `features` (a list of numbers) and, if you like, `payload` and `context`.
    CSV: a column `id`, columns `payload` and `context` if you like; every other column is a feature.
    """
    rows = list(_from_csv(path) if path.suffix.lower() == ".csv" else _from_jsonl(path))
    if not rows:
        raise InvalidInput(f"{path} has no arms; give one a line")
    sizes = {len(features) for _, features, _, _ in rows}
    if len(sizes) > 1:
        raise InvalidInput(f"{path} has arms of {min(sizes)} and of {max(sizes)} features; give all the same")
    ids, features, payloads, contexts = (list(column) for column in zip(*rows, strict=True))
    return ArmFile(ids, np.array(features, np.float32), payloads, contexts)


def _from_jsonl(path: Path) -> Iterator[tuple[str, list[float], Any, str | None]]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidInput(
                    f"{where} is not JSON ({error}); write an object an arm on a line of its own"
                ) from None
            if not isinstance(row, dict) or "id" not in row or not isinstance(row.get("features"), list):
                raise InvalidInput(f'{where} has no id or no list of features; write {{"id": ..., "features": [...]}}')
            context = row.get("context")
            features = [_number(value, where) for value in row["features"]]
            yield str(row["id"]), features, row.get("payload"), None if context is None else str(context)


def _from_csv(path: Path) -> Iterator[tuple[str, list[float], Any, str | None]]:
    with _opened(path) as file:
        table = csv.DictReader(file)
        if "id" not in (table.fieldnames or ()):
            raise InvalidInput(
                f"{path} has no column id; its columns are {', '.join(table.fieldnames or ()) or 'none'}"
            )
        for row in table:
            where = f"{path}, line {table.line_num}"
            features = [_number(value, where) for name, value in row.items() if name not in _NAMED]
            yield str(row["id"]), features, row.get("payload"), row.get("context") or None


def _opened(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}); give a file of arms") from error


def _number(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{where}: feature is {value!r}; give a number") from None
