"""Write comparisons in any format: survey all of them, then write each row.

What a format cannot hold is counted. Programs that read a file by columns infer their types from its first rows. So
every record has the same fields, all values of a column have one type, and extra fields that only some comparisons
have, or that vary in type, are packed as JSON into one text.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from duelist.study.formats import jsonl
from duelist.study.formats.comparison import Comparison, ExportReport, as_text, is_messages
from duelist.study.formats.fields import EXTRA
from duelist.study.formats.files.json_records import RowWriter
from duelist.study.formats.files.tables import fits_cell, to_json
from duelist.study.records import ChosenBy, Outcome, Source

_REPORTED: Final = (
    "rater",
    "context",
    "voted_at",
    "response_seconds",
    "prompt",
    "payload_first",
    "payload_second",
    "source",
    "chosen_by",
    "propensity",
    "reason",
    "criterion",
)
"""Fields whose loss is reported. That of numbers of a log (`sequence`, `duel_id`, ...) is not."""
_UNSET: Final = (None, Source.IMPORT, ChosenBy.IMPORT)
CONTENTS: Final = ("prompt", "payload_first", "payload_second")
WINS: Final = (Outcome.FIRST, Outcome.SECOND)


class UnsupportedComparison(Exception):
    """A comparison that the format cannot hold; the argument is the reason."""


# -- survey ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What the comparisons of a file contain."""

    extra_names: tuple[str, ...]
    """Extra fields in the order of their first appearance."""
    uniform: frozenset[str]
    """Extra fields that every comparison has, with values of one type."""
    has_text: bool
    """Whether any payload is text."""
    has_messages: bool
    """Whether any prompt or payload is a list of messages."""
    fits_cells: bool
    """Whether table cells can hold every prompt, payload and extra field as it is."""


@contextmanager
def surveying(
    comparisons: Iterable[Comparison], outcomes: Collection[Outcome]
) -> Iterator[tuple[Survey, Iterable[Comparison]]]:
    """Survey the comparisons with these outcomes, and return all of them.

    An iterator, which can be read only once, is stored in a temporary file meanwhile.
    """
    if iter(comparisons) is not comparisons:
        yield _survey(comparisons, outcomes), comparisons
        return
    with tempfile.TemporaryDirectory(prefix="duelist-") as folder:
        stored = Path(folder) / "comparisons.jsonl"
        jsonl.write(comparisons, stored)
        yield _survey(jsonl.read(stored), outcomes), jsonl.read(stored)


def _survey(comparisons: Iterable[Comparison], outcomes: Collection[Outcome]) -> Survey:
    same_type: Counter[str] = Counter()
    types: dict[str, Any] = {}
    count, has_text, has_messages, fits_cells = 0, False, False, True
    for comparison in comparisons:
        if comparison.outcome not in outcomes:
            continue
        count += 1
        contents = [getattr(comparison, name) for name in CONTENTS]
        has_text = has_text or any(is_messages(part) or as_text(part) is not None for part in contents[1:])
        has_messages = has_messages or any(is_messages(part) for part in contents)
        fits_cells = fits_cells and all(part is None or fits_cell(part) for part in contents)
        for name, value in comparison.extra.items():
            fits_cells = fits_cells and fits_cell(value)
            kind = _type_of(value)
            same_type[name] += types.setdefault(name, kind) == kind
    uniform = frozenset(
        name for name in types if same_type[name] == count and types[name] is not None and name != EXTRA
    )
    return Survey(tuple(types), uniform, has_text, has_messages, fits_cells)


def _type_of(value: Any) -> Any:
    """Return a value that is equal for values of one inferred column type.

    None where no type can be inferred.
    """
    if isinstance(value, Mapping):
        parts = {name: _type_of(part) for name, part in value.items()}
        return None if not parts or None in parts.values() else ("object", tuple(sorted(parts.items())))
    if isinstance(value, list):
        types = {_type_of(part) for part in value}
        return ("list", types.pop()) if len(types) == 1 and None not in types else None
    return None if value is None else type(value).__name__


