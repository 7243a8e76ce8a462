"""Pairs of arms as whole numbers: many of them fit in an array, and are counted, looked up and left out at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from duelist.core.arrays import Ints

Pair = tuple[int, int]

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1
NONE: Final[Ints] = np.empty(0, np.int64)
_DRAWS: Final = 64


def code(one: int, other: int) -> int:
    """The number of a pair, whichever of the two is named first.

    >>> code(7, 2) == code(2, 7)
    True
    """
    return (one << _HALF | other) if one < other else (other << _HALF | one)


def codes(pairs: Iterable[Pair]) -> Ints:
    """The numbers of pairs, each once, in order."""
    return np.array(sorted({code(*pair) for pair in pairs}), np.int64)


def codes_between(ones: Ints, others: Ints) -> Ints:
    """The numbers of the pairs of each of the ones with its other, whichever of the two is the smaller.

    >>> codes_between(np.array([7, 2]), np.array([2, 7])) == code(2, 7)
    array([ True,  True])
    """
    return np.minimum(ones, others) << _HALF | np.maximum(ones, others)


def split(numbers: Ints) -> tuple[Ints, Ints]:
    """The smaller and the larger of each pair."""
    return numbers >> _HALF, numbers & _LOW


def joined(*parts: Ints) -> Ints:
    """Pairs that are in any of these, each once, in order."""
    filled = [part for part in parts if len(part)]
    return np.unique(np.concatenate(filled)) if filled else NONE


def among(numbers: Ints, arms: Ints, n_arms: int) -> Ints:
    """Those pairs of arms of which both are among `arms`, as pairs of positions there, in order; `n_arms` is how many there are."""
    if not len(numbers):
        return NONE
    place = np.full(n_arms, -1, np.int64)
    place[arms] = np.arange(len(arms))
    one, other = (place[half] for half in split(numbers))
    both = (one >= 0) & (other >= 0)
    one, other = one[both], other[both]
    return np.sort(codes_between(one, other))


def count_free(n: int, taken: Ints) -> int:
    """Pairs of n arms that are not among those taken."""
    return n * (n - 1) // 2 - len(taken)


def random_free(n: int, taken: Ints, rng: np.random.Generator) -> Pair:
    """A pair of n positions, uniform over those that are not taken, of which there must be one; in either order.

    Drawn again until it is free, as nearly always at the first try; where almost all are taken, found by counting.
    """
    forbidden = set(taken.tolist()) if len(taken) < n * n // 8 else None
    for _ in range(_DRAWS if forbidden is not None else 0):
        first = int(rng.integers(n))
        second = int(rng.integers(n - 1))
        second += second >= first
        if forbidden is not None and code(first, second) not in forbidden:
            return first, second
    one, other = _nth_free(n, taken, int(rng.integers(count_free(n, taken))))
    return (one, other) if rng.random() < 0.5 else (other, one)


def _nth_free(n: int, taken: Ints, k: int) -> Pair:
    """The k-th free pair in the order (0, 1), (0, 2), ..."""
    low, high = split(taken)
    in_row = np.arange(n - 1, -1, -1) - np.bincount(low, minlength=n)
    until = np.cumsum(in_row)
    row = int(np.searchsorted(until, k, side="right"))
    partners = np.setdiff1d(np.arange(row + 1, n), high[low == row], assume_unique=True)
    return row, int(partners[k - (until[row] - in_row[row])])
