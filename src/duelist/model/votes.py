"""Votes as a fit reads them: the items shown, and how often each outcome was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.model.answers import Answer, mirrored

_TABLE: Final = 1 << 22
"""Up to this many different keys, a lookup table of all of them is used."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Rows of votes on the same items, by outcome."""

    n_items: int
    """Number of items, of which votes may show only some."""
    items: Ints
    """Items shown, (rows, shown), in the order shown."""
    counts: Floats
    """Number of votes, or their weight, by outcome: (rows, outcomes)."""
    covariates: Floats | None = None
    """Properties of each vote that are not the items' merit, first item minus second: (rows, n)."""
    clusters: Mapping[str, Ints] = field(default_factory=dict)
    """Kinds of clusters, such as rater or prompt, with the cluster of each row, -1 for none."""
    sides: Floats | None = None
    """1 where the first item of a row was shown first, -1 where it was shown second; None: always first."""

    @property
    def total(self) -> float:
        """Number of votes."""
        return float(self.counts.sum())

    @cached_property
    def by_outcome(self) -> Floats:
        """Number of votes by outcome."""
        return np.asarray(self.counts.sum(axis=0))

    def pooled(self, by: str | None = None) -> Votes:
        """Return one row per items shown, and per cluster of the kind `by`."""
        if self.covariates is not None:
            return replace(self, clusters={} if by is None else {by: self.clusters[by]})
        key = np.zeros(len(self.items), np.int64)
        for column in self.items.T:
            key = key * self.n_items + column
        size = self.n_items ** self.items.shape[1]
        if by is not None:
            cluster = self.clusters[by] + 1
            key, size = key + size * cluster, size * (int(cluster.max(initial=0)) + 1)
        found, where = numbered(key, size)
        counts = np.array([np.bincount(where, column, len(found)) for column in self.counts.T], np.float64).T
        last = np.empty(len(found), np.int64)
        last[where] = np.arange(len(where))
        clusters = {} if by is None else {by: self.clusters[by][last]}
        return Votes(self.n_items, self.items[last], counts, None, clusters)


def vote_rows(items: Ints, outcomes: Ints, answer: Answer, weights: Floats | None = None) -> tuple[Ints, Floats]:
    """Return single votes as rows for `Votes`, with the lower of the first two items first: (items, counts)."""
    swapped = items[:, 0] > items[:, 1]
    outcome = np.where(swapped, mirrored(answer)[outcomes], outcomes)
    counts = np.zeros((len(items), len(answer.outcomes)))
    counts[np.arange(len(items)), outcome] = 1.0 if weights is None else weights
    ordered = items.copy()
    ordered[swapped, :2] = items[swapped, 1::-1]
    return ordered, counts


def numbered(keys: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and which of them each is: `np.unique`, without sorting if possible."""
    if size > _TABLE:
        return np.unique(keys, return_inverse=True)
    there = np.zeros(size, np.bool_)
    there[keys] = True
    number = np.cumsum(there) - 1
    return np.flatnonzero(there), number[keys]
