"""Battles as LMSYS and LMArena publish them: `model_a, model_b, winner`, with `judge`, `tstamp` and the conversations.

`winner` is `model_a`, `model_b`, `tie`, or, where both were bad, `tie (bothbad)` (older dumps) or `both_bad` (newer
ones). A file is JSON lines, one JSON array, or CSV; `question_id` is the context, and every other column (`turn`,
`anony`, `language`, ...) is kept as it is. In CSV a conversation is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from duelist.errors import InvalidInput
from duelist.study.formats._comparison import (
    Comparison,
    Written,
    as_messages,
    different,
    is_messages,
    plainest,
    shared_start,
)
from duelist.study.formats._fields import (
    Layout,
    Unheld,
    name_of,
    one_of,
    optional_epoch,
    optional_name,
    peeked,
    rest,
    why_not,
    write_each,
    wrong,
)
from duelist.study.formats._files import Row, is_csv, read_csv, read_json, writing_csv, writing_json
from duelist.study.records import Outcome

NEEDED: Final = ("model_a", "model_b", "winner")
COLUMNS: Final = ("question_id", *NEEDED, "judge", "conversation_a", "conversation_b", "tstamp")
HOLDS: Final = ("rater", "context", "told_at", "prompt", "payload_first", "payload_second")

BOTH_BAD_WORDS: Final = ("tie (bothbad)", "both_bad")
_MEANINGS: Final = {
    "model_a": Outcome.FIRST,
    "model_b": Outcome.SECOND,
    "tie": Outcome.TIE,
    **dict.fromkeys(BOTH_BAD_WORDS, Outcome.BOTH_BAD),
}


def read(path: Path) -> Iterator[Comparison]:
    """The battles of a file, one at a time."""
    tabular = is_csv(path)
    for row in read_csv(path, NEEDED) if tabular else read_json(path):
        prompt, first, second = _conversations(row)
        a, b = different(row.where, name_of(row, "model_a"), name_of(row, "model_b"))
        yield Comparison(
            first=a,
            second=b,
            outcome=one_of(row, "winner", _MEANINGS),
            rater=optional_name(row, "judge"),
            context=optional_name(row, "question_id"),
            told_at=optional_epoch(row, "tstamp"),
            prompt=prompt,
            payload_first=first,
            payload_second=second,
            extra={k: v for k, v in rest(row, COLUMNS).items() if not (tabular and v == "")},
        )


def write(comparisons: Iterable[Comparison], path: Path, *, both_bad: str = BOTH_BAD_WORDS[0]) -> Written:
    """Write battles; a skip is left out. The name decides: .csv, .json (an array) or anything else (JSON lines).

    CSV has the extra columns of the first comparison. `both_bad` is the word for it: "tie (bothbad)" or "both_bad".
    """
    if both_bad not in BOTH_BAD_WORDS:
        raise InvalidInput(f"both_bad is {both_bad!r}; choose one of {', '.join(BOTH_BAD_WORDS)}")
    words = {Outcome.FIRST: "model_a", Outcome.SECOND: "model_b", Outcome.TIE: "tie", Outcome.BOTH_BAD: both_bad}

    def battle(comparison: Comparison) -> Iterable[dict[str, Any]]:
        if comparison.outcome not in words:
            raise Unheld(why_not(comparison.outcome))
        yield _battle(comparison, words[comparison.outcome])

    first, everything = peeked(comparisons)
    if not is_csv(path):
        with writing_json(path) as writer:
            return write_each(everything, writer, battle, Layout(HOLDS, COLUMNS, loses=_unwritten))
    columns = [*COLUMNS, *(name for name in (first.extra if first else ()) if name not in COLUMNS)]
    with writing_csv(path, columns) as writer:
        return write_each(everything, writer, battle, Layout(HOLDS, COLUMNS, columns, loses=_unwritten))


def _battle(comparison: Comparison, winner: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question_id": comparison.context,
        "model_a": comparison.first,
        "model_b": comparison.second,
        "winner": winner,
        "judge": comparison.rater,
    }
    if (pair := _pair_of_conversations(comparison)) is not None:
        record["conversation_a"], record["conversation_b"] = pair
    record["tstamp"] = None if comparison.told_at is None else comparison.told_at.timestamp()
    return {name: value for name, value in record.items() if value is not None}


def _pair_of_conversations(comparison: Comparison) -> tuple[list[Any], list[Any]] | None:
    """Prompt and answer of each side, where both answers are known and all are text."""
    start = [] if comparison.prompt is None else as_messages(comparison.prompt, "user")
    one = as_messages(comparison.payload_first, "assistant")
    other = as_messages(comparison.payload_second, "assistant")
    return None if start is None or one is None or other is None else (start + one, start + other)


def _unwritten(comparison: Comparison) -> Iterable[str]:
    return () if _pair_of_conversations(comparison) else ("prompt", "payload_first", "payload_second")


def _conversations(row: Row) -> tuple[Any, Any, Any]:
    """The prompt, which the two conversations share, and what each goes on with."""
    a, b = (_conversation(row, name) for name in ("conversation_a", "conversation_b"))
    if a is None or b is None:
        return None, None, None
    shared = shared_start(a, b)
    prompt = plainest(a[:shared], "user") if shared else None
    return prompt, plainest(a[shared:], "assistant"), plainest(b[shared:], "assistant")


def _conversation(row: Row, name: str) -> list[Any] | None:
    value = row.fields.get(name)
    if value in (None, "", []):
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise wrong(row, name, "a list of messages as JSON") from error
    if not is_messages(value):
        raise wrong(row, name, "a list of messages, each with role and content")
    return list(value)
