"""TRL's preference format: `prompt, chosen, rejected`, as texts or messages.

The prompt may be implicit: then it is the common beginning of `chosen` and `rejected`. A row says which answer won and
nothing about sides, so the chosen answer is read as the first of the pair, and ids are derived from the contents
(`arm_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import (
    Comparison,
    ExportReport,
    arm_id,
    as_messages,
    as_text,
    check_distinct,
    is_messages,
    shared_prefix_length,
)
from duelist.study.formats.fields import extra_fields, field_error
from duelist.study.formats.files import Row, read_rows, writing_records
from duelist.study.formats.writing import (
    CONTENTS,
    WINS,
    Layout,
    UnsupportedComparison,
    first_won,
    reduced_to_text,
    surveying,
    write_rows,
)
from duelist.study.records import Outcome

COLUMNS: Final = ("prompt", "chosen", "rejected")
_KNOWN: Final = frozenset(COLUMNS)
HOLDS: Final = CONTENTS

_EXPECTED: Final = "a text, or a list of messages with role and content"


def read(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> Iterator[Comparison]:
    """Yield the preferences of a file of JSON lines, a JSON array, Parquet or a table.

    `columns` maps fields to columns of the file, as in `{"chosen": "better", "rejected": "worse"}`.
    """
    for row in read_rows(path, (), columns, encoding):
        prompt, chosen, rejected = _parts(row)
        first, second = check_distinct(row.where, arm_id(chosen), arm_id(rejected))
        yield Comparison(
            first=first,
            second=second,
            outcome=Outcome.FIRST,
            prompt=prompt,
            payload_first=chosen,
            payload_second=rejected,
            extra=extra_fields(row, _KNOWN),
        )


def write(comparisons: Iterable[Comparison], path: Path, *, conversational: bool | None = None) -> ExportReport:
    """Write the wins, without those that have no text.

    All rows of a file are texts, or all are lists of messages (`conversational`; default: if any comparison has
    messages). Texts become messages where needed; a conversation cannot be written into a file of texts.
    """
    with surveying(comparisons, WINS) as (survey, rows):
        style = survey.has_messages if conversational is None else conversational
        layout = Layout(HOLDS, COLUMNS, survey, changes=reduced_to_text)

        def preference(comparison: Comparison) -> Iterable[dict[str, Any]]:
            won = first_won(comparison)
            prompt, one, other = contents(comparison, style)
            chosen, rejected = (one, other) if won else (other, one)
            yield {"prompt": prompt, "chosen": chosen, "rejected": rejected, **layout.extra_of(comparison)}

        with writing_records(path) as writer:
            return write_rows(rows, writer, preference, layout)


def contents(comparison: Comparison, conversational: bool) -> tuple[Any, Any, Any]:
    """Return the prompt and the two answers, all as texts or all as messages."""
    convert = as_messages if conversational else as_text
    prompt = "" if comparison.prompt is None and not conversational else convert(comparison.prompt, "user")
    one, other = (convert(part, "assistant") for part in (comparison.payload_first, comparison.payload_second))
    if prompt is None or one is None or other is None:
        has_messages = any(
            is_messages(part) for part in (comparison.prompt, comparison.payload_first, comparison.payload_second)
        )
        raise UnsupportedComparison(
            "a conversation among texts" if has_messages and not conversational else _missing(comparison)
        )
    return prompt, one, other


def _missing(comparison: Comparison) -> str:
    answers = (comparison.payload_first, comparison.payload_second)
    return "without text" if any(as_text(part) is None for part in answers) else "without a prompt"


def _parts(row: Row) -> tuple[Any, Any, Any]:
    chosen, rejected = (_content(row, name) for name in ("chosen", "rejected"))
    if isinstance(chosen, list) != isinstance(rejected, list):
        raise field_error(row, "rejected", "the same kind as chosen: two texts, or two lists of messages")
    if row.fields.get("prompt") is not None:
        return _content(row, "prompt") or None, chosen, rejected  # an empty prompt is an unknown one
    shared = shared_prefix_length(chosen, rejected) if isinstance(chosen, list) else _shared_text(chosen, rejected)
    return (chosen[:shared] or None), chosen[shared:], rejected[shared:]


def _content(row: Row, name: str) -> Any:
    value = row.fields.get(name)
    if not (isinstance(value, str) or is_messages(value)):
        raise field_error(row, name, _EXPECTED)
    return value


def _shared_text(chosen: str, rejected: str) -> int:
    """Return the length of the common beginning of two texts.

    A space before the difference belongs to the answers, as in TRL.
    """
    end = next((k for k, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    if end is None:
        return min(len(chosen), len(rejected))
    return end - 1 if end and chosen[end - 1] == " " else end
