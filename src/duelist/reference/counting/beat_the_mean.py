"""Beat the Mean, Algorithm 1 of Yue and Joachims 2011."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.counting.base import EXPLOIT, EXPLORE, Candidates, CountingReference, LayeredPair, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class BeatTheMean(CountingReference):
    """Compare the active arms with random ones of them, and eliminate the worst."""

    gamma: float = 1.0
    scale: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.W: list[int] = []
        self.row_duels = np.zeros((0, 0))
        self.row_wins = np.zeros((0, 0))

    def add_arms(self, new: list[int]) -> None:
        """Activate new arms."""
        self.W += new
        self.row_duels, self.row_wins = (np.pad(matrix, (0, len(new))) for matrix in (self.row_duels, self.row_wins))

    def n(self, b: int) -> float:
        """n_b"""
        return float(self.row_duels[b, self.W].sum())

    def mean(self, b: int) -> float:
        """P_b"""
        return float(self.row_wins[b, self.W].sum()) / self.n(b) if self.n(b) > 0.0 else 0.5

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The active arm with the fewest duels against a random active one."""
        available = candidates.available()
        available = [b for b in self.W if b in available]
        if not available:
            return self.least_compared(candidates)
        if len(self.W) == 1:
            return self.commit_to(candidates, self.W[0])
        b = self.draws.pick(best_of(available, lambda arm: -self.n(arm)))
        partners = [other for other in candidates.partners(b) if other in self.W]
        if not partners:
            return LayeredPair(b, self.draws.pick(candidates.partners(b)), EXPLOIT)
        return LayeredPair(b, self.draws.pick(partners), EXPLORE)

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Eliminate the worst arm once its bound is below that of the best."""
        if layer != EXPLORE or len(self.W) < 2 or i not in self.W or j not in self.W:
            return
        self.row_duels[i, j] += weight
        self.row_wins[i, j] += weight * outcome
        fewest = min(map(self.n, self.W))
        log_of_delta = math.log(2.0 * float(self.horizon or 0) * self.K)
        c = self.scale * self.gamma**2 * math.sqrt(log_of_delta / fewest) if fewest > 0.0 else 1.0
        worst, best = min(self.W, key=self.mean), max(self.W, key=self.mean)
        if self.mean(worst) + c <= self.mean(best) - c:
            self.W.remove(worst)
