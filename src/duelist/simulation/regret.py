"""Regret of a duel, always qualified.

With gaps g = x* . theta* - x . theta* of the two arms of a duel: average is their mean (the paper's),
weak the smaller, strong the larger. The authors' published code sums the two gaps, twice the average.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput

KINDS: Final = ("average", "weak", "strong")


def regret(first_gap: Floats, second_gap: Floats, kind: str = "average") -> Floats:
    """Return the regret of each duel from the gaps of its arms.

    >>> regret(np.array([0.0]), np.array([3.0]), "average")
    array([1.5])
    """
    check_kind(kind)
    if kind == "weak":
        return np.minimum(first_gap, second_gap)
    if kind == "strong":
        return np.maximum(first_gap, second_gap)
    return np.asarray(0.5 * (first_gap + second_gap))


def check_kind(kind: str) -> str:
    """Return `kind` if it is a kind of regret."""
    if kind not in KINDS:
        raise InvalidInput(f"Kind of regret is {kind!r}.", f"Choose one of {', '.join(KINDS)}.")
    return kind
