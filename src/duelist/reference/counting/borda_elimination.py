"""Successive elimination by Borda scores: Jamieson, Katariya, Deshpande and Nowak 2015; Even-Dar, Mannor and Mansour 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.counting.base import EXPLOIT, EXPLORE, CountingReference, Named, Table


@dataclass(kw_only=True, eq=False, repr=False)
class BordaElimination(CountingReference):
    """Arms against random others, until one wins the largest share for sure."""

    delta: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        self.left: set[int] = set()
        self.tried: dict[int, float] = {}
        self.won: dict[int, float] = {}

    def join(self, new: list[int]) -> None:
        """New arms are in."""
        self.left |= set(new)
        self.tried |= dict.fromkeys(new, 0.0)
        self.won |= dict.fromkeys(new, 0.0)

    def choose(self, table: Table) -> Named:
        """The arm that was tried least against a random one."""
        able = [i for i in table.able() if i in self.left]
        if not able:
            return self.least_met(table)
        arm = min(able, key=lambda i: (self.tried[i], i))
        if len(self.left) == 1:
            return self.beside(table, arm)
        others = [j for j in table.partners(arm) if j != arm]
        return Named(arm, self.draws.pick(others), EXPLORE) if others else Named(arm, arm, EXPLOIT)

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Arms whose upper bound is below somebody's lower bound are out."""
        if layer != EXPLORE or i == j or i not in self.left:
            return
        self.tried[i] += weight
        self.won[i] += weight * outcome
        floor = max(self.share_of(k) - self.radius(k) for k in self.left)
        self.left = {k for k in self.left if self.share_of(k) + self.radius(k) >= floor}

    def share_of(self, i: int) -> float:
        """b_i."""
        return self.won[i] / self.tried[i] if self.tried[i] else 0.5

    def radius(self, i: int) -> float:
        """r(m_i)."""
        m = self.tried[i]
        return math.sqrt(max(math.log(4.0 * self.K * m * m / self.delta), 0.0) / (2.0 * m)) if m else math.inf
