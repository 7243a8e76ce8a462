"""`Duel`, and checks of outcomes and weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from duelist.core.errors import InvalidInput

FIRST_WON: Final = 1.0
SECOND_WON: Final = 0.0
TIE: Final = 0.5
MAX_WEIGHT: Final = 1e15
"""Largest weight of a vote: sums of 2^53 of them, times squared features, stay far from overflow."""


@dataclass(frozen=True, slots=True)
class Duel:
    """Two arms to compare: their positions in the arms given to `ask`.

    >>> duel = Duel(first=3, second=1, id=7)
    >>> i, j = duel
    >>> i, j
    (3, 1)
    """

    first: int
    second: int
    id: int = -1

    def __init__(self, first: int, second: int, id: int = -1) -> None:  # noqa: A002  (the name of the field)
        # Twice as fast as the generated __init__ of a frozen dataclass; every round creates a Duel.
        _set_first(self, first)
        _set_second(self, second)
        _set_id(self, id)

    def __iter__(self) -> Iterator[int]:
        return iter((self.first, self.second))

    @property
    def is_self_duel(self) -> bool:
        """Whether the duel compares an arm with itself, which adds no information."""
        return self.first == self.second


_set_first, _set_second, _set_id = (vars(Duel)[name].__set__ for name in ("first", "second", "id"))


def is_tie(outcome: object) -> bool:
    """Return whether an outcome is "tie": 0.5 is half a win for either arm instead."""
    return isinstance(outcome, str) and outcome == "tie"


def check_outcome(outcome: float | str) -> float:
    """Return `outcome` as a float in [0, 1]: 1 the first arm won, 0 the second, 0.5 or "tie" neither.

    >>> check_outcome(True), check_outcome("tie")
    (1.0, 0.5)
    """
    try:
        value = TIE if is_tie(outcome) else float(outcome)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(
            f"outcome is {outcome!r}.",
            "Give a number from 0 to 1: 1 if the first arm won, 0 if the second won, 0.5 for a tie.",
            field="outcome",
        )
    return value


def check_weight(weight: float) -> float:
    """Return `weight` as a positive float of at most `MAX_WEIGHT`."""
    try:
        value = float(weight)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0.0 < value < math.inf:
        raise InvalidInput(
            f"weight is {weight!r}.",
            "Give a positive finite number, or do not tell the duel if its outcome should not count.",
            field="weight",
        )
    if value > MAX_WEIGHT:
        raise InvalidInput(f"weight is {weight!r}.", f"Give at most {MAX_WEIGHT:g}.", field="weight")
    return value
