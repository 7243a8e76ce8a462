"""The common form of public data sets: who won how often against whom, and raw features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput

PairVote = tuple[str, str, float]
"""Names of two items, and the share of the win that goes to the first."""


@dataclass(frozen=True)
class PairWins:
    """Votes on pairs of items, as counts."""

    names: tuple[str, ...]
    """Names of the items, in the order of everything else."""
    wins: Floats
    """Entry (i, j): how often i won against j, (n_items, n_items). A tie counts half a win for each."""
    features: Floats | None = None
    """Raw features, (n_items, n_features)."""
    feature_names: tuple[str, ...] = ()


def count_wins(votes: Iterable[PairVote], names: Sequence[str]) -> Floats:
    """Return the wins of each named item against each other one; votes on other items are left out."""
    place = {name: k for k, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for first, second, share in votes:
        if first in place and second in place and first != second:
            i, j = place[first], place[second]
            wins[i, j] += share
            wins[j, i] += 1.0 - share
    return wins


def most_compared(votes: Iterable[PairVote], count: int) -> list[str]:
    """Return the names that occur in most votes, in alphabetical order among equals."""
    seen = Counter(name for first, second, _ in votes for name in (first, second))
    return sorted(seen, key=lambda name: (-seen[name], name))[:count]


def wins_in_orders(orders: Iterable[Sequence[int]], n: int) -> Floats:
    """Return wins in orders of items, the best first: an item wins against each later one."""
    wins = np.zeros((n, n))
    for order in orders:
        for i, j in combinations(order, 2):
            wins[i, j] += 1.0
    return wins


def wins_in_ratings(ratings: Iterable[Mapping[int, float]], n: int) -> Floats:
    """Return wins in the ratings of each person: of two items that a person rated, the higher one wins; equal ones tie."""
    wins = np.zeros((n, n))
    for rated in ratings:
        items, values = np.array(list(rated), np.int64), np.array(list(rated.values()))
        wins[np.ix_(items, items)] += 0.5 * (1.0 + np.sign(values[:, None] - values))
    np.fill_diagonal(wins, 0.0)
    return wins


def as_number(text: str | None, where: str) -> float:
    """Return a finite number from a file."""
    try:
        value = float(text or "")
    except ValueError as error:
        raise InvalidInput(f"{where}: {text!r} is not a number.", "Download the file again.") from error
    if not np.isfinite(value):
        raise InvalidInput(f"{where}: {text!r} is not a finite number.", "Download the file again.")
    return value
