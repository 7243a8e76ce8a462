"""Label Studio's pairwise results: tasks with `data` and `annotations`, each with a result of type `pairwise`.

`value.selected` is `left` or `right`. An annotation that was cancelled, or has nothing selected, is read as a skip.
Which keys of `data` hold the two things is the labelling configuration's business: `$text1` and `$text2` in Label
Studio's own template, and so here unless told otherwise. `completed_by` is the rater and `lead_time` the response time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, Written, arm_id, as_text, different
from duelist.study.formats.fields import (
    iso,
    need,
    one_of,
    optional_name,
    optional_number,
    optional_time,
    rest,
    wrong,
)
from duelist.study.formats.json_records import Row, read_json, writing_json
from duelist.study.formats.writing import CONTENTS, Layout, Unheld, beside_texts, surveyed, why_not, write_each
from duelist.study.records import Outcome

LEFT: Final = "text1"
RIGHT: Final = "text2"
PROMPT: Final = "prompt"
CONTROL: Final = "pw"
HOLDS: Final = ("rater", "context", "voted_at", "response_seconds", *CONTENTS)

_MEANINGS: Final = {"left": Outcome.FIRST, "right": Outcome.SECOND}
_WORDS: Final = {outcome: word for word, outcome in _MEANINGS.items()}
_DATA: Final = (LEFT, RIGHT, PROMPT, f"{LEFT}_id", f"{RIGHT}_id", "context")


def read(path: Path, *, left: str = LEFT, right: str = RIGHT, prompt: str = PROMPT) -> Iterator[Comparison]:
    """The annotations of an export, one at a time; `left`, `right` and `prompt` are keys of a task's `data`.

    Ids are `data`'s `<left>_id` and `<right>_id` where it has them, and made from the contents otherwise (`arm_id`).
    """
    for task in read_json(path):
        data = Row(f"{task.where}, data", need(task, "data", dict, "an object with what was compared"))
        for name in (left, right):
            if data.fields.get(name) is None:
                raise wrong(data, name, f"it, or name the keys that were compared; there are {', '.join(data.fields)}")
        for number, annotation in enumerate(need(task, "annotations", list, "a list, which may be empty")):
            where = f"{task.where}, annotation {number + 1}"
            if not isinstance(annotation, dict):
                raise wrong(task, "annotations", "a list of objects")
            yield _comparison(data, Row(where, annotation), (left, right, prompt))


def write(comparisons: Iterable[Comparison], path: Path) -> Written:
    """Write a task with one annotation for each win and each skip; ties and votes without text are left out.

    Label Studio knows raters by number or e-mail address; any other rater is dropped from the annotation.
    """
    with (
        surveyed(comparisons, (*_WORDS, Outcome.SKIP)) as (survey, everything),
        writing_json(path, array=True) as writer,
    ):
        layout = Layout(HOLDS, _DATA, survey, loses=_unwritten, changes=beside_texts, sparse=True)

        numbers = count(1)

        def task(comparison: Comparison) -> Iterable[dict[str, Any]]:
            one = _task(comparison)
            # Label Studio's converter wants a number in each task, which an import into Label Studio replaces by its own.
            yield {"id": next(numbers), **one, "data": one["data"] | layout.beside(comparison)}

        return write_each(everything, writer, task, layout)


def _comparison(data: Row, annotation: Row, keys: tuple[str, str, str]) -> Comparison:
    left, right, prompt = keys
    one, other = data.fields[left], data.fields[right]
    ids = [optional_name(data, f"{name}_id") or arm_id(data.fields[name]) for name in (left, right)]
    first, second = different(annotation.where, *ids)
    known = (left, right, prompt, f"{left}_id", f"{right}_id", "context")
    return Comparison(
        first=first,
        second=second,
        outcome=_outcome(annotation),
        rater=_rater(annotation),
        context=optional_name(data, "context"),
        voted_at=optional_time(annotation, "created_at"),
        response_seconds=optional_number(annotation, "lead_time"),
        prompt=data.fields.get(prompt),
        payload_first=one,
        payload_second=other,
        extra=rest(data, known),
    )


def _outcome(annotation: Row) -> Outcome:
    results = need(annotation, "result", list, "a list of results")
    chosen = [each for each in results if isinstance(each, dict) and each.get("type") == "pairwise"]
    if annotation.fields.get("was_cancelled") or not chosen:
        return Outcome.SKIP
    value = need(Row(f"{annotation.where}, pairwise result", chosen[0]), "value", dict)
    return one_of(Row(f"{annotation.where}, value", value), "selected", _MEANINGS)


def _rater(annotation: Row) -> str | None:
    value = annotation.fields.get("completed_by")
    if isinstance(value, Mapping):
        person = Row(f"{annotation.where}, completed_by", dict(value))
        return optional_name(person, "email") or optional_name(person, "id")
    return optional_name(annotation, "completed_by")


def _task(comparison: Comparison) -> dict[str, Any]:
    if comparison.outcome not in (*_WORDS, Outcome.SKIP):
        raise Unheld(why_not(comparison.outcome))
    one, other = as_text(comparison.payload_first), as_text(comparison.payload_second)
    if one is None or other is None:
        raise Unheld("without text")
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
        "created_at": iso(comparison.voted_at),
        "lead_time": comparison.response_seconds,
        "completed_by": _completed_by(comparison.rater),
    }
    return {name: value for name, value in annotation.items() if value is not None}


def _completed_by(rater: str | None) -> int | dict[str, str] | None:
    if rater is not None and "@" in rater:
        return {"email": rater}
    return int(rater) if rater is not None and re.fullmatch(r"0|[1-9][0-9]{0,17}", rater) else None


def _unwritten(comparison: Comparison) -> Iterable[str]:
    return () if _completed_by(comparison.rater) is not None else ("rater",)
