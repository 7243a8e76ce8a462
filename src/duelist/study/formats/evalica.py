"""CSV for evalica's command line: `left, right, winner`.

evalica rejects any other word. So "both bad" is written as a tie and counted as changed, and skips are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, ExportReport
from duelist.study.formats.files.tables import writing_csv
from duelist.study.formats.writing import Layout, UnsupportedComparison, outcome_name, surveying, write_rows
from duelist.study.records import Outcome

COLUMNS: Final = ("left", "right", "winner")

_WORDS: Final = {Outcome.FIRST: "left", Outcome.SECOND: "right", Outcome.TIE: "tie", Outcome.BOTH_BAD: "tie"}


def write(comparisons: Iterable[Comparison], path: Path) -> ExportReport:
    """Write the two items and the winner of each comparison."""
    with surveying(comparisons, _WORDS) as (survey, rows), writing_csv(path, COLUMNS) as writer:
        return write_rows(rows, writer, _row, Layout((), COLUMNS, survey, changes=_changes, takes_extra=False))


def _row(comparison: Comparison) -> Iterable[dict[str, Any]]:
    if comparison.outcome not in _WORDS:
        raise UnsupportedComparison(outcome_name(comparison.outcome))
    yield {"left": comparison.first, "right": comparison.second, "winner": _WORDS[comparison.outcome]}


def _changes(comparison: Comparison) -> Iterable[str]:
    return ("both_bad as tie",) if comparison.outcome is Outcome.BOTH_BAD else ()
