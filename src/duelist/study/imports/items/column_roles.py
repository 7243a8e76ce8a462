"""What columns mean, guessed by their names and by what is in them; whoever knows better says so in the plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.imports.items.numbers import GIVEN, Numbers, is_nothing
from duelist.study.imports.items.reader import Sheet, texts_of

ROLES: Final = ("id", "payload", "context", "prompt")
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
"""Names that say what a column is, the surest first."""
_SURELY_IDS: Final = ("id", "arm_id", "item_id", "identifier")
_LONGEST_ID: Final = 200
_DATE: Final = re.compile(
    r"\d{4}([-/.])\d\d?\1\d\d?([T ]\d.*)?|\d\d?([-/.])\d\d?\3\d{2,4}([T ]\d.*)?|\d\d?:\d\d(:\d\d(\.\d+)?)?"
)
"""Dates and times of day, as programs write them."""
_EXAMPLES: Final = 3
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: what it is taken for, and some of what is in it."""

    name: str
    role: str
    numeric: bool
    examples: list[str]


def columns_of(
    sheet: Sheet, said: Mapping[str, str | None], features: tuple[str, ...], numbers: Mapping[str, Numbers]
) -> tuple[list[Column], dict[str, str]]:
    """The columns with what they are taken for, and which of them has which role.

    What is `said` goes before what is guessed, and None says that there is none.
    A column may have several roles where its owner says so: a text that names its arm, a number that is a feature too.
    A column of `numbers` is what an arm shows, or is named by, only where its name or its owner says so: with holes or without.
    """
    for role, name in said.items():
        if role not in ROLES:
            raise InvalidInput(f"columns has {role!r}.", f"It says which column is {', '.join(ROLES)}.")
        if name is not None and name not in sheet.columns:
            raise InvalidInput(f"columns.{role} is {name!r}.", f"The columns are {', '.join(sheet.columns)}.")
    roles = _roles(sheet, said, features, numbers)
    found = {name: role for role, name in reversed(roles.items())}
    columns = [
        Column(
            name,
            "feature" if name in features else found.get(name, "other"),
            name in numbers and numbers[name].whole,
            [_short(value) for value in texts_of(sheet.rows[:_EXAMPLES], name)],
        )
        for name in sheet.columns
    ]
    return columns, roles


def _roles(
    sheet: Sheet, said: Mapping[str, str | None], features: tuple[str, ...], numbers: Mapping[str, Numbers]
) -> dict[str, str]:
    roles = {role: name for role, name in said.items() if name is not None}
    _check_no_hole(sheet, [roles["id"]] if "id" in roles else [])
    free = [name for name in sheet.columns if name not in (GIVEN, *features, *roles.values())]
    by_name = {name: _word(name) for name in free}
    for role in ("id", "payload", "prompt", "context"):
        if role in said:
            continue
        named = [name for word in _NAMES[role] for name in free if by_name[name] == word]
        if role == "id":
            _check_no_hole(sheet, [name for name in named if by_name[name] in _SURELY_IDS])
        chosen = next((name for name in named if _may_be(role, sheet, name)), None)
        if chosen is not None:
            roles[role] = chosen
            free.remove(chosen)
    if "payload" not in said and "payload" not in roles:
        texts = [name for name in free if name not in numbers]
        longest = _longest_text(sheet, [name for name in texts if not _are_dates(sheet, name)])
        if longest is None and roles.get("id") in (None, *numbers):
            longest = _longest_text(sheet, texts)  # when is better than nothing
        if longest is not None:
            roles["payload"] = longest
            free.remove(longest)
    if "id" not in said and "id" not in roles:
        unique = next(
            (
                name
                for name in free
                if name not in numbers
                and _may_be("id", sheet, name)
                and _is_unique(sheet, name)
                and not _are_dates(sheet, name)
            ),
            None,
        )
        if unique is not None:
            roles["id"] = unique
    return roles


def is_named(role: str, column: str) -> bool:
    """Whether a column has a role by its name, and not by what is in it."""
    return _word(column) in _NAMES[role]


def _word(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _may_be(role: str, sheet: Sheet, name: str) -> bool:
    values = texts_of(sheet.rows, name)
    if role == "id":
        return all(value not in (None, "") and len(str(value)) <= _LONGEST_ID for value in values)
    return any(value not in (None, "") for value in values)


def _check_no_hole(sheet: Sheet, names: list[str]) -> None:
    """Refuse a column of ids that lacks some: arms that are numbered instead would be others than those of the next file."""
    for name in names:
        holes = [row for row in sheet.rows if row.fields.get(name) in (None, "")]
        if 0 < len(holes) < len(sheet.rows):
            more = f", and {len(holes) - 1} more of its cells are" if len(holes) > 1 else ""
            raise InvalidInput(
                f"{holes[0].where}: {name!r} is empty{more}.",
                "Give every arm its id, or rename the column if it does not name arms.",
            )


def _is_unique(sheet: Sheet, name: str) -> bool:
    values = [str(value) for value in texts_of(sheet.rows, name)]
    return len(set(values)) == len(values)


def _are_dates(sheet: Sheet, name: str) -> bool:
    """Dates say when, and neither who nor what, however different and long they are."""
    values = [str(value).strip() for value in texts_of(sheet.rows, name) if not is_nothing(value)]
    return bool(values) and all(_DATE.fullmatch(value) for value in values)


def _longest_text(sheet: Sheet, names: list[str]) -> str | None:
    lengths = {
        name: sum(len(str(value)) for value in texts_of(sheet.rows, name) if not is_nothing(value)) for name in names
    }
    return max((name for name in names if lengths[name]), key=lambda name: lengths[name], default=None)


def _short(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
