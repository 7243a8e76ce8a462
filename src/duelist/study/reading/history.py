"""How sure the study was of its best arm, vote by vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.arrays import Floats
from duelist.errors import InvalidInput
from duelist.study.reading._fitted import fitted
from duelist.study.reading._log import Log, as_log
from duelist.study.reading._own_terms import Features
from duelist.study.reading._posterior import Posterior
from duelist.study.reading._table import Shown, Table
from duelist.study.reading.leaderboard import chances_of_best
from duelist.study.records import Vote
from duelist.study.words import percent


@dataclass(frozen=True, eq=False)
class History(Shown):
    """The chance of being best of each arm, after the first so many votes that teach."""

    arms: tuple[str, ...]
    votes: NDArray[np.int64]
    """After how many votes, in rising order."""
    chance_best: Floats
    """(len(votes), n_arms)."""

    __str__ = Shown.__str__

    def leading(self, most: int) -> list[int]:
        """Positions of the arms to look at: those that end highest, then those that were once."""
        if not len(self.votes):
            return []
        order = np.lexsort((-self.chance_best.max(axis=0), -self.chance_best[-1]))
        return [int(k) for k in order[:most] if self.chance_best[:, k].max() > 0.0]

    def _table(self) -> Table:
        chosen = self.leading(5)
        rows = [
            [f"{n}", *(percent(row[k]) for k in chosen)] for n, row in zip(self.votes, self.chance_best, strict=True)
        ]
        return Table(["after votes", *(self.arms[k] for k in chosen)], rows)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        points, n = self.chance_best.shape
        return {
            "votes": np.repeat(self.votes, n).tolist(),
            "arm": list(self.arms) * points,
            "chance_best": self.chance_best.ravel().tolist(),
        }


def history(
    votes: Sequence[Vote] | Log,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    points: int = 40,
    ridge: float | str = 1.0,
    seed: int = 0,
) -> History:
    """The chance of being best at `points` moments, evenly spread over the votes: as if one had looked then.

    Votes stand in the place where they were first given, as they stand now: what was revised later counts as revised.
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise InvalidInput(f"points is {points!r}; give a whole number of at least 1")
    log = as_log(votes, arms).on_arms
    log = log.of(log.teaching)
    moments = np.unique(np.linspace(0, len(log), points + 1).round().astype(np.int64))
    rows: list[Floats] = []
    start: Posterior | None = None
    for moment in moments:
        fit = fitted(log.of(slice(0, moment)), arms, features, among=among, ridge=ridge, seed=seed, start=start)
        start = fit.whole
        rows.append(chances_of_best(fit.posterior, seed))
    names = tuple(arms) if among is None else tuple(among)
    return History(names, moments, np.array(rows).reshape(len(moments), len(names)))