# -- rows --------------------------------------------------------------------------------


def _nothing(_: Comparison) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Layout:
    """What a format can hold."""

    holds: Collection[str]
    """Fields of a comparison that it can hold."""
    reserved: Collection[str]
    """Its own names, which no extra field may take."""
    survey: Survey
    """What the comparisons contain."""
    placed: Collection[str] = ()
    """Extra fields that the format has a place for."""
    loses: Callable[[Comparison], Iterable[str]] = _nothing
    """Return fields that the format can hold in general, but not for this comparison."""
    changes: Callable[[Comparison], Iterable[str]] = _nothing
    """Return what the format expresses in another way for this comparison."""
    sparse: bool = False
    """Whether records may lack fields, so that none has to be packed."""
    takes_extra: bool = True
    """Whether the format takes extra fields at all."""

    def extra_of(self, comparison: Comparison) -> dict[str, Any]:
        """Return the extra fields of a record: each under its name, or packed."""
        given = {name: value for name, value in comparison.extra.items() if name not in self.placed}
        separate = {name: value for name, value in given.items() if self._is_separate(name)}
        if all(self._is_separate(name) for name in self.survey.extra_names if name not in self.placed):
            return separate
        return separate | {EXTRA: to_json({name: value for name, value in given.items() if name not in separate})}

    def extra_columns(self) -> tuple[str, ...]:
        """Return the extra columns of a table."""
        names = [name for name in self.survey.extra_names if name not in self.placed]
        separate = [name for name in names if self._is_separate(name)]
        return (*separate, EXTRA) if len(separate) < len(names) else tuple(separate)

    def _is_separate(self, name: str) -> bool:
        return name not in self.reserved and name != EXTRA and (self.sparse or name in self.survey.uniform)


def write_rows(
    comparisons: Iterable[Comparison],
    writer: RowWriter,
    convert: Callable[[Comparison], Iterable[dict[str, Any]]],
    layout: Layout,
) -> ExportReport:
    """Write what the format can hold, and count what it cannot.

    `convert` returns the records of a comparison, with its extra fields, or raises `UnsupportedComparison`.
    """
    skipped: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    unsupported = [name for name in _REPORTED if name not in layout.holds]
    rows = 0
    for comparison in comparisons:
        try:
            records = list(convert(comparison))
        except UnsupportedComparison as reason:
            skipped[str(reason)] += 1
            continue
        for record in records:
            writer(record)
        rows += len(records)
        lost.update(name for name in {*unsupported, *layout.loses(comparison)} if _is_set(getattr(comparison, name)))
        changed.update(layout.changes(comparison))
        if not layout.takes_extra:
            lost.update(f"extra {name}" for name in comparison.extra)
    order = {name: k for k, name in enumerate(_REPORTED)}
    sorted_lost = sorted(lost.items(), key=lambda one: order.get(one[0], len(order)))
    return ExportReport(rows, dict(skipped), dict(sorted_lost), dict(changed))


def _is_set(value: Any) -> bool:
    return not any(value is unset for unset in _UNSET)


def first_won(comparison: Comparison) -> bool:
    """Return whether the first won.

    Raise `UnsupportedComparison` unless one of them did.
    """
    if comparison.outcome not in WINS:
        raise UnsupportedComparison(outcome_name(comparison.outcome))
    return comparison.outcome is Outcome.FIRST


def outcome_name(outcome: Outcome | None) -> str:
    """Return the name of an outcome for a report."""
    return "undone" if outcome is None else str(outcome)


def reduced_to_text(comparison: Comparison) -> Iterable[str]:
    """Yield the payloads of which a format of texts keeps only the text."""
    for name in CONTENTS:
        content = getattr(comparison, name)
        if isinstance(content, Mapping) and as_text(content) is not None:
            yield f"{name} as its text alone"
