"""Battles as LMSYS and LMArena publish them: `model_a, model_b, winner`, with `judge`, `tstamp` and the conversations.

`winner` is `model_a`, `model_b`, `tie`, or, where both were bad, `tie (bothbad)` (older dumps) or `both_bad` (newer
ones). A file is JSON lines, one JSON array, or a table; `question_id` is the context, and every other column (`turn`,
`language`, ...) is kept as it is. In a table a conversation is written as JSON.

Every record has the same fields, of one type each: an unknown judge or question is an empty text, an unknown time 0, an
unknown conversation two empty messages, if any is known; and they are read as unknown. `anony` says that the judge did
not know who was who, which FastChat's report wants to hear: true, unless an extra field says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.comparison import (
    Comparison,
    Written,
    as_messages,
    different,
    is_messages,
    plainest,
    shared_start,
)
from duelist.study.formats.csv_tables import JSON_CELLS, is_table, read_rows, with_json_cells, writing_csv
from duelist.study.formats.fields import name_of, one_of, optional_epoch, optional_name, rest, wrong
from duelist.study.formats.json_records import Row, writing_json
from duelist.study.formats.writing import CONTENTS, Layout, Survey, Unheld, beside_texts, surveyed, why_not, write_each
from duelist.study.records import Outcome

NEEDED: Final = ("model_a", "model_b", "winner")
COLUMNS: Final = ("question_id", *NEEDED, "judge", "conversation_a", "conversation_b", "anony", "tstamp")
HOLDS: Final = ("rater", "context", "voted_at", *CONTENTS)
NAMES: Final = {
    "first": "model_a",
    "second": "model_b",
    "rater": "judge",
    "context": "question_id",
    "voted_at": "tstamp",
}
"""What this format calls the fields of a comparison."""

BOTH_BAD_WORDS: Final = ("tie (bothbad)", "both_bad")
_MEANINGS: Final = {
    "model_a": Outcome.FIRST,
    "model_b": Outcome.SECOND,
    "tie": Outcome.TIE,
    **dict.fromkeys(BOTH_BAD_WORDS, Outcome.BOTH_BAD),
}
_UNKNOWN: Final = [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
_TRUE: Final = (True, "true", "True", "TRUE")


def read(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> Iterator[Comparison]:
    """The battles of a file, one at a time; `columns` says what the file calls a field, `{"judge": "user"}`."""
    tabular = is_table(path)
    for row in read_rows(
        path, NEEDED, {NAMES.get(ours, ours): theirs for ours, theirs in (columns or {}).items()}, encoding
    ):
        prompt, first, second = _conversations(row)
        a, b = different(row.where, name_of(row, "model_a"), name_of(row, "model_b"))
        extra = rest(row, [name for name in COLUMNS if name != "anony"])
        if extra.get("anony") in _TRUE:
            del extra["anony"]
        yield Comparison(
            first=a,
            second=b,
            outcome=one_of(row, "winner", _MEANINGS),
            rater=optional_name(row, "judge"),
            context=optional_name(row, "question_id"),
            voted_at=None if _is_zero(row.fields.get("tstamp")) else optional_epoch(row, "tstamp"),
            prompt=prompt,
            payload_first=first,
            payload_second=second,
            extra={name: value for name, value in extra.items() if not (tabular and value == "")},
        )


def write(comparisons: Iterable[Comparison], path: Path, *, both_bad: str = BOTH_BAD_WORDS[0]) -> Written:
    """Write battles; a skip is left out. The name decides: .csv, .json (an array) or anything else (JSON lines).

    `both_bad` is the word for it: "tie (bothbad)", which is the one that FastChat knows, or "both_bad".
    """
    if both_bad not in BOTH_BAD_WORDS:
        raise InvalidInput(
            f"both_bad is {both_bad!r}.", f"Choose one of {', '.join(BOTH_BAD_WORDS)}.", field="both_bad"
        )
    words = {Outcome.FIRST: "model_a", Outcome.SECOND: "model_b", Outcome.TIE: "tie", Outcome.BOTH_BAD: both_bad}
    tabular = is_table(path)
    with surveyed(comparisons, words) as (survey, everything):
        layout = Layout(
            HOLDS,
            [name for name in COLUMNS if name != "anony"],
            survey,
            placed=("anony",),
            loses=_unwritten,
            changes=beside_texts,
            sparse=tabular,
        )

        def battle(comparison: Comparison) -> Iterable[dict[str, Any]]:
            if comparison.outcome not in words:
                raise Unheld(why_not(comparison.outcome))
            record = _battle(comparison, words[comparison.outcome], survey)
            extra = layout.beside(comparison)
            yield with_json_cells(record | extra, extra) if tabular else record | extra

        if not tabular:
            with writing_json(path) as writer:
                return write_each(everything, writer, battle, layout)
        with writing_csv(path, _columns(layout)) as writer:
            return write_each(everything, writer, battle, layout)


def _columns(layout: Layout) -> list[str]:
    unknown = () if layout.survey.has_text else ("conversation_a", "conversation_b")
    coded = () if layout.survey.plain else (JSON_CELLS,)
    return [*(name for name in COLUMNS if name not in unknown), *layout.columns(), *coded]


def _battle(comparison: Comparison, winner: str, survey: Survey) -> dict[str, Any]:
    pair = _pair_of_conversations(comparison) or (_UNKNOWN, _UNKNOWN)
    return {
        "question_id": comparison.context or "",
        "model_a": comparison.first,
        "model_b": comparison.second,
        "winner": winner,
        "judge": comparison.rater or "",
        **(dict(zip(("conversation_a", "conversation_b"), pair, strict=True)) if survey.has_text else {}),
        "anony": comparison.extra.get("anony", True),
        "tstamp": 0.0 if comparison.voted_at is None else comparison.voted_at.timestamp(),
    }


def _pair_of_conversations(comparison: Comparison) -> tuple[list[Any], list[Any]] | None:
    """Prompt and answer of each side, where both answers are known and all are text."""
    start = [] if comparison.prompt is None else as_messages(comparison.prompt, "user")
    one = as_messages(comparison.payload_first, "assistant")
    other = as_messages(comparison.payload_second, "assistant")
    return None if start is None or one is None or other is None else (start + one, start + other)


def _unwritten(comparison: Comparison) -> Iterable[str]:
    return () if _pair_of_conversations(comparison) else CONTENTS


def _conversations(row: Row) -> tuple[Any, Any, Any]:
    """The prompt, which the two conversations share, and what each goes on with."""
    a, b = (_conversation(row, name) for name in ("conversation_a", "conversation_b"))
    if a is None or b is None or a == b == _UNKNOWN:
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


def _is_zero(value: Any) -> bool:
    return value in ("0", "0.0") or (value == 0 and not isinstance(value, bool))
