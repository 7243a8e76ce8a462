"""Map columns of a file to the id, payload, context and prompt of its items.

Columns are recognized by their names first, then by their contents. Any of them can be mapped explicitly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.imports.items.numbers.columns import FEATURE_LISTS, NumberColumn, is_missing
from duelist.study.imports.items.sheet import Sheet

TARGETS: Final = ("id", "payload", "context", "prompt", "system", "category")
_NAMES: Final = {
    "id": ("id", "arm", "key", "name", "model", "item", "arm_id", "item_id", "identifier", "slug", "label",
        "nr", "no", "no.", "number", "#", "index", "row"),
    "payload": (
        "payload", "text", "answer", "response", "content", "caption", "output", "completion", "image", "picture", "photo",
        "audio", "video", "file", "filename", "path", "body", "headline", "title", "slogan", "sentence", "result",
    ),
    "prompt": ("prompt", "question", "instruction", "query", "task", "input"),
    "context": ("context", "group", "topic", "prompt_id", "question_id", "category"),
}  # fmt: skip
"""Names by which a column is recognized, in order of preference."""
CONTENT_NAMES: Final = _NAMES["payload"]
PROMPT_NAMES: Final = _NAMES["prompt"]
_CERTAIN_IDS: Final = ("id", "arm_id", "item_id", "identifier")
_LONGEST_ID: Final = 200
_DATE: Final = re.compile(
    r"\d{4}([-/.])\d\d?\1\d\d?([T ]\d.*)?|\d\d?([-/.])\d\d?\3\d{2,4}([T ]\d.*)?|\d\d?:\d\d(:\d\d(\.\d+)?)?"
)
"""Dates and times of day as programs write them."""
_EXAMPLES: Final = 3
_EXAMPLE_LENGTH: Final = 120


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file: its use, whether it is numeric, and its first cells."""

    name: str
    role: str
    numeric: bool
    examples: tuple[str, ...]


def map_columns(
    sheet: Sheet,
    given: Mapping[str, str | None],
    features: tuple[str, ...],
    numbers: Mapping[str, NumberColumn],
) -> tuple[list[FileColumn], dict[str, str]]:
    """Return the columns of a file with their roles, and the column of each target.

    `given` takes precedence over recognized columns, and None means that there is no such column. One column may have
    several targets if it was given so: a text that is also the id, a number that is also a feature. A numeric column
    becomes id or payload only by its name, or if it was given.
    """
    for target, name in given.items():
        if target not in TARGETS:
            raise InvalidInput(f"columns has {target!r}.", f"Map any of {', '.join(TARGETS)}.", field="columns")
        if name is not None and name not in sheet.columns:
            raise InvalidInput(
                f"columns.{target} is {name!r}, and the file has no such column.",
                f"Its columns are {', '.join(sheet.columns)}.",
                field=f"columns.{target}",
            )
    mapping = _recognize(sheet, given, features, numbers)
    target_of = {name: target for target, name in reversed(mapping.items())}
    columns = [
        FileColumn(
            name,
            "feature" if name in features else target_of.get(name, "other"),
            name in numbers and numbers[name].is_complete,
            examples_of(sheet, name),
        )
        for name in sheet.columns
    ]
    return columns, mapping


def _recognize(
    sheet: Sheet, given: Mapping[str, str | None], features: tuple[str, ...], numbers: Mapping[str, NumberColumn]
) -> dict[str, str]:
    mapping = {target: name for target, name in given.items() if name is not None}
    _check_complete(sheet, [mapping["id"]] if "id" in mapping else [])
    free = [name for name in sheet.columns if name not in (FEATURE_LISTS, *features, *mapping.values())]
    normalized = {name: normalize(name) for name in free}
    for target in ("id", "payload", "prompt", "context"):
        if target in given:
            continue
        candidates = [name for word in _NAMES[target] for name in free if normalized[name] == word]
        if target == "id":
            _check_complete(sheet, [name for name in candidates if normalized[name] in _CERTAIN_IDS])
        chosen = next((name for name in candidates if _is_possible(target, sheet, name)), None)
        if chosen is not None:
            mapping[target] = chosen
            free.remove(chosen)
    texts = [name for name in free if name not in numbers]
    if "payload" not in given and "payload" not in mapping:
        longest = _longest_text(sheet, [name for name in texts if not is_date(sheet, name)])
        if longest is None and mapping.get("id") in (None, *numbers):
            longest = _longest_text(sheet, texts)  # a date is better than nothing
        if longest is not None:
            mapping["payload"] = longest
            texts.remove(longest)
    if "id" not in given and "id" not in mapping:
        unique = next((name for name in texts if _could_be_id(sheet, name)), None)
        if unique is not None:
            mapping["id"] = unique
    return mapping


def is_recognized_by_name(target: str, column: str) -> bool:
    """Return whether the name of a column maps it to this target."""
    return normalize(column) in _NAMES[target]


def normalize(name: str) -> str:
    """Return the name of a column as it is recognized."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _is_possible(target: str, sheet: Sheet, name: str) -> bool:
    cells = sheet.cells(name)
    if target == "id":
        return all(cell not in (None, "") and len(str(cell)) <= _LONGEST_ID for cell in cells)
    return any(cell not in (None, "") for cell in cells)


def _could_be_id(sheet: Sheet, name: str) -> bool:
    cells = [str(cell) for cell in sheet.cells(name)]
    return _is_possible("id", sheet, name) and len(set(cells)) == len(cells) and not is_date(sheet, name)


def _check_complete(sheet: Sheet, names: list[str]) -> None:
    """Reject an id column with empty cells.

    Generated ids would differ from those in the next file.
    """
    for name in names:
        empty = [row for row in sheet.rows if row.fields.get(name) in (None, "")]
        if 0 < len(empty) < len(sheet.rows):
            more = f", and {len(empty) - 1} more of its cells are" if len(empty) > 1 else ""
            raise InvalidInput(
                f"{empty[0].where}: {name!r} is empty{more}.",
                "Give every item its id, or rename the column if it is not an id.",
            )


def is_date(sheet: Sheet, name: str) -> bool:
    """Return whether a column holds dates, which neither identify nor describe items."""
    cells = [str(cell).strip() for cell in sheet.cells(name) if not is_missing(cell)]
    return bool(cells) and all(_DATE.fullmatch(cell) for cell in cells)


def _longest_text(sheet: Sheet, names: list[str]) -> str | None:
    lengths = {name: sum(len(str(cell)) for cell in sheet.cells(name) if not is_missing(cell)) for name in names}
    return max((name for name in names if lengths[name]), key=lambda name: lengths[name], default=None)


def examples_of(sheet: Sheet, name: str) -> tuple[str, ...]:
    """Return the first cells of a column, shortened."""
    return tuple(_example(value) for value in sheet.cells(name)[:_EXAMPLES])


def _example(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return text if len(text) <= _EXAMPLE_LENGTH else text[: _EXAMPLE_LENGTH - 1] + "…"
