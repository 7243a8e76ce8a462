"""Beat the Mean, Algorithm 1 of Yue and Joachims 2011."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.counting.base import EXPLOIT, EXPLORE, CountingReference, Named, Table, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class BeatTheMean(CountingReference):
    """Each arm against a random one of those that are left, and the worst of them leaves."""

    gamma: float = 1.0
    scale: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.W: list[int] = []
        self.own_duels = np.zeros((0, 0))
        self.own_wins = np.zeros((0, 0))

    def join(self, new: list[int]) -> None:
        """New arms are in."""
        self.W += new
        self.own_duels, self.own_wins = (np.pad(table, (0, len(new))) for table in (self.own_duels, self.own_wins))

    def n(self, b: int) -> float:
        """n_b."""
        return float(self.own_duels[b, self.W].sum())

    def mean(self, b: int) -> float:
        """P_b."""
        return float(self.own_wins[b, self.W].sum()) / self.n(b) if self.n(b) > 0.0 else 0.5

    def choose(self, table: Table) -> Named:
        """The arm with the fewest duels of its own against a random one."""
        able = table.able()
        present = [b for b in self.W if b in able]
        if not present:
            return self.least_met(table)
        if len(self.W) == 1:
            return self.beside(table, self.W[0])
        b = self.draws.pick(best_of(present, lambda arm: -self.n(arm)))
        partners = [other for other in table.partners(b) if other in self.W]
        if not partners:
            return Named(b, self.draws.pick(table.partners(b)), EXPLOIT)
        return Named(b, self.draws.pick(partners), EXPLORE)

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """The worst leaves when it is surely worse than the best."""
        if layer != EXPLORE or len(self.W) < 2 or i not in self.W or j not in self.W:
            return
        self.own_duels[i, j] += weight
        self.own_wins[i, j] += weight * outcome
        fewest = min(map(self.n, self.W))
        log_of_delta = math.log(2.0 * float(self.horizon or 0) * self.K)
        c = self.scale * self.gamma**2 * math.sqrt(log_of_delta / fewest) if fewest > 0.0 else 1.0
        worst, best = min(self.W, key=self.mean), max(self.W, key=self.mean)
        if self.mean(worst) + c <= self.mean(best) - c:
            self.W.remove(worst)
