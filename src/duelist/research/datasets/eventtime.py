"""EventTime: which of two historical events came first, as crowd workers voted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.research.datasets.folder import data_folder
from duelist.research.datasets.tables import check_known, positions, whole_numbers

GOLD_VOTES: Final = 100
"""A pair with at least this many votes is a gold question that every worker was asked."""


@dataclass(frozen=True)
class EventTime:
    """Which of two historical events came first, as crowd workers voted (Zhang, Li, Feng 2016)."""

    events: Ints
    """Ids of the events, in the order of `counts`."""
    votes: Ints
    """Every vote kept, (n, 2): position of the winner, position of the loser."""
    weights: Floats
    """The weight of each vote, (n,): 1, or less for a vote on a gold pair."""
    dropped: Mapping[str, int]
    """Counts of excluded and down-weighted votes, by reason."""

    @property
    def counts(self) -> Floats:
        """Entry (i, j): how often i won against j, (n_events, n_events)."""
        return self.counts_of(np.arange(len(self.votes)))

    def counts_of(self, chosen: NDArray[np.integer | np.bool_]) -> Floats:
        """Return the same for some of the votes."""
        table = np.zeros((len(self.events), len(self.events)))
        np.add.at(table, tuple(self.votes[chosen].T), self.weights[chosen])
        return table


def load_eventtime(folder: str | Path | None = None) -> EventTime:
    """Load the votes on the 100 events with valid = 1 and in_k100 = 1.

    Gold pairs (at least `GOLD_VOTES` votes) would dominate a fit: their votes are down-weighted, so that such a pair
    counts as much as the most voted other pair.
    """
    base = data_folder(folder) / "eventtime"
    items = list(whole_numbers(base / "items.csv", ("event_id", "valid", "in_k100")))
    chosen = [event for event, valid, in_k100 in items if valid == 1 and in_k100 == 1]
    kept = positions(base / "items.csv", "event_id", chosen)
    known = {event for event, _, _ in items}
    comparisons = list(whole_numbers(base / "comparisons.csv", ("winner", "loser")))
    check_known(base / "comparisons.csv", known, comparisons)
    votes = np.array([(kept[w], kept[v]) for w, v in comparisons if w in kept and v in kept], dtype=np.int64).reshape(
        -1, 2
    )
    weights = _capped(votes, len(chosen))
    dropped = {
        "events that are not valid": sum(valid != 1 for _, valid, _ in items),
        "valid events outside the 100": sum(valid == 1 and in_k100 != 1 for _, valid, in_k100 in items),
        "votes on other events": len(comparisons) - len(votes),
        "gold pairs capped": len(np.unique(np.sort(votes[weights < 1.0], axis=1), axis=0)),
        "votes on gold pairs": int((weights < 1.0).sum()),
    }
    return EventTime(np.array(chosen, dtype=np.int64), votes, weights, dropped)


def _capped(votes: Ints, n: int) -> Floats:
    """Return a weight per vote: those of a gold pair sum to the votes of the most voted other pair."""
    low, high = votes.min(axis=1, initial=n), votes.max(axis=1, initial=0)
    pair = low * n + high
    total = np.bincount(pair, minlength=n * n)
    gold = total >= GOLD_VOTES
    cap = total[~gold].max(initial=0)
    return np.asarray(np.where(gold[pair], cap / np.maximum(total[pair], 1), 1.0))
