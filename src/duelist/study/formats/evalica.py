"""CSV as evalica's command line reads it: `left, right, winner`, and of winners only `left`, `right` and `tie`.

evalica stops at any other word. So both bad is written as a tie, and counted as changed; a skip is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, Written
from duelist.study.formats.csv_tables import writing_csv
from duelist.study.formats.writing import Layout, Unheld, surveyed, why_not, write_each
from duelist.study.records import Outcome

COLUMNS: Final = ("left", "right", "winner")

_WORDS: Final = {Outcome.FIRST: "left", Outcome.SECOND: "right", Outcome.TIE: "tie", Outcome.BOTH_BAD: "tie"}


def write(comparisons: Iterable[Comparison], path: Path) -> Written:
    """Write who won against whom, and nothing else."""
    with surveyed(comparisons, _WORDS) as (survey, everything), writing_csv(path, COLUMNS) as writer:
        return write_each(everything, writer, _row, Layout((), COLUMNS, survey, changes=_changes, takes_extra=False))


def _row(comparison: Comparison) -> Iterable[dict[str, Any]]:
    if comparison.outcome not in _WORDS:
        raise Unheld(why_not(comparison.outcome))
    yield {"left": comparison.first, "right": comparison.second, "winner": _WORDS[comparison.outcome]}


def _changes(comparison: Comparison) -> Iterable[str]:
    return ("both_bad as tie",) if comparison.outcome is Outcome.BOTH_BAD else ()
