"""Checks of the rows of an archive, which may come from anybody.

Values have the types of the row classes and fit into every database, numbers are consecutive, and rows refer only to rows
that the archive has. Rows are checked as they are read, in memory that does not grow with the votes.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from duelist.core.errors import InvalidInput
from duelist.study.items.systems import check_systems
from duelist.study.participation.state import Participation
from duelist.study.storage import (
    ArmRow,
    Counters,
    DetailRow,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    RaterRow,
    StagedRow,
    VoteRow,
)
from duelist.study.storage.encoding import to_microseconds

Row = TypeVar("Row")
_INTEGERS: Final = (-(2**63), 2**63 - 1)
_SMALL: Final = (0, 2**31 - 1)
_TIMES: Final = (
    to_microseconds(datetime(1, 1, 1, tzinfo=UTC)),
    to_microseconds(datetime(9999, 12, 31, tzinfo=UTC)),
)
_RANGES: Final = {
    **dict.fromkeys(("asked_at", "deadline", "voted_at", "blocked_at", "created_at", "last_voted_at"), _TIMES),
    **dict.fromkeys(("free", "dim"), _SMALL),
    "layer": (-1, _SMALL[1]),
}
"""The ranges of fields, by name; other whole numbers need only fit into 64 bits."""


def parse_row(kind: type[Row], line: Any) -> Row:
    """Return the row of a line; raise ValueError or TypeError unless its values have the types of the row's fields."""
    checks = _checks_of(cast("Any", kind))
    if not isinstance(line, list) or len(line) > len(checks):
        raise ValueError(f"a {kind.__name__} is {str(line)[:80]}")
    return kind(*(check(value) for check, value in zip(checks, line, strict=False)))


def parse_counters(given: Mapping[str, Any]) -> Counters:
    """Return counters; raise ValueError or TypeError unless they have the right names and types."""
    names = [field.name for field in fields(Counters)]
    if sorted(given) != sorted(names):
        raise ValueError(f"the counters are {sorted(given)}")
    counters = parse_row(Counters, [given[name] for name in names])
    if min(counters.n_arms, counters.n_rows, counters.n_duels, counters.n_votes) < 0:
        raise ValueError("a counter is negative")
    return counters


def checked_value(name: str, kind: type[Row], value: Any) -> Row:
    """Return the value of a field; raise ValueError or TypeError unless it has that type and a valid range."""
    return cast("Row", _check_of(name, kind)(value))


@cache
def _checks_of(kind: type[Any]) -> list[Callable[[Any], Any]]:
    names = [field.name for field in fields(kind)] if hasattr(kind, "__dataclass_fields__") else kind._fields
    hints = get_type_hints(kind)
    return [_check_of(name, hints[name]) for name in names]


def _check_of(name: str, hint: Any) -> Callable[[Any], Any]:
    """Return the function that checks a value of that type and returns it."""
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (part for part in get_args(hint) if part is not type(None))
        check = _check_of(name, inner)
        return lambda value: None if value is None else check(value)
    if hint is Any:
        return lambda value: value
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    kind = get_origin(hint) or hint

    def checked(value: Any) -> Any:
        wrong = type(value) not in ((int, float) if kind is float else (kind,))
        if kind is int and not wrong:
            least, most = _RANGES.get(name, _INTEGERS)
            wrong = not least <= value <= most
        elif kind is float and not wrong:
            wrong = not math.isfinite(value)
        elif kind is str and not wrong:
            value.encode()  # raises ValueError for unpaired surrogates
            wrong = "\x00" in value
        if wrong:
            raise ValueError(f"{name} is {str(value)[:80]!r}")
        return value

    return checked


class RowChecker:
    """Checks that the rows of an archive, table by table in their order, fit together and fit its counters."""

    def __init__(self, counters: Counters, gold: Collection[str]) -> None:
        self._counters = counters
        self._gold = set(gold)
        self._found = Counters(dim=counters.dim)
        self._arms: list[ArmRow] = []

    def check(self, row: Any) -> None:
        """Raise ValueError unless the row follows the earlier ones and refers to rows of the archive."""
        check = self._CHECKS.get(type(row))
        if check is not None and not check(self, row):
            raise ValueError(f"a {type(row).__name__} does not fit the others: {str(row)[:80]}")

    def finish(self) -> None:
        """Raise ValueError unless the archive has as many rows as its counters say."""
        for name in ("n_arms", "n_rows", "n_duels", "n_votes"):
            if getattr(self._found, name) != getattr(self._counters, name):
                raise ValueError(
                    f"{name} is {getattr(self._counters, name)} but there are {getattr(self._found, name)}"
                )
        if self._gold:
            raise ValueError(f"there is a gold pair of {min(self._gold)!r}, which is no arm")
        try:
            check_systems([], self._arms)
        except InvalidInput as error:
            raise ValueError(error.message) from error

    def _arm(self, row: ArmRow) -> bool:
        self._gold.discard(row.id)
        self._found.n_arms += 1
        self._arms.append(row)
        return row.number == self._found.n_arms - 1 and bool(row.id)

    def _features(self, chunk: FeatureChunk) -> bool:
        first, count = self._found.n_rows, len(chunk.arms)
        self._found.n_rows += count
        return (
            chunk.first_row == first
            and chunk.vectors.shape == (count, self._counters.dim or 0)
            and bool(np.isfinite(chunk.vectors).all())
            and bool(((chunk.arms >= 0) & (chunk.arms < self._found.n_arms)).all())
        )

    def _duel(self, row: DuelRow) -> bool:
        self._found.n_duels += 1
        shown = (row.first_row, row.second_row)
        is_right = row.number == self._found.n_duels and all(0 <= each < self._found.n_rows for each in shown)
        return is_right and row.share >= 0.0 and (row.propensity is None or 0.0 <= row.propensity <= 1.0)

    def _vote(self, row: VoteRow) -> bool:
        self._found.n_votes += 1
        at = row.sequence
        earlier = all(each is None or 1 <= each <= at for each in (row.root, row.batch))
        is_right = at == self._found.n_votes and earlier and (row.revises is None or 1 <= row.revises < at)
        return is_right and self._is_duel(row.duel) and (row.response_seconds is None or row.response_seconds >= 0.0)

    def _of_duel(self, row: LeaseRow | DetailRow) -> bool:
        return self._is_duel(row.duel)

    def _rater(self, row: RaterRow) -> bool:
        Participation.from_json(row.participation)  # raises ValueError
        return bool(row.name)

    def _staged(self, row: StagedRow) -> bool:
        return row.number >= 1 and row.since >= 0

    def _is_duel(self, number: int) -> bool:
        return 1 <= number <= self._found.n_duels

    _CHECKS: Final[dict[type[Any], Callable[[RowChecker, Any], bool]]] = {
        ArmRow: _arm,
        FeatureChunk: _features,
        DuelRow: _duel,
        VoteRow: _vote,
        LeaseRow: _of_duel,
        DetailRow: _of_duel,
        RaterRow: _rater,
        StagedRow: _staged,
    }
