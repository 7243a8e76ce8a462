"""Pairs of arms as integer codes, so that arrays of pairs can be counted, looked up and excluded at once."""

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
    """Return the code of a pair, in either order.

    >>> code(7, 2) == code(2, 7)
    True
    """
    return (one << _HALF | other) if one < other else (other << _HALF | one)


def codes(pairs: Iterable[Pair]) -> Ints:
    """Return the sorted codes of distinct pairs."""
    return np.array(sorted({code(*pair) for pair in pairs}), np.int64)


def codes_between(ones: Ints, others: Ints) -> Ints:
    """Return the codes of pairs, elementwise.

    >>> codes_between(np.array([7, 2]), np.array([2, 7])) == code(2, 7)
    array([ True,  True])
    """
    return np.minimum(ones, others) << _HALF | np.maximum(ones, others)


def split(pairs: Ints) -> tuple[Ints, Ints]:
    """Return the smaller and the larger number of each pair."""
    return pairs >> _HALF, pairs & _LOW


def union(*parts: Ints) -> Ints:
    """Return the sorted union of arrays of codes."""
    filled = [part for part in parts if len(part)]
    return np.unique(np.concatenate(filled)) if filled else NONE


def among(pairs: Ints, arms: Ints, n_arms: int) -> Ints:
    """Return the pairs with both arms among `arms`, as sorted codes of positions there; `n_arms` is the number of all arms."""
    if not len(pairs):
        return NONE
    place = np.full(n_arms, -1, np.int64)
    place[arms] = np.arange(len(arms))
    one, other = (place[half] for half in split(pairs))
    both = (one >= 0) & (other >= 0)
    one, other = one[both], other[both]
    return np.sort(codes_between(one, other))


def count_free(n: int, taken: Ints) -> int:
    """Return the number of pairs of n arms that are not taken."""
    return n * (n - 1) // 2 - len(taken)


def random_free(n: int, taken: Ints, rng: np.random.Generator) -> Pair:
    """Return a uniformly random pair of n positions, in random order, that is not taken; there must be one.

    Draws until a pair is free, usually once; if most pairs are taken, picks one by its rank.
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
    """Return the k-th free pair in the order (0, 1), (0, 2), ..."""
    low, high = split(taken)
    in_row = np.arange(n - 1, -1, -1) - np.bincount(low, minlength=n)
    until = np.cumsum(in_row)
    row = int(np.searchsorted(until, k, side="right"))
    partners = np.setdiff1d(np.arange(row + 1, n), high[low == row], assume_unique=True)
    return row, int(partners[k - (until[row] - in_row[row])])
