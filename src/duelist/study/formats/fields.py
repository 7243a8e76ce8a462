"""Taking fields out of records, with errors that name file, line, field, value and the way out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.json_records import Row, shown
from duelist.study.records import ChosenBy, Outcome, Source

_IN_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+")
"""1.234,56: the point stands between thousands."""
_KINDS: Final = {str: "a text", bool: "true or false", list: "a list", dict: "an object", int: "a whole number"}


def wrong(row: Row, name: str, wanted: str) -> InvalidInput:
    """The error for a field that is missing or not what was wanted."""
    if name not in row.fields:
        return InvalidInput(f"{row.where} has no field {name!r}.", f"Give {wanted}.")
    return InvalidInput(f"{row.where}: {name} is {shown(row.fields[name])}.", f"Give {wanted}.")


def need(row: Row, name: str, kind: type, wanted: str | None = None) -> Any:
    """A field that must be there and of this kind."""
    value = row.fields.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise wrong(row, name, wanted or _KINDS[kind])
    return value


def name_of(row: Row, name: str) -> str:
    """The id of an arm: a text that is not empty, or a whole number taken as text."""
    value = row.fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or value == "":
        raise wrong(row, name, "a text that is not empty")
    return value


def optional_name(row: Row, name: str) -> str | None:
    """The same where the field may be missing, null or empty."""
    return None if row.fields.get(name) in (None, "") else name_of(row, name)


def optional_number(row: Row, name: str) -> float | None:
    """A finite number, or its text as CSV has it; None where the field is missing, null or empty."""
    value = row.fields.get(name)
    if value in (None, ""):
        return None
    number = as_number(row, value)
    if number is None:
        raise wrong(row, name, "a finite number, or nothing")
    return number


def as_number(row: Row, value: Any) -> float | None:
    """A finite number, or its text as the table writes numbers; None of anything else."""
    if isinstance(value, str) and "_" in value:
        return None  # a number to Python, and to nobody else
    if row.decimal_comma and isinstance(value, str) and value.count(",") == 1:
        plain = value.replace(".", "") if _IN_THOUSANDS.fullmatch(value.strip()) else value
        value = plain.replace(",", ".") if "." not in plain else plain
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def optional_propensity(row: Row) -> float | None:
    """The probability with which the pair was chosen; None where the file does not say."""
    propensity = optional_number(row, "propensity")
    if propensity is not None and not 0.0 <= propensity <= 1.0:
        raise wrong(row, "propensity", "a probability from 0 to 1, or nothing")
    return propensity


def one_of(row: Row, name: str, meanings: Mapping[str, Outcome]) -> Outcome:
    """The outcome that a word stands for, however it is capitalised."""
    value = row.fields.get(name)
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word not in meanings:
        raise wrong(row, name, "one of " + ", ".join(meanings))
    return meanings[word]


def optional_source(row: Row) -> Source:
    """Who voted; an import where the file does not say."""
    return Source(_choice(row, "source", _SOURCES, Source.IMPORT))


def optional_chosen_by(row: Row) -> ChosenBy:
    """Who chose the pair; an import where the file does not say."""
    return ChosenBy(_choice(row, "chosen_by", _CHOOSERS, ChosenBy.IMPORT))


_SOURCES: Final = tuple(map(str, Source))
_CHOOSERS: Final = tuple(map(str, ChosenBy))


def _choice(row: Row, name: str, words: tuple[str, ...], default: str) -> str:
    value = row.fields.get(name)
    if value in (None, ""):
        return default
    if value not in words:
        raise wrong(row, name, "one of " + ", ".join(words))
    return str(value)


def optional_time(row: Row, name: str) -> datetime | None:
    """A time written as ISO 8601 with its offset from UTC (or Z); None where the field is missing, null or empty."""
    value = row.fields.get(name)
    if value in (None, ""):
        return None
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            raise ValueError("no offset")
        return time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong(row, name, "a time like 2026-01-31T12:00:00+00:00, with its offset") from error


def optional_epoch(row: Row, name: str) -> datetime | None:
    """A time written as seconds since 1970 in UTC; None where the field is missing, null or empty."""
    seconds = optional_number(row, name)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise wrong(row, name, "seconds since 1970") from error


def iso(time: datetime | None) -> str | None:
    """A time as ISO 8601 in UTC."""
    if time is not None and time.tzinfo is None:
        raise InvalidInput(
            f"voted_at is {time.isoformat()} without an offset.", "Give an aware time, say in UTC.", field="voted_at"
        )
    return None if time is None else time.astimezone(UTC).isoformat()


EXTRA: Final = "extra"
"""The field for what has no column of its own: an object, as JSON in a text."""


def rest(row: Row, known: Iterable[str]) -> dict[str, Any]:
    """The fields that the format does not know, and those that were packed into one."""
    names = frozenset(known)
    found = {name: value for name, value in row.fields.items() if name not in names}
    packed = found.get(EXTRA)
    if not isinstance(packed, str):
        return found
    try:
        unpacked = json.loads(packed)
    except ValueError:
        return found
    if not isinstance(unpacked, dict):
        return found
    del found[EXTRA]
    return found | unpacked
