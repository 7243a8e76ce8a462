"""TRL's preference format: `prompt, chosen, rejected`, as texts or as lists of messages.

The prompt may be implicit: then it is what `chosen` and `rejected` begin with. A row says who won and no more, so that
what was chosen is read as the first of the pair, and ids are made from the contents (`arm_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import (
    Comparison,
    Written,
    arm_id,
    as_messages,
    as_text,
    different,
    is_messages,
    shared_start,
)
from duelist.study.formats.csv_tables import read_rows
from duelist.study.formats.fields import rest, wrong
from duelist.study.formats.json_records import Row, writing_json
from duelist.study.formats.writing import CONTENTS, WINS, Layout, Unheld, beside_texts, decided, surveyed, write_each
from duelist.study.records import Outcome

COLUMNS: Final = ("prompt", "chosen", "rejected")
HOLDS: Final = CONTENTS

_WANTED: Final = "a text, or a list of messages with role and content"


def read(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> Iterator[Comparison]:
    """The preferences of a file of JSON lines, a JSON array or a table, one at a time.

    `columns` says what the file calls a field: `{"chosen": "better", "rejected": "worse"}`.
    """
    for row in read_rows(path, (), columns, encoding):
        prompt, chosen, rejected = _parts(row)
        first, second = different(row.where, arm_id(chosen), arm_id(rejected))
        yield Comparison(
            first=first,
            second=second,
            outcome=Outcome.FIRST,
            prompt=prompt,
            payload_first=chosen,
            payload_second=rejected,
            extra=rest(row, COLUMNS),
        )


def write(comparisons: Iterable[Comparison], path: Path, *, conversational: bool | None = None) -> Written:
    """Write the wins; ties, skips and votes without text are left out.

    All rows of a file are of one kind: texts, or lists of messages (`conversational`), by default where any is a list of
    messages. Texts become messages where needed; a conversation in a file of texts is left out.
    """
    with surveyed(comparisons, WINS) as (survey, everything):
        style = survey.has_messages if conversational is None else conversational
        layout = Layout(HOLDS, COLUMNS, survey, changes=beside_texts)

        def preference(comparison: Comparison) -> Iterable[dict[str, Any]]:
            won = decided(comparison)
            prompt, one, other = contents(comparison, style)
            chosen, rejected = (one, other) if won else (other, one)
            yield {"prompt": prompt, "chosen": chosen, "rejected": rejected, **layout.beside(comparison)}

        with writing_json(path) as writer:
            return write_each(everything, writer, preference, layout)


def contents(comparison: Comparison, conversational: bool) -> tuple[Any, Any, Any]:
    """Prompt and the two answers, all of one kind."""
    convert = as_messages if conversational else as_text
    prompt = "" if comparison.prompt is None and not conversational else convert(comparison.prompt, "user")
    one, other = (convert(part, "assistant") for part in (comparison.payload_first, comparison.payload_second))
    if prompt is None or one is None or other is None:
        chatty = any(
            is_messages(part) for part in (comparison.prompt, comparison.payload_first, comparison.payload_second)
        )
        raise Unheld("a conversation among texts" if chatty and not conversational else _missing(comparison))
    return prompt, one, other


def _missing(comparison: Comparison) -> str:
    answers = (comparison.payload_first, comparison.payload_second)
    return "without text" if any(as_text(part) is None for part in answers) else "without a prompt"


def _parts(row: Row) -> tuple[Any, Any, Any]:
    chosen, rejected = (_content(row, name) for name in ("chosen", "rejected"))
    if isinstance(chosen, list) != isinstance(rejected, list):
        raise wrong(row, "rejected", "the same kind as chosen: two texts, or two lists of messages")
    if row.fields.get("prompt") is not None:
        return _content(row, "prompt") or None, chosen, rejected  # an empty prompt says that none is known
    shared = shared_start(chosen, rejected) if isinstance(chosen, list) else _shared_text(chosen, rejected)
    return (chosen[:shared] or None), chosen[shared:], rejected[shared:]


def _content(row: Row, name: str) -> Any:
    value = row.fields.get(name)
    if not (isinstance(value, str) or is_messages(value)):
        raise wrong(row, name, _WANTED)
    return value


def _shared_text(chosen: str, rejected: str) -> int:
    """Where two texts part; a space before that belongs to the answers, as TRL has it."""
    parting = next((k for k, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    if parting is None:
        return min(len(chosen), len(rejected))
    return parting - 1 if parting and chosen[parting - 1] == " " else parting
