"""duelist's own format: JSON lines with every field, after a version line.

    {"format": "duelist.votes", "version": 1} {"first": "a", "second": "b", "outcome": "tie", "voted_at":
    "2026-01-31T12:00:00+00:00", "rater": "ana"}

Fields with their default values are omitted. A vote that was undone has the outcome null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats.comparison import Comparison, ExportReport
from duelist.study.formats.fields import (
    extra_fields,
    field_error,
    optional_chosen_by,
    optional_id,
    optional_number,
    optional_propensity,
    optional_source,
    optional_time,
    parse_id,
    parse_outcome,
    require,
    to_iso,
)
from duelist.study.formats.files import Row
from duelist.study.formats.files.json_records import read_json, writing_json
from duelist.study.formats.files.row import shorten
from duelist.study.records import Outcome

FORMAT: Final = "duelist.votes"
VERSION: Final = 1
COLUMNS: Final = tuple(each.name for each in fields(Comparison))
_KNOWN: Final = frozenset(COLUMNS)

_DEFAULTS: Final = {each.name: each.default for each in fields(Comparison) if each.name != "extra"} | {"extra": {}}
_ALWAYS: Final = ("first", "second", "outcome")
_OUTCOMES: Final = {str(outcome): outcome for outcome in Outcome}


def read(path: Path) -> Iterator[Comparison]:
    """Yield the comparisons of a file exactly as they were written."""
    rows = read_json(path)
    _check_header(path, next(rows, None))
    for row in rows:
        if "format" in row.fields:  # files that were concatenated have a header each
            _check_header(path, row)
            continue
        unknown = extra_fields(row, _KNOWN)
        if unknown:
            raise InvalidInput(
                f"{row.where} has the unknown field {next(iter(unknown))!r}.",
                "Put fields of your own into extra: {...}.",
            )
        yield _comparison(row)


def write(comparisons: Iterable[Comparison], path: Path) -> ExportReport:
    """Write every comparison with all its fields."""
    rows = 0
    with writing_json(path, array=False) as writer:
        writer({"format": FORMAT, "version": VERSION})
        for comparison in comparisons:
            writer(_record(comparison))
            rows += 1
    return ExportReport(rows)


def _check_header(path: Path, row: Row | None) -> None:
    if row is None or row.fields.get("format") != FORMAT:
        raise InvalidInput(
            f'{path.name} does not begin with {{"format": "{FORMAT}", "version": {VERSION}}}.',
            "Name its format if it is another one, such as arena or trl.",
        )
    version = row.fields.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path.name} has version {shorten(version)}, and this release reads version {VERSION}.",
            "Install a newer release.",
        )


def _record(comparison: Comparison) -> dict[str, Any]:
    record = {name: getattr(comparison, name) for name in COLUMNS}
    record["voted_at"] = to_iso(comparison.voted_at)
    return {name: value for name, value in record.items() if name in _ALWAYS or value != _DEFAULTS[name]}


def _comparison(row: Row) -> Comparison:
    if "outcome" not in row.fields:
        raise field_error(row, "outcome", "one of " + ", ".join(_OUTCOMES) + ", or null for a vote that was undone")
    return Comparison(
        first=parse_id(row, "first"),
        second=parse_id(row, "second"),
        outcome=None if row.fields["outcome"] is None else parse_outcome(row, "outcome", _OUTCOMES),
        rater=_optional_text(row, "rater"),
        context=_optional_text(row, "context"),
        voted_at=optional_time(row, "voted_at"),
        source=optional_source(row),
        response_seconds=optional_number(row, "response_seconds"),
        chosen_by=optional_chosen_by(row),
        propensity=optional_propensity(row),
        prompt=row.fields.get("prompt"),
        payload_first=row.fields.get("payload_first"),
        payload_second=row.fields.get("payload_second"),
        late=require(row, "late", bool) if "late" in row.fields else False,
        sequence=_optional_whole(row, "sequence"),
        duel_id=_optional_whole(row, "duel_id"),
        revises=_optional_whole(row, "revises"),
        reason=_optional_text(row, "reason"),
        criterion=_optional_text(row, "criterion"),
        extra=require(row, "extra", dict) if "extra" in row.fields else {},
    )


def _optional_text(row: Row, name: str) -> str | None:
    """Return a text, which may be empty in this format.

    None where the field is missing or null.
    """
    return "" if row.fields.get(name) == "" else optional_id(row, name)


def _optional_whole(row: Row, name: str) -> int | None:
    return None if row.fields.get(name) is None else int(require(row, name, int))
