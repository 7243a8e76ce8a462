"""What people say of a file before it is read: a plan, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.json_records import shown

PARTS: Final = ("name", "goal", "policy", "settings", "columns", "features", "encoding")
_OBJECTS: Final = ("settings", "columns", "features")
_ELSEWHERE: Final = ("name", "goal", "policy")
_LISTS: Final = ("criteria", "gold")
_NOT_SAID: Final = ("storage", "load_if_exists", "feature_recipe")


def checked_plan(plan: Mapping[str, Any] | None) -> dict[str, Any]:
    """A plan whose parts are what they must be; what they say is checked where it is used."""
    if plan is not None and not isinstance(plan, Mapping):
        raise InvalidInput(f"The plan is {shown(plan)}.", f"Give an object with {', '.join(PARTS)}.")
    given = dict(plan or {})
    unknown = next((name for name in given if name not in PARTS), None)
    if unknown is not None:
        raise InvalidInput(f"A plan has no {unknown!r}.", f"It has {', '.join(PARTS)}.")
    for part in _OBJECTS:
        if given.get(part) is not None and not isinstance(given[part], Mapping):
            raise InvalidInput(f"{part} is {shown(given[part])}.", "Give an object, {...}.", field=part)
    for part in ("name", "goal", "encoding"):
        if given.get(part) is not None and not isinstance(given[part], str):
            raise InvalidInput(f"{part} is {shown(given[part])}.", "Give a text, or leave it out.", field=part)
    _check_settings(given.get("settings") or {})
    _check_columns((given.get("features") or {}).get("columns"))
    for part, value in given.items():
        _check_finite(part, value)
    return given


def _check_settings(settings: Mapping[str, Any]) -> None:
    for name in settings:
        if name in _ELSEWHERE:
            raise InvalidInput(
                f"settings has {name!r}, which has a place of its own.", "Put it beside settings.", field="settings"
            )
        if name in _NOT_SAID or not isinstance(name, str):
            raise InvalidInput(f"settings has {name!r}, which a plan does not say.", "Leave it out.", field="settings")
        if name in _LISTS and not isinstance(settings[name], (list, tuple)):
            raise InvalidInput(f"settings.{name} is {shown(settings[name])}.", "Give a list.", field=f"settings.{name}")


def _check_columns(columns: Any) -> None:
    listed = isinstance(columns, (list, tuple)) and all(isinstance(name, str) for name in columns)
    if columns is not None and not listed:
        raise InvalidInput(
            f"features.columns is {shown(columns)}.", "Give a list of names of columns.", field="features.columns"
        )


def _check_finite(part: str, value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False, default=repr)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{part} is {shown(value)}, which JSON cannot hold ({error}).", "Give texts and finite numbers.", field=part
        ) from error
