"""CSV with a row a vote: `left, right, winner`, and more columns where more is known.

`winner` is `left`, `right`, `tie`, `both_bad` or `skip`. An empty cell says that nothing is known; columns that are not
named here are kept as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from duelist.errors import InvalidInput
from duelist.study.formats._comparison import Comparison, Written, different
from duelist.study.formats._fields import (
    Layout,
    Unheld,
    iso,
    name_of,
    one_of,
    optional_chance,
    optional_chosen_by,
    optional_name,
    optional_number,
    optional_source,
    optional_time,
    peeked,
    rest,
    why_not,
    write_each,
)
from duelist.study.formats._files import read_csv, writing_csv
from duelist.study.records import Outcome

NEEDED: Final = ("left", "right", "winner")
COLUMNS: Final = (
    *NEEDED,
    "rater",
    "context",
    "told_at",
    "source",
    "response_seconds",
    "chosen_by",
    "chance",
    "prompt",
    "left_text",
    "right_text",
)
HOLDS: Final = ("rater", "context", "told_at", "response_seconds", "prompt", "payload_first", "payload_second")

_WORDS: Final = {Outcome.FIRST: "left", Outcome.SECOND: "right"}
_MEANINGS: Final = {_WORDS.get(outcome, str(outcome)): outcome for outcome in Outcome}


def read(path: Path) -> Iterator[Comparison]:
    """The votes of a file, one at a time."""
    for row in read_csv(path, NEEDED):
        first, second = different(row.where, name_of(row, "left"), name_of(row, "right"))
        yield Comparison(
            first=first,
            second=second,
            outcome=one_of(row, "winner", _MEANINGS),
            rater=optional_name(row, "rater"),
            context=optional_name(row, "context"),
            told_at=optional_time(row, "told_at"),
            source=optional_source(row),
            response_seconds=optional_number(row, "response_seconds"),
            chosen_by=optional_chosen_by(row),
            chance=optional_chance(row),
            prompt=optional_name(row, "prompt"),
            payload_first=optional_name(row, "left_text"),
            payload_second=optional_name(row, "right_text"),
            extra={name: cell for name, cell in rest(row, COLUMNS).items() if cell != ""},
        )


def write(comparisons: Iterable[Comparison], path: Path) -> Written:
    """Write every vote but those undone; the extra columns are those of the first comparison.

    Prompts and payloads that are not text are written as JSON, and read back as text. An empty text cannot be told from
    one that is not known, and counts as dropped.
    """
    first, everything = peeked(comparisons)
    columns = [*COLUMNS, *(name for name in (first.extra if first else ()) if name not in COLUMNS)]
    with writing_csv(path, columns) as writer:
        return write_each(everything, writer, _row, Layout(HOLDS, COLUMNS, columns, loses=_empty))


def _row(comparison: Comparison) -> Iterable[dict[str, Any]]:
    if comparison.outcome is None:
        raise Unheld(why_not(None))
    yield {
        "left": comparison.first,
        "right": comparison.second,
        "winner": _WORDS.get(comparison.outcome, str(comparison.outcome)),
        "rater": comparison.rater,
        "context": comparison.context,
        "told_at": iso(comparison.told_at),
        "source": str(comparison.source),
        "response_seconds": comparison.response_seconds,
        "chosen_by": str(comparison.chosen_by),
        "chance": comparison.chance,
        "prompt": _text(comparison.prompt),
        "left_text": _text(comparison.payload_first),
        "right_text": _text(comparison.payload_second),
    }


def _empty(comparison: Comparison) -> Iterable[str]:
    return (name for name in HOLDS if getattr(comparison, name) == "")


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{content!r} cannot be written into a cell ({error}); give a text or JSON") from error
