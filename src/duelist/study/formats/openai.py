"""OpenAI's format for preference fine-tuning.

It is JSON lines with `input.messages`, `preferred_output` and `non_preferred_output`. `tools` and `parallel_tool_calls`
of the input are kept as extra fields and written back. The preferred output is read as the first of the pair, and ids
are derived from the contents (`arm_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import (
    Comparison,
    ExportReport,
    arm_id,
    as_messages,
    check_distinct,
    is_messages,
    simplify_messages,
)
from duelist.study.formats.fields import extra_fields, field_error, require
from duelist.study.formats.files import Row
from duelist.study.formats.files.json_records import read_json, writing_json
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

COLUMNS: Final = ("input", "preferred_output", "non_preferred_output")
_KNOWN: Final = frozenset(COLUMNS)
_KNOWN_IN_INPUT: Final = frozenset(["messages"])
INPUT_EXTRAS: Final = ("tools", "parallel_tool_calls")
HOLDS: Final = CONTENTS

_ANSWER_ROLES: Final = ("assistant", "tool")


def read(path: Path) -> Iterator[Comparison]:
    """Yield the preferences of a file."""
    for row in read_json(path):
        given = Row(f"{row.where}, input", require(row, "input", dict, "an object with messages"))
        if not is_messages(given.fields.get("messages")):
            raise field_error(given, "messages", "a list of messages with role and content")
        preferred, other = (_output(row, name) for name in COLUMNS[1:])
        first, second = check_distinct(row.where, arm_id(preferred), arm_id(other))
        yield Comparison(
            first=first,
            second=second,
            outcome=Outcome.FIRST,
            prompt=simplify_messages(given.fields["messages"], "user"),
            payload_first=preferred,
            payload_second=other,
            extra={**extra_fields(row, _KNOWN), **extra_fields(given, _KNOWN_IN_INPUT)},
        )


def write(comparisons: Iterable[Comparison], path: Path) -> ExportReport:
    """Write the wins as JSON lines, without those that have no prompt or no text."""
    with surveying(comparisons, WINS) as (survey, rows), writing_json(path, array=False) as writer:
        layout = Layout(HOLDS, COLUMNS, survey, placed=INPUT_EXTRAS, changes=reduced_to_text)
        return write_rows(rows, writer, lambda one: [_example(one) | layout.extra_of(one)], layout)


def _example(comparison: Comparison) -> dict[str, Any]:
    won = first_won(comparison)
    one, other = (_answer(part) for part in (comparison.payload_first, comparison.payload_second))
    prompt = as_messages(comparison.prompt, "user")
    if prompt is None:
        raise UnsupportedComparison("without a prompt")
    return {
        "input": {"messages": prompt, **{k: comparison.extra[k] for k in INPUT_EXTRAS if k in comparison.extra}},
        "preferred_output": one if won else other,
        "non_preferred_output": other if won else one,
    }


def _answer(content: Any) -> list[dict[str, Any]]:
    messages = as_messages(content, "assistant")
    if messages is None:
        raise UnsupportedComparison("without text")
    if any(message["role"] not in _ANSWER_ROLES for message in messages):
        raise UnsupportedComparison("an answer of several turns")
    return messages


def _output(row: Row, name: str) -> Any:
    value = row.fields.get(name)
    if not is_messages(value):
        raise field_error(row, name, "a list of messages with role and content")
    return simplify_messages(value, "assistant")
