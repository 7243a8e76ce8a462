"""Label Studio's pairwise results: tasks with `data` and `annotations`.

Each annotation has a result of type `pairwise`. `value.selected` is `left` or `right`. An annotation that was
cancelled, or has nothing selected, is read as a skip. The labelling configuration decides which keys of `data` hold the
two items; the defaults are those of Label Studio's own template, `$text1` and `$text2`. `completed_by` is the rater and
`lead_time` the response time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, ExportReport, arm_id, as_text, check_distinct
from duelist.study.formats.fields import (
    extra_fields,
    field_error,
    optional_id,
    optional_number,
    optional_time,
    parse_outcome,
    require,
    to_iso,
)
from duelist.study.formats.files import Row
from duelist.study.formats.files.json_records import read_json, writing_json
from duelist.study.formats.writing import (
    CONTENTS,
    Layout,
    UnsupportedComparison,
    outcome_name,
    reduced_to_text,
    surveying,
    write_rows,
)
from duelist.study.records import Outcome

LEFT: Final = "text1"
RIGHT: Final = "text2"
PROMPT: Final = "prompt"
CONTROL: Final = "pw"
HOLDS: Final = ("rater", "context", "voted_at", "response_seconds", *CONTENTS)

_OUTCOMES: Final = {"left": Outcome.FIRST, "right": Outcome.SECOND}
_WORDS: Final = {outcome: word for word, outcome in _OUTCOMES.items()}
_DATA: Final = (LEFT, RIGHT, PROMPT, f"{LEFT}_id", f"{RIGHT}_id", "context")


def read(path: Path, *, left: str = LEFT, right: str = RIGHT, prompt: str = PROMPT) -> Iterator[Comparison]:
    """Yield the annotations of an export.

    `left`, `right` and `prompt` are keys of a task's `data`. Ids are `<left>_id` and `<right>_id` of `data` where it
    has them, and derived from the contents otherwise (`arm_id`).
    """
    for task in read_json(path):
        data = Row(f"{task.where}, data", require(task, "data", dict, "an object with the two items"))
        for name in (left, right):
            if data.fields.get(name) is None:
                raise field_error(
                    data, name, f"it, or name the keys that were compared, out of {', '.join(data.fields)}"
                )
        for number, annotation in enumerate(require(task, "annotations", list, "a list, which may be empty")):
            where = f"{task.where}, annotation {number + 1}"
            if not isinstance(annotation, dict):
                raise field_error(task, "annotations", "a list of objects")
            yield _comparison(data, Row(where, annotation), (left, right, prompt))


def write(comparisons: Iterable[Comparison], path: Path) -> ExportReport:
    """Write one task with one annotation for each win and each skip.

    Ties and votes without text are skipped. Label Studio identifies raters by number or e-mail address; any other rater
    is lost.
    """
    with (
        surveying(comparisons, (*_WORDS, Outcome.SKIP)) as (survey, rows),
        writing_json(path, array=True) as writer,
    ):
        layout = Layout(HOLDS, _DATA, survey, loses=_lost, changes=reduced_to_text, sparse=True)

        numbers = count(1)

        def task(comparison: Comparison) -> Iterable[dict[str, Any]]:
            one = _task(comparison)
            # Label Studio's converter requires a number in each task; an import into Label Studio replaces it.
            yield {"id": next(numbers), **one, "data": one["data"] | layout.extra_of(comparison)}

        return write_rows(rows, writer, task, layout)


def _comparison(data: Row, annotation: Row, keys: tuple[str, str, str]) -> Comparison:
    left, right, prompt = keys
    one, other = data.fields[left], data.fields[right]
    ids = [optional_id(data, f"{name}_id") or arm_id(data.fields[name]) for name in (left, right)]
    first, second = check_distinct(annotation.where, *ids)
    known = frozenset([left, right, prompt, f"{left}_id", f"{right}_id", "context"])
    return Comparison(
        first=first,
        second=second,
        outcome=_outcome(annotation),
        rater=_rater(annotation),
        context=optional_id(data, "context"),
        voted_at=optional_time(annotation, "created_at"),
        response_seconds=optional_number(annotation, "lead_time"),
        prompt=data.fields.get(prompt),
        payload_first=one,
        payload_second=other,
        extra=extra_fields(data, known),
    )


def _outcome(annotation: Row) -> Outcome:
    results = require(annotation, "result", list, "a list of results")
    chosen = [each for each in results if isinstance(each, dict) and each.get("type") == "pairwise"]
    if annotation.fields.get("was_cancelled") or not chosen:
        return Outcome.SKIP
    value = require(Row(f"{annotation.where}, pairwise result", chosen[0]), "value", dict)
    return parse_outcome(Row(f"{annotation.where}, value", value), "selected", _OUTCOMES)


def _rater(annotation: Row) -> str | None:
    value = annotation.fields.get("completed_by")
    if isinstance(value, Mapping):
        person = Row(f"{annotation.where}, completed_by", dict(value))
        return optional_id(person, "email") or optional_id(person, "id")
    return optional_id(annotation, "completed_by")


def _task(comparison: Comparison) -> dict[str, Any]:
    if comparison.outcome not in (*_WORDS, Outcome.SKIP):
        raise UnsupportedComparison(outcome_name(comparison.outcome))
    one, other = as_text(comparison.payload_first), as_text(comparison.payload_second)
    if one is None or other is None:
        raise UnsupportedComparison("without text")
    data = {
        LEFT: one,
        RIGHT: other,
        f"{LEFT}_id": comparison.first,
        f"{RIGHT}_id": comparison.second,
        PROMPT: comparison.prompt,
        "context": comparison.context,
    }
    return {
        "data": {name: value for name, value in data.items() if value is not None},
        "annotations": [_annotation(comparison)],
    }


def _annotation(comparison: Comparison) -> dict[str, Any]:
    selected = _WORDS.get(comparison.outcome) if comparison.outcome is not None else None
    result = {"from_name": CONTROL, "to_name": CONTROL, "type": "pairwise", "value": {"selected": selected}}
    annotation = {
        "result": [result] if selected else [],
        "was_cancelled": selected is None,
        "created_at": to_iso(comparison.voted_at),
        "lead_time": comparison.response_seconds,
        "completed_by": _completed_by(comparison.rater),
    }
    return {name: value for name, value in annotation.items() if value is not None}


def _completed_by(rater: str | None) -> int | dict[str, str] | None:
    if rater is not None and "@" in rater:
        return {"email": rater}
    return int(rater) if rater is not None and re.fullmatch(r"0|[1-9][0-9]{0,17}", rater) else None


def _lost(comparison: Comparison) -> Iterable[str]:
    return () if _completed_by(comparison.rater) is not None else ("rater",)
