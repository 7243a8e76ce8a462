"""Successive elimination by Borda scores: Jamieson, Katariya, Deshpande and Nowak 2015; Even-Dar, Mannor and Mansour 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.counting.base import EXPLOIT, EXPLORE, Candidates, CountingReference, LayeredPair


@dataclass(kw_only=True, eq=False, repr=False)
class BordaElimination(CountingReference):
    """Compare arms with random others, and eliminate those whose Borda score is too low."""

    delta: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        self.survivors: set[int] = set()
        self.duels: dict[int, float] = {}
        self.won: dict[int, float] = {}

    def add_arms(self, new: list[int]) -> None:
        """Activate new arms."""
        self.survivors |= set(new)
        self.duels |= dict.fromkeys(new, 0.0)
        self.won |= dict.fromkeys(new, 0.0)

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The least compared active arm against a random one."""
        available = [i for i in candidates.available() if i in self.survivors]
        if not available:
            return self.least_compared(candidates)
        arm = min(available, key=lambda i: (self.duels[i], i))
        if len(self.survivors) == 1:
            return self.commit_to(candidates, arm)
        others = [j for j in candidates.partners(arm) if j != arm]
        return LayeredPair(arm, self.draws.pick(others), EXPLORE) if others else LayeredPair(arm, arm, EXPLOIT)

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Eliminate arms whose upper bound is below the lower bound of another."""
        if layer != EXPLORE or i == j or i not in self.survivors:
            return
        self.duels[i] += weight
        self.won[i] += weight * outcome
        floor = max(self.borda_score(k) - self.radius(k) for k in self.survivors)
        self.survivors = {k for k in self.survivors if self.borda_score(k) + self.radius(k) >= floor}

    def borda_score(self, i: int) -> float:
        """b_i"""
        return self.won[i] / self.duels[i] if self.duels[i] else 0.5

    def radius(self, i: int) -> float:
        """r(m_i)"""
        m = self.duels[i]
        return math.sqrt(max(math.log(4.0 * self.K * m * m / self.delta), 0.0) / (2.0 * m)) if m else math.inf
