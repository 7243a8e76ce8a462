"""CSV with a row a vote: `left, right, winner`, and more columns where more is known.

`winner` is `left`, `right`, `tie`, `both_bad` or `skip`. An empty cell says that nothing is known; columns that are not
named here are kept as text. What a cell cannot hold as it is (messages, an empty text, a number that is no text) is written
as JSON, and the last column, `json`, names the cells of the row that are; without such cells there is no such column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, Written, different
from duelist.study.formats.csv_tables import JSON_CELLS, read_table, with_json_cells, writing_csv
from duelist.study.formats.fields import (
    iso,
    name_of,
    one_of,
    optional_chosen_by,
    optional_name,
    optional_number,
    optional_propensity,
    optional_source,
    optional_time,
    rest,
)
from duelist.study.formats.json_records import Row
from duelist.study.formats.writing import CONTENTS, Layout, Unheld, surveyed, why_not, write_each
from duelist.study.records import Outcome

NEEDED: Final = ("left", "right", "winner")
COLUMNS: Final = (
    *NEEDED,
    "rater",
    "context",
    "voted_at",
    "source",
    "response_seconds",
    "chosen_by",
    "propensity",
    "reason",
    "criterion",
    "prompt",
    "left_text",
    "right_text",
)
HOLDS: Final = (
    "rater",
    "context",
    "voted_at",
    "source",
    "response_seconds",
    "chosen_by",
    "propensity",
    "reason",
    "criterion",
    *CONTENTS,
)
NAMES: Final = {"first": "left", "second": "right", "outcome": "winner", "payload_first": "left_text",
                "payload_second": "right_text"}  # fmt: skip
"""What this format calls the fields of a comparison."""
RATERS: Final = ("worker", "annotator", "judge")
"""What others call the rater: the first of these that is there, where there is no column `rater`."""

_CELLS: Final = ("prompt", "left_text", "right_text")
_WORDS: Final = {Outcome.FIRST: "left", Outcome.SECOND: "right"}
_MEANINGS: Final = {_WORDS.get(outcome, str(outcome)): outcome for outcome in Outcome}


def read(path: Path, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> Iterator[Comparison]:
    """The votes of a file, one at a time; `columns` says what the file calls a column, `{"rater": "worker"}`."""
    ours = {NAMES.get(name, name): theirs for name, theirs in (columns or {}).items()}
    for found in read_table(path, NEEDED, ours, encoding):
        row = _with_rater(found)
        first, second = different(row.where, name_of(row, "left"), name_of(row, "right"))
        yield Comparison(
            first=first,
            second=second,
            outcome=one_of(row, "winner", _MEANINGS),
            rater=optional_name(row, "rater"),
            context=optional_name(row, "context"),
            voted_at=optional_time(row, "voted_at"),
            source=optional_source(row),
            response_seconds=optional_number(row, "response_seconds"),
            chosen_by=optional_chosen_by(row),
            propensity=optional_propensity(row),
            reason=optional_name(row, "reason"),
            criterion=optional_name(row, "criterion"),
            **{name: _content(found, cell) for name, cell in zip(CONTENTS, _CELLS, strict=True)},
            extra=_extra(row),
        )


def write(comparisons: Iterable[Comparison], path: Path) -> Written:
    """Write every vote but those undone, with all that is known about it."""
    with surveyed(comparisons, tuple(Outcome)) as (survey, everything):
        layout = Layout(HOLDS, (*COLUMNS, JSON_CELLS), survey, loses=_empty, sparse=True)

        def row(comparison: Comparison) -> Iterable[dict[str, Any]]:
            extra = layout.beside(comparison)
            yield with_json_cells(_row(comparison) | extra, (*_CELLS, *extra))

        with writing_csv(path, [*COLUMNS, *layout.columns(), *(() if survey.plain else (JSON_CELLS,))]) as writer:
            return write_each(everything, writer, row, layout)


def _with_rater(row: Row) -> Row:
    theirs = next((name for name in RATERS if name in row.fields), None)
    if theirs is None or "rater" in row.fields:
        return row
    return row._replace(fields={"rater" if name == theirs else name: cell for name, cell in row.fields.items()})


def _content(row: Row, cell: str) -> Any:
    """A text, or what was written as JSON; an empty cell of a table that has no such column says that nothing is known."""
    value = row.fields.get(cell)
    return None if value == "" and cell not in row.coded else value


def _extra(row: Row) -> dict[str, Any]:
    return {name: cell for name, cell in rest(row, COLUMNS).items() if cell != "" or name in row.coded}


def _row(comparison: Comparison) -> dict[str, Any]:
    if comparison.outcome is None:
        raise Unheld(why_not(None))
    record = {
        "left": comparison.first,
        "right": comparison.second,
        "winner": _WORDS.get(comparison.outcome, str(comparison.outcome)),
        "rater": comparison.rater,
        "context": comparison.context,
        "voted_at": iso(comparison.voted_at),
        "source": str(comparison.source),
        "response_seconds": comparison.response_seconds,
        "chosen_by": str(comparison.chosen_by),
        "propensity": comparison.propensity,
        "reason": comparison.reason,
        "criterion": comparison.criterion,
        "prompt": comparison.prompt,
        "left_text": comparison.payload_first,
        "right_text": comparison.payload_second,
    }
    return {name: value for name, value in record.items() if value is not None}


def _empty(comparison: Comparison) -> Iterable[str]:
    return (name for name in ("rater", "context", "reason", "criterion") if getattr(comparison, name) == "")
