"""TRL's unpaired preference format: `prompt, completion, label`, a row for each answer and whether it is good.

A win makes two rows, the winner's `true` and the loser's `false`; both bad makes two `false`. The pair is lost on the
way, so that such a file cannot be read back into comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, Written
from duelist.study.formats.json_records import writing_json
from duelist.study.formats.trl import HOLDS, contents
from duelist.study.formats.writing import Layout, Unheld, beside_texts, surveyed, why_not, write_each
from duelist.study.records import Outcome

COLUMNS: Final = ("prompt", "completion", "label")

_LABELS: Final = {Outcome.FIRST: (True, False), Outcome.SECOND: (False, True), Outcome.BOTH_BAD: (False, False)}


def write(comparisons: Iterable[Comparison], path: Path, *, conversational: bool | None = None) -> Written:
    """Write two rows a comparison; ties, skips and votes without text are left out. See `trl.write`."""
    with surveyed(comparisons, _LABELS) as (survey, everything):
        style = survey.has_messages if conversational is None else conversational
        layout = Layout(HOLDS, COLUMNS, survey, changes=beside_texts)

        def labelled(comparison: Comparison) -> Iterable[dict[str, Any]]:
            if comparison.outcome not in _LABELS:
                raise Unheld(why_not(comparison.outcome))
            prompt, *answers = contents(comparison, style)
            for answer, good in zip(answers, _LABELS[comparison.outcome], strict=True):
                yield {"prompt": prompt, "completion": answer, "label": good, **layout.beside(comparison)}

        with writing_json(path) as writer:
            return write_each(everything, writer, labelled, layout)
