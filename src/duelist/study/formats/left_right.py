"""CSV with one row per vote: `left, right, winner`, and further columns.

`winner` is `left`, `right`, `tie`, `both_bad` or `skip`; `first`, `second`, `A`, `B`, `draw`, and the id or the text of
the winning item are read, too. So are `first, second, outcome` as names of the columns. An empty cell is an unknown
value; other columns are kept as text. What a cell cannot hold as it is (messages, an empty text, a number that is not
text) is written as JSON, and the last column, `json`, names those cells of its row; without such cells there is no such
column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from duelist.study.formats.comparison import Comparison, ExportReport, check_distinct
from duelist.study.formats.fields import (
    extra_fields,
    optional_chosen_by,
    optional_id,
    optional_number,
    optional_propensity,
    optional_source,
    optional_time,
    parse_id,
    parse_outcome,
    time_zone,
    to_iso,
)
from duelist.study.formats.files import Row
from duelist.study.formats.files.tables import JSON_CELLS, encode_json_cells, read_table, writing_csv
from duelist.study.formats.writing import CONTENTS, Layout, UnsupportedComparison, outcome_name, surveying, write_rows
from duelist.study.records import Outcome

REQUIRED: Final = ("left", "right", "winner")
COLUMNS: Final = (
    *REQUIRED,
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
_KNOWN: Final = frozenset(COLUMNS)
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
"""The names of fields of a comparison in this format."""
OTHER_NAMES: Final = {
    "left": ("first", "item_a", "option_a"),
    "right": ("second", "item_b", "option_b"),
    "winner": ("outcome", "vote", "choice", "preferred"),
    "left_text": ("first_text",),
    "right_text": ("second_text",),
}
"""Other names for columns, in order of preference."""
RATERS: Final = ("worker", "annotator", "judge")
"""Other names for the column `rater`, in order of preference."""

_CELLS: Final = ("prompt", "left_text", "right_text")
_WORDS: Final = {Outcome.FIRST: "left", Outcome.SECOND: "right"}
_OTHER_WORDS: Final = {
    "first": Outcome.FIRST,
    "second": Outcome.SECOND,
    "a": Outcome.FIRST,
    "b": Outcome.SECOND,
    "draw": Outcome.TIE,
    "both bad": Outcome.BOTH_BAD,
}
_OUTCOMES: Final = {_WORDS.get(outcome, str(outcome)): outcome for outcome in Outcome}


def read(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    timezone: str = "UTC",
) -> Iterator[Comparison]:
    """Yield the votes of a file.

    `columns` maps fields to columns of the file, as in `{"rater": "worker"}`. Times without an offset are in `timezone`.
    """
    ours = {NAMES.get(name, name): theirs for name, theirs in (columns or {}).items()}
    zone = time_zone(timezone)
    for found in read_table(path, REQUIRED, ours, encoding, other_names=OTHER_NAMES):
        row = _with_rater(found)
        first, second = check_distinct(row.where, parse_id(row, "left"), parse_id(row, "right"))
        yield Comparison(
            first=first,
            second=second,
            outcome=_parse_winner(row),
            rater=optional_id(row, "rater"),
            context=optional_id(row, "context"),
            voted_at=optional_time(row, "voted_at", zone),
            source=optional_source(row),
            response_seconds=optional_number(row, "response_seconds"),
            chosen_by=optional_chosen_by(row),
            propensity=optional_propensity(row),
            reason=optional_id(row, "reason"),
            criterion=optional_id(row, "criterion"),
            **{name: _content(found, cell) for name, cell in zip(CONTENTS, _CELLS, strict=True)},
            extra=_extra(row),
        )


def write(comparisons: Iterable[Comparison], path: Path) -> ExportReport:
    """Write every vote, except those that were undone, with all its fields."""
    with surveying(comparisons, tuple(Outcome)) as (survey, rows):
        layout = Layout(HOLDS, (*COLUMNS, JSON_CELLS), survey, loses=_lost, sparse=True)

        def row(comparison: Comparison) -> Iterable[dict[str, Any]]:
            extra = layout.extra_of(comparison)
            yield encode_json_cells(_row(comparison) | extra, (*_CELLS, *extra))

        with writing_csv(
            path, [*COLUMNS, *layout.extra_columns(), *(() if survey.fits_cells else (JSON_CELLS,))]
        ) as writer:
            return write_rows(rows, writer, row, layout)


def _parse_winner(row: Row) -> Outcome:
    """Return the outcome that the cell `winner` names: by a side, as A or B, or by the id or the text of the winning item."""
    cell = row.fields.get("winner")
    word = cell.strip() if isinstance(cell, str) else str(cell)
    found = _OUTCOMES.get(word.casefold())
    if found is not None:
        return found
    sides = (("left", "left_text", Outcome.FIRST), ("right", "right_text", Outcome.SECOND))
    named = {won for item, text, won in sides if word and word in (_stripped(row, item), _stripped(row, text))}
    if len(named) == 1:
        return named.pop()
    return parse_outcome(row, "winner", {**_OUTCOMES, **_OTHER_WORDS})


def _stripped(row: Row, name: str) -> str:
    value = row.fields.get(name)
    return value.strip() if isinstance(value, str) else str(value)


def _with_rater(row: Row) -> Row:
    theirs = next((name for name in RATERS if name in row.fields), None)
    if theirs is None or "rater" in row.fields:
        return row
    return row._replace(fields={"rater" if name == theirs else name: cell for name, cell in row.fields.items()})


def _content(row: Row, cell: str) -> Any:
    """Return a text, or a value decoded from JSON.

    An empty cell is None unless it was JSON.
    """
    value = row.fields.get(cell)
    return None if value == "" and cell not in row.json_cells else value


def _extra(row: Row) -> dict[str, Any]:
    if row.fields.keys() <= _KNOWN:
        return {}
    return {name: cell for name, cell in extra_fields(row, _KNOWN).items() if cell != "" or name in row.json_cells}


def _row(comparison: Comparison) -> dict[str, Any]:
    if comparison.outcome is None:
        raise UnsupportedComparison(outcome_name(None))
    record = {
        "left": comparison.first,
        "right": comparison.second,
        "winner": _WORDS.get(comparison.outcome, str(comparison.outcome)),
        "rater": comparison.rater,
        "context": comparison.context,
        "voted_at": to_iso(comparison.voted_at),
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


def _lost(comparison: Comparison) -> Iterable[str]:
    return (name for name in ("rater", "context", "reason", "criterion") if getattr(comparison, name) == "")
