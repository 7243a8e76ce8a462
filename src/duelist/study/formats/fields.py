"""Parse the fields of a row.

Errors name the file, the line, the field, its value, and what to give instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from duelist.core.errors import InvalidInput
from duelist.study.formats.files import Row
from duelist.study.formats.files.row import shorten
from duelist.study.records import ChosenBy, Outcome, Source

_TYPES: Final = {str: "a text", bool: "true or false", list: "a list", dict: "an object", int: "a whole number"}
_SOURCES: Final = {str(source): source for source in Source}
_CHOSEN_BY: Final = {str(chosen_by): chosen_by for chosen_by in ChosenBy}
_Choice = TypeVar("_Choice", Source, ChosenBy)
EXTRA: Final = "extra"
"""The field for values without a column: an object, as JSON in a text."""


def field_error(row: Row, name: str, expected: str) -> InvalidInput:
    """Return the error for a field that is missing or has another value than expected."""
    if name not in row.fields:
        return InvalidInput(f"{row.where} has no field {name!r}.", f"Give {expected}.")
    return InvalidInput(f"{row.where}: {name} is {shorten(row.fields[name])}.", f"Give {expected}.")


def require(row: Row, name: str, kind: type, expected: str | None = None) -> Any:
    """Return a field that must be there and of this type."""
    value = row.fields.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise field_error(row, name, expected or _TYPES[kind])
    return value


def parse_id(row: Row, name: str) -> str:
    """Return an id: a text that is not empty, or a whole number as text."""
    value = row.fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or value == "":
        raise field_error(row, name, "a text that is not empty")
    return value


def optional_id(row: Row, name: str) -> str | None:
    """Return an id, or None where the field is missing, null or empty."""
    return None if row.fields.get(name) in (None, "") else parse_id(row, name)


def optional_number(row: Row, name: str) -> float | None:
    """Return a finite number, or None where the field is missing, null or empty."""
    value = row.fields.get(name)
    if value in (None, ""):
        return None
    number = row.parse_number(value)
    if number is None:
        raise field_error(row, name, "a finite number, or nothing")
    return number


def optional_propensity(row: Row) -> float | None:
    """Return the probability with which the pair was chosen, or None."""
    propensity = optional_number(row, "propensity")
    if propensity is not None and not 0.0 <= propensity <= 1.0:
        raise field_error(row, "propensity", "a probability from 0 to 1, or nothing")
    return propensity


def parse_outcome(row: Row, name: str, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Return the outcome that a word stands for, ignoring case."""
    value = row.fields.get(name)
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word not in outcomes:
        raise field_error(row, name, "one of " + ", ".join(outcomes))
    return outcomes[word]


def optional_source(row: Row) -> Source:
    """Return who voted; `Source.IMPORT` where the file does not say."""
    return _choice(row, "source", _SOURCES, Source.IMPORT)


def optional_chosen_by(row: Row) -> ChosenBy:
    """Return who chose the pair; `ChosenBy.IMPORT` where the file does not say."""
    return _choice(row, "chosen_by", _CHOSEN_BY, ChosenBy.IMPORT)


def _choice(row: Row, name: str, words: Mapping[str, _Choice], default: _Choice) -> _Choice:
    value = row.fields.get(name)
    if value in (None, ""):
        return default
    if not isinstance(value, str) or value not in words:
        raise field_error(row, name, "one of " + ", ".join(words))
    return words[value]


def time_zone(name: str) -> tzinfo:
    """Return the time zone of that name."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise InvalidInput(
            f"timezone is {name[:100]!r}.", "Give a name such as 'Europe/Berlin', or 'UTC'.", field="timezone"
        ) from error


def optional_time(row: Row, name: str, zone: tzinfo | None = None) -> datetime | None:
    """Return a time in ISO 8601, or None where the field is missing, null or empty.

    Times without an offset are in `zone`, or an error if there is none.
    """
    value = row.fields.get(name)
    if value in (None, ""):
        return None
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            if zone is None:
                raise ValueError("no offset")
            time = time.replace(tzinfo=zone)
        return time if time.tzinfo is UTC else time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise field_error(row, name, "a time like 2026-01-31T12:00:00+00:00, with its offset") from error


def optional_epoch(row: Row, name: str) -> datetime | None:
    """Return a time in seconds since 1970, or None where the field is empty."""
    seconds = optional_number(row, name)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise field_error(row, name, "seconds since 1970") from error


def to_iso(time: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC."""
    if time is not None and time.tzinfo is None:
        raise InvalidInput(
            f"voted_at is {time.isoformat()} without an offset.",
            "Give an aware time, for example in UTC.",
            field="voted_at",
        )
    return None if time is None else time.astimezone(UTC).isoformat()


def extra_fields(row: Row, known: frozenset[str]) -> dict[str, Any]:
    """Return the fields that the format does not know, unpacking `extra`."""
    found = {name: value for name, value in row.fields.items() if name not in known}
    packed = found.get(EXTRA)
    if not isinstance(packed, str):
        return found
    try:
        unpacked = json.loads(packed)
    except (ValueError, RecursionError):
        return found
    if not isinstance(unpacked, dict):
        return found
    del found[EXTRA]
    return found | unpacked
