"""Taking fields out of records, with errors that name file, line, field, value and the way out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from duelist.errors import InvalidInput
from duelist.study.formats._comparison import Comparison, Written
from duelist.study.formats._files import Row, RowWriter, shown
from duelist.study.records import ChosenBy, Outcome, Source

_KINDS: Final = {str: "a text", bool: "true or false", list: "a list", dict: "an object", int: "a whole number"}


def wrong(row: Row, name: str, wanted: str) -> InvalidInput:
    """The error for a field that is missing or not what was wanted."""
    if name not in row.fields:
        return InvalidInput(f"{row.where} has no field {name!r}; give {wanted}")
    return InvalidInput(f"{row.where}: {name} is {shown(row.fields[name])}; give {wanted}")


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
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise wrong(row, name, "a finite number, or nothing")
    return number


def optional_chance(row: Row) -> float | None:
    """The probability with which the pair was chosen; None where the file does not say."""
    chance = optional_number(row, "chance")
    if chance is not None and not 0.0 <= chance <= 1.0:
        raise wrong(row, "chance", "a probability from 0 to 1, or nothing")
    return chance


def one_of(row: Row, name: str, meanings: Mapping[str, Outcome]) -> Outcome:
    """The outcome that a word stands for."""
    value = row.fields.get(name)
    if not isinstance(value, str) or value not in meanings:
        raise wrong(row, name, "one of " + ", ".join(meanings))
    return meanings[value]


def optional_source(row: Row) -> Source:
    """Who voted; an import where the file does not say."""
    return Source(_choice(row, "source", [*Source], Source.IMPORT))


def optional_chosen_by(row: Row) -> ChosenBy:
    """Who chose the pair; an import where the file does not say."""
    return ChosenBy(_choice(row, "chosen_by", [*ChosenBy], ChosenBy.IMPORT))


def _choice(row: Row, name: str, words: Iterable[str], default: str) -> str:
    value = row.fields.get(name)
    if value in (None, ""):
        return default
    if value not in [*words]:
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
        raise InvalidInput(f"told_at is {time.isoformat()} without an offset; give an aware time, say in UTC")
    return None if time is None else time.astimezone(UTC).isoformat()


def rest(row: Row, known: Iterable[str]) -> dict[str, Any]:
    """The fields that the format does not know."""
    names = frozenset(known)
    return {name: value for name, value in row.fields.items() if name not in names}


# -- writing -----------------------------------------------------------------------------

_COUNTED: Final = ("rater", "context", "told_at", "response_seconds", "prompt", "payload_first", "payload_second")
"""Fields whose loss is reported. What only a study's log knows (sequence, duel_id, ...) no outside format has a place for."""


class Unheld(Exception):
    """A comparison that the format cannot hold; the argument says why."""


def _nothing(_: Comparison) -> Iterable[str]:
    return ()


def _whole(record: dict[str, Any]) -> dict[str, Any]:
    return record


@dataclass(frozen=True)
class Layout:
    """What a format has a place for."""

    holds: Collection[str]
    """Fields of a comparison that it can hold."""
    own: Collection[str]
    """Its own names, which no extra field may take."""
    columns: Collection[str] | None = None
    """All the names that a file can have, where they are fixed by its header."""
    placed: Collection[str] = ()
    """Extra fields that have a place of their own."""
    target: Callable[[dict[str, Any]], dict[str, Any]] = _whole
    """The part of a record that extra fields go into."""
    loses: Callable[[Comparison], Iterable[str]] = _nothing
    """Fields that it can hold for others, but not for this comparison."""

    def keeps(self, name: str) -> bool:
        """Whether an extra field of this name goes into the file as it is."""
        return name not in self.own and (self.columns is None or name in self.columns)


def write_each(
    comparisons: Iterable[Comparison],
    writer: RowWriter,
    convert: Callable[[Comparison], Iterable[dict[str, Any]]],
    layout: Layout,
) -> Written:
    """Write what the format can hold, and count what it cannot."""
    left_out: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    homeless = [name for name in _COUNTED if name not in layout.holds]
    rows = 0
    for comparison in comparisons:
        try:
            records = list(convert(comparison))
        except Unheld as reason:
            left_out[str(reason)] += 1
            continue
        kept = {name: value for name, value in comparison.extra.items() if layout.keeps(name)}
        for record in records:
            layout.target(record).update(kept)
            writer(record)
        rows += len(records)
        lost = [*homeless, *layout.loses(comparison)]
        dropped.update(name for name in lost if getattr(comparison, name) is not None)
        dropped.update(f"extra {name}" for name in comparison.extra if name not in kept and name not in layout.placed)
    return Written(rows, dict(left_out), dict(dropped))


def decided(comparison: Comparison) -> bool:
    """Whether the first won; anything but a win is not held."""
    if comparison.outcome not in (Outcome.FIRST, Outcome.SECOND):
        raise Unheld(why_not(comparison.outcome))
    return comparison.outcome is Outcome.FIRST


def why_not(outcome: Outcome | None) -> str:
    """Words for an outcome that a format has no word for."""
    return "undone" if outcome is None else str(outcome)


def peeked(comparisons: Iterable[Comparison]) -> tuple[Comparison | None, Iterator[Comparison]]:
    """The first comparison, and all of them."""
    stream = iter(comparisons)
    first = next(stream, None)

    def everything() -> Iterator[Comparison]:
        if first is not None:
            yield first
        yield from stream

    return first, everything()
