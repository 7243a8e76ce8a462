"""Battles as LMSYS and LMArena publish them: `model_a, model_b, winner`.

Further columns are `judge`, `tstamp` and the conversations. `winner` is `model_a`, `model_b`, `tie`, or, where both
were bad, `tie (bothbad)` (older dumps) or `both_bad` (newer ones). A file is JSON lines, one JSON array, or a table.
`question_id` is the context, and every other column (`turn`, `language`, ...) is kept. In a table a conversation is
written as JSON.

Every record has the same fields, each of one type: an unknown judge or question is written as an empty text, an unknown
time as 0, and an unknown conversation as two empty messages if any conversation is known. They are read as unknown.
`anony`, which FastChat's report requires, says that the judge did not know the models: true unless an extra field says
otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.comparison import (
    Comparison,
    ExportReport,
    as_messages,
    check_distinct,
    is_messages,
    shared_prefix_length,
    simplify_messages,
)
from duelist.study.formats.fields import extra_fields, field_error, optional_epoch, optional_id, parse_id, parse_outcome
from duelist.study.formats.files import Row, is_table, read_rows, writing_records
from duelist.study.formats.files.tables import JSON_CELLS, encode_json_cells, writing_csv
from duelist.study.formats.writing import (
    CONTENTS,
    Layout,
    Survey,
    UnsupportedComparison,
    outcome_name,
    reduced_to_text,
    surveying,
    write_rows,
)
from duelist.study.records import Outcome

REQUIRED: Final = ("model_a", "model_b", "winner")
COLUMNS: Final = ("question_id", *REQUIRED, "judge", "conversation_a", "conversation_b", "anony", "tstamp")
_KNOWN: Final = frozenset(COLUMNS) - {"anony"}
HOLDS: Final = ("rater", "context", "voted_at", *CONTENTS)
NAMES: Final = {
    "first": "model_a",
    "second": "model_b",
    "rater": "judge",
    "context": "question_id",
    "voted_at": "tstamp",
}
"""The names of fields of a comparison in this format."""

BOTH_BAD_WORDS: Final = ("tie (bothbad)", "both_bad")
_OUTCOMES: Final = {
    "model_a": Outcome.FIRST,
    "model_b": Outcome.SECOND,
    "tie": Outcome.TIE,
    **dict.fromkeys(BOTH_BAD_WORDS, Outcome.BOTH_BAD),
}
_UNKNOWN: Final = [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
_TRUE: Final = (True, "true", "True", "TRUE")


def read(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> Iterator[Comparison]:
    """Yield the battles of a file.

    `columns` maps fields to columns of the file, as in `{"judge": "user"}`.
    """
    tabular = is_table(path)
    for row in read_rows(
        path, REQUIRED, {NAMES.get(ours, ours): theirs for ours, theirs in (columns or {}).items()}, encoding
    ):
        prompt, first, second = _conversations(row)
        a, b = check_distinct(row.where, parse_id(row, "model_a"), parse_id(row, "model_b"))
        extra = extra_fields(row, _KNOWN)
        if extra.get("anony") in _TRUE:
            del extra["anony"]
        yield Comparison(
            first=a,
            second=b,
            outcome=parse_outcome(row, "winner", _OUTCOMES),
            rater=optional_id(row, "judge"),
            context=optional_id(row, "question_id"),
            voted_at=None if _is_zero(row.fields.get("tstamp")) else optional_epoch(row, "tstamp"),
            prompt=prompt,
            payload_first=first,
            payload_second=second,
            extra={name: value for name, value in extra.items() if not (tabular and value == "")},
        )


def write(comparisons: Iterable[Comparison], path: Path, *, both_bad: str = BOTH_BAD_WORDS[0]) -> ExportReport:
    """Write battles, without skips.

    The name of the file decides: CSV, Parquet, a JSON array (.json), or JSON lines. `both_bad` is the word for
    that outcome: "tie (bothbad)", which FastChat reads, or "both_bad".
    """
    if both_bad not in BOTH_BAD_WORDS:
        raise InvalidInput(
            f"both_bad is {both_bad!r}.", f"Choose one of {', '.join(BOTH_BAD_WORDS)}.", field="both_bad"
        )
    words = {Outcome.FIRST: "model_a", Outcome.SECOND: "model_b", Outcome.TIE: "tie", Outcome.BOTH_BAD: both_bad}
    tabular = is_table(path)
    with surveying(comparisons, words) as (survey, rows):
        layout = Layout(
            HOLDS,
            [name for name in COLUMNS if name != "anony"],
            survey,
            placed=("anony",),
            loses=_lost,
            changes=reduced_to_text,
            sparse=tabular,
        )

        def battle(comparison: Comparison) -> Iterable[dict[str, Any]]:
            if comparison.outcome not in words:
                raise UnsupportedComparison(outcome_name(comparison.outcome))
            record = _battle(comparison, words[comparison.outcome], survey)
            extra = layout.extra_of(comparison)
            yield encode_json_cells(record | extra, extra) if tabular else record | extra

        if not tabular:
            with writing_records(path) as writer:
                return write_rows(rows, writer, battle, layout)
        with writing_csv(path, _columns(layout)) as writer:
            return write_rows(rows, writer, battle, layout)


def _columns(layout: Layout) -> list[str]:
    omitted = () if layout.survey.has_text else ("conversation_a", "conversation_b")
    json_cells = () if layout.survey.fits_cells else (JSON_CELLS,)
    return [*(name for name in COLUMNS if name not in omitted), *layout.extra_columns(), *json_cells]


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
    """Return prompt and answer of each side.

    None unless both answers are known and everything is text.
    """
    start = [] if comparison.prompt is None else as_messages(comparison.prompt, "user")
    one = as_messages(comparison.payload_first, "assistant")
    other = as_messages(comparison.payload_second, "assistant")
    return None if start is None or one is None or other is None else (start + one, start + other)


def _lost(comparison: Comparison) -> Iterable[str]:
    return () if _pair_of_conversations(comparison) else CONTENTS


def _conversations(row: Row) -> tuple[Any, Any, Any]:
    """Return the prompt that two conversations share, and how each continues."""
    a, b = (_conversation(row, name) for name in ("conversation_a", "conversation_b"))
    if a is None or b is None or a == b == _UNKNOWN:
        return None, None, None
    shared = shared_prefix_length(a, b)
    prompt = simplify_messages(a[:shared], "user") if shared else None
    return prompt, simplify_messages(a[shared:], "assistant"), simplify_messages(b[shared:], "assistant")


def _conversation(row: Row, name: str) -> list[Any] | None:
    value = row.fields.get(name)
    if value in (None, "", []):
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise field_error(row, name, "a list of messages as JSON") from error
    if not is_messages(value):
        raise field_error(row, name, "a list of messages, each with role and content")
    return list(value)


def _is_zero(value: Any) -> bool:
    return value in ("0", "0.0") or (value == 0 and not isinstance(value, bool))
