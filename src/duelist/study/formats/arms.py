"""Arms from a file: JSON lines, a JSON array, or a table as spreadsheets save it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.study.formats.fields import as_number, optional_name
from duelist.study.formats.files import Row, read_json, shown
from duelist.study.formats.tables import is_table, read_table

_NAMED: Final = ("id", "payload", "context", "prompt")


class ArmFile(NamedTuple):
    """What `Study.add_arms` takes."""

    ids: list[str]
    features: NDArray[np.float32]
    payloads: list[Any]
    contexts: list[str | None]
    context_payloads: dict[str, Any]


def read_arms(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> ArmFile:
    """Arms of a file.

    JSON: an object an arm, with `id` and, if you like, `features` (a list of numbers), `payload`, `context`, and `prompt`: what
    the context is. A table (.csv, .tsv, .tab, .xlsx): a column `id`, columns `payload`, `context` and `prompt` if you like;
    every other column is a feature. All arms have features, or none has. `columns` says what a table calls these, as in
    `{"id": "name"}`, and `encoding` how it is written, if not as UTF-8.
    """
    if is_table(path):
        rows = list(map(_of_table, _checked(path, read_table(path, ("id",), columns, encoding))))
    elif columns or encoding:
        raise InvalidInput(f"columns and encoding are for tables, and {path} is none; leave them out")
    else:
        rows = list(map(_of_json, _checked(path, read_json(path))))
    sizes = {len(features) for _, features in rows}
    if len(sizes) > 1:
        raise InvalidInput(f"{path} has arms of {min(sizes)} and of {max(sizes)} features; give all the same")
    contexts = [optional_name(row, "context") for row, _ in rows]
    return ArmFile(
        ids=[str(row.fields["id"]) for row, _ in rows],
        features=np.array([features for _, features in rows], np.float32).reshape(len(rows), max(sizes)),
        payloads=[row.fields.get("payload") for row, _ in rows],
        contexts=contexts,
        context_payloads=_prompts(row for row, _ in rows),
    )


def _checked(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise InvalidInput(f"{path} has no arms; give one a line")


def _of_json(row: Row) -> tuple[Row, list[float]]:
    features = row.fields.get("features")
    if "id" not in row.fields or not isinstance(features, list | None):
        raise InvalidInput(
            f'{row.where} has no id, or features that are no list; write {{"id": ..., "features": [...]}}, or {{"id": ...}}'
        )
    return row, [_number(row, None, value) for value in features or ()]


def _of_table(row: Row) -> tuple[Row, list[float]]:
    known = {name: cell for name, cell in row.fields.items() if name in _NAMED and (cell != "" or name != "prompt")}
    features = [_number(row, name, cell) for name, cell in row.fields.items() if name not in _NAMED]
    return row._replace(fields=known), features


def _prompts(rows: Iterable[Row]) -> dict[str, Any]:
    prompts: dict[str, Any] = {}
    for row in rows:
        context, prompt = optional_name(row, "context"), row.fields.get("prompt")
        if prompt is None:
            continue
        if context is None:
            raise InvalidInput(f"{row.where} has a prompt, {shown(prompt)}, but no context; name the context it is of")
        if prompts.setdefault(context, prompt) != prompt:
            raise InvalidInput(
                f"{row.where}: prompt is {shown(prompt)}, but above context {context!r} is {shown(prompts[context])}; "
                "give a context one prompt"
            )
    return prompts


def _number(row: Row, name: str | None, value: Any) -> float:
    number = as_number(row, value)
    if number is None:
        which = "feature" if name is None else f"feature {name!r}"
        raise InvalidInput(f"{row.where}: {which} is {shown(value)}; give a number")
    return number
