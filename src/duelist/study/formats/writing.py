"""Writing comparisons: what is in the whole file is looked at first, what a format cannot hold is counted.

Programs that read a file by columns take their types from its beginning. So every record has the same fields, those of a
column are of one kind, and extra fields that only some comparisons have, or that differ in shape, lie together as JSON in a
text: nothing is lost, and nothing appears late.
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
from duelist.study.formats.comparison import Comparison, Written, as_text, is_messages
from duelist.study.formats.csv_tables import as_json, is_plain
from duelist.study.formats.fields import EXTRA
from duelist.study.formats.json_records import RowWriter
from duelist.study.records import ChosenBy, Outcome, Source

_COUNTED: Final = (
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
"""Fields whose loss is reported. The numbers of a study's log (sequence, duel_id, ...) no outside format has a place for."""
_NOTHING: Final = (None, Source.IMPORT, ChosenBy.IMPORT)
CONTENTS: Final = ("prompt", "payload_first", "payload_second")


class Unheld(Exception):
    """A comparison that the format cannot hold; the argument says why."""


# -- what is in it -----------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What the comparisons of a file have."""

    columns: tuple[str, ...]
    """Extra fields in the order in which they were met."""
    steady: frozenset[str]
    """Those that every comparison has, in one shape."""
    has_text: bool
    """Whether any has an answer that is text."""
    has_messages: bool
    """Whether any has a prompt or an answer that is a list of messages."""
    plain: bool
    """Whether cells can hold every prompt, answer and extra field as it is."""


@contextmanager
def surveyed(
    comparisons: Iterable[Comparison], outcomes: Collection[Outcome]
) -> Iterator[tuple[Survey, Iterable[Comparison]]]:
    """What those with such an outcome have; and all of them, once more: what can be gone through only once waits on disk."""
    if iter(comparisons) is not comparisons:
        yield _survey(comparisons, outcomes), comparisons
        return
    with tempfile.TemporaryDirectory(prefix="duelist-") as folder:
        waiting = Path(folder) / "comparisons.jsonl"
        jsonl.write(comparisons, waiting)
        yield _survey(jsonl.read(waiting), outcomes), jsonl.read(waiting)


def _survey(comparisons: Iterable[Comparison], outcomes: Collection[Outcome]) -> Survey:
    seen: Counter[str] = Counter()
    shapes: dict[str, Any] = {}
    count, has_text, has_messages, plain = 0, False, False, True
    for comparison in comparisons:
        if comparison.outcome not in outcomes:
            continue
        count += 1
        contents = [getattr(comparison, name) for name in CONTENTS]
        has_text = has_text or any(_as_answer(part) for part in contents[1:])
        has_messages = has_messages or any(is_messages(part) for part in contents)
        plain = plain and all(part is None or is_plain(part) for part in contents)
        for name, value in comparison.extra.items():
            plain = plain and is_plain(value)
            shape = _shape(value)
            if shapes.setdefault(name, shape) == shape:
                seen[name] += 1
            else:
                seen[name] += 0
    steady = frozenset(name for name in shapes if seen[name] == count and shapes[name] is not None and name != EXTRA)
    return Survey(tuple(shapes), steady, has_text, has_messages, plain)


def _as_answer(content: Any) -> bool:
    return is_messages(content) or as_text(content) is not None


def _shape(value: Any) -> Any:
    """Equal for values that have one type wherever types are inferred; None where there is nothing to infer one from."""
    if isinstance(value, Mapping):
        parts = {name: _shape(part) for name, part in value.items()}
        return None if not parts or None in parts.values() else ("object", tuple(sorted(parts.items())))
    if isinstance(value, list):
        shapes = {_shape(part) for part in value}
        return ("list", shapes.pop()) if len(shapes) == 1 and None not in shapes else None
    return None if value is None else type(value).__name__


# -- into the file -----------------------------------------------------------------------


def _nothing(_: Comparison) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Layout:
    """What a format has a place for."""

    holds: Collection[str]
    """Fields of a comparison that it can hold."""
    own: Collection[str]
    """Its own names, which no extra field may take."""
    survey: Survey
    """What the comparisons have."""
    placed: Collection[str] = ()
    """Extra fields that have a place of their own."""
    loses: Callable[[Comparison], Iterable[str]] = _nothing
    """Fields that it can hold for others, but not for this comparison."""
    changes: Callable[[Comparison], Iterable[str]] = _nothing
    """What it says of this comparison in its own way."""
    sparse: bool = False
    """Whether a field may be missing from a record, so that none has to be packed."""
    takes_extra: bool = True
    """Whether it has a place for extra fields at all."""

    def beside(self, comparison: Comparison) -> dict[str, Any]:
        """The extra fields as the record has them: of their own, or packed."""
        given = {name: value for name, value in comparison.extra.items() if name not in self.placed}
        own = {name: value for name, value in given.items() if self._apart(name)}
        if all(self._apart(name) for name in self.survey.columns if name not in self.placed):
            return own
        return own | {EXTRA: as_json({name: value for name, value in given.items() if name not in own})}

    def columns(self) -> tuple[str, ...]:
        """The extra columns of a table."""
        apart = [name for name in self.survey.columns if name not in self.placed and self._apart(name)]
        packed = any(not self._apart(name) for name in self.survey.columns if name not in self.placed)
        return (*apart, EXTRA) if packed else tuple(apart)

    def _apart(self, name: str) -> bool:
        return name not in self.own and name != EXTRA and (self.sparse or name in self.survey.steady)


def _is_there(value: Any) -> bool:
    return not any(value is nothing for nothing in _NOTHING)


def write_each(
    comparisons: Iterable[Comparison],
    writer: RowWriter,
    convert: Callable[[Comparison], Iterable[dict[str, Any]]],
    layout: Layout,
) -> Written:
    """Write what the format can hold, and count what it cannot; `convert` places the extra fields."""
    left_out: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    homeless = [name for name in _COUNTED if name not in layout.holds]
    rows = 0
    for comparison in comparisons:
        try:
            records = list(convert(comparison))
        except Unheld as reason:
            left_out[str(reason)] += 1
            continue
        for record in records:
            writer(record)
        rows += len(records)
        dropped.update(name for name in {*homeless, *layout.loses(comparison)} if _is_there(getattr(comparison, name)))
        changed.update(layout.changes(comparison))
        if not layout.takes_extra:
            dropped.update(f"extra {name}" for name in comparison.extra)
    order = {name: k for k, name in enumerate(_COUNTED)}
    by_field = sorted(dropped.items(), key=lambda one: order.get(one[0], len(order)))
    return Written(rows, dict(left_out), dict(by_field), dict(changed))


def decided(comparison: Comparison) -> bool:
    """Whether the first won; anything but a win is not held."""
    if comparison.outcome not in WINS:
        raise Unheld(why_not(comparison.outcome))
    return comparison.outcome is Outcome.FIRST


WINS: Final = (Outcome.FIRST, Outcome.SECOND)


def why_not(outcome: Outcome | None) -> str:
    """Words for an outcome that a format has no word for."""
    return "undone" if outcome is None else str(outcome)


def beside_texts(comparison: Comparison) -> Iterable[str]:
    """Payloads of which a format of texts takes only the text."""
    for name in CONTENTS:
        content = getattr(comparison, name)
        if isinstance(content, Mapping) and as_text(content) is not None:
            yield f"{name} as its text alone"
