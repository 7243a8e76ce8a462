"""OpenAI's preference fine-tuning: `input` with `messages`, `preferred_output`, `non_preferred_output`, a line each.

`tools` and `parallel_tool_calls` of the input are kept as extra fields and written back. What was preferred is read as
the first of the pair, and ids are made from the contents (`arm_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, Written, arm_id, as_messages, different, is_messages, plainest
from duelist.study.formats.fields import need, rest, wrong
from duelist.study.formats.json_records import Row, read_json, writing_json
from duelist.study.formats.writing import CONTENTS, WINS, Layout, Unheld, beside_texts, decided, surveyed, write_each
from duelist.study.records import Outcome

COLUMNS: Final = ("input", "preferred_output", "non_preferred_output")
INPUT_EXTRAS: Final = ("tools", "parallel_tool_calls")
HOLDS: Final = CONTENTS

_ANSWER_ROLES: Final = ("assistant", "tool")


def read(path: Path) -> Iterator[Comparison]:
    """The preferences of a file, one at a time."""
    for row in read_json(path):
        given = Row(f"{row.where}, input", need(row, "input", dict, "an object with messages"))
        if not is_messages(given.fields.get("messages")):
            raise wrong(given, "messages", "a list of messages with role and content")
        preferred, other = (_output(row, name) for name in COLUMNS[1:])
        first, second = different(row.where, arm_id(preferred), arm_id(other))
        yield Comparison(
            first=first,
            second=second,
            outcome=Outcome.FIRST,
            prompt=plainest(given.fields["messages"], "user"),
            payload_first=preferred,
            payload_second=other,
            extra={**rest(row, COLUMNS), **rest(given, ("messages",))},
        )


def write(comparisons: Iterable[Comparison], path: Path) -> Written:
    """Write the wins as JSON lines; ties, skips, and votes without a prompt or without text are left out."""
    with surveyed(comparisons, WINS) as (survey, everything), writing_json(path, array=False) as writer:
        layout = Layout(HOLDS, COLUMNS, survey, placed=INPUT_EXTRAS, changes=beside_texts)
        return write_each(everything, writer, lambda one: [_example(one) | layout.beside(one)], layout)


def _example(comparison: Comparison) -> dict[str, Any]:
    won = decided(comparison)
    one, other = (_answer(part) for part in (comparison.payload_first, comparison.payload_second))
    prompt = as_messages(comparison.prompt, "user")
    if prompt is None:
        raise Unheld("without a prompt")
    return {
        "input": {"messages": prompt, **{k: comparison.extra[k] for k in INPUT_EXTRAS if k in comparison.extra}},
        "preferred_output": one if won else other,
        "non_preferred_output": other if won else one,
    }


def _answer(content: Any) -> list[dict[str, Any]]:
    messages = as_messages(content, "assistant")
    if messages is None:
        raise Unheld("without text")
    if any(message["role"] not in _ANSWER_ROLES for message in messages):
        raise Unheld("an answer of several turns")
    return messages


def _output(row: Row, name: str) -> Any:
    value = row.fields.get(name)
    if not is_messages(value):
        raise wrong(row, name, "a list of messages with role and content")
    return plainest(value, "assistant")
