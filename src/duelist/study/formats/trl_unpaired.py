"""TRL's unpaired preference format: `prompt, completion, label`.

Each row has one answer and whether it is good. A win becomes two rows, `true` for the winner and `false` for the loser;
"both bad" becomes two rows with `false`. The pair is lost, so such a file cannot be read back into comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, ExportReport
from duelist.study.formats.files import writing_records
from duelist.study.formats.trl import HOLDS, contents
from duelist.study.formats.writing import (
    Layout,
    UnsupportedComparison,
    outcome_name,
    reduced_to_text,
    surveying,
    write_rows,
)
from duelist.study.records import Outcome

COLUMNS: Final = ("prompt", "completion", "label")

_LABELS: Final = {Outcome.FIRST: (True, False), Outcome.SECOND: (False, True), Outcome.BOTH_BAD: (False, False)}


def write(comparisons: Iterable[Comparison], path: Path, *, conversational: bool | None = None) -> ExportReport:
    """Write two rows per comparison.

    Ties, skips and votes without text are skipped; see `trl.write`.
    """
    with surveying(comparisons, _LABELS) as (survey, rows):
        style = survey.has_messages if conversational is None else conversational
        layout = Layout(HOLDS, COLUMNS, survey, changes=reduced_to_text)

        def labelled(comparison: Comparison) -> Iterable[dict[str, Any]]:
            if comparison.outcome not in _LABELS:
                raise UnsupportedComparison(outcome_name(comparison.outcome))
            prompt, *answers = contents(comparison, style)
            for answer, good in zip(answers, _LABELS[comparison.outcome], strict=True):
                yield {"prompt": prompt, "completion": answer, "label": good, **layout.extra_of(comparison)}

        with writing_records(path) as writer:
            return write_rows(rows, writer, labelled, layout)
