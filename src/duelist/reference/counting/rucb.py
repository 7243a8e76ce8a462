"""RUCB, Algorithm 1 of Zoghi, Whiteson, Munos and de Rijke 2014."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.counting.base import Candidates, CountingReference, LayeredPair


@dataclass(kw_only=True, eq=False, repr=False)
class RUCB(CountingReference):
    """An arm that may be the best against its most promising challenger."""

    alpha: float = 0.51

    def __post_init__(self) -> None:
        super().__post_init__()
        self.best: int | None = None  # B

    def choose(self, candidates: Candidates) -> LayeredPair:
        """Lines 4 to 14."""
        u, _ = self.bounds(self.alpha * math.log(self.t))
        available = candidates.available()
        C = [i for i in available if all(u[i, j] >= 0.5 for j in candidates.arms)]
        if len(C) > 1 and self.best in C:
            others = [i for i in C if i != self.best]
            c = self.best if self.draws.uniform() < 0.5 else self.draws.pick(others)
        else:
            c = self.draws.pick(C or available)
        return LayeredPair(c, self.challenger(u, candidates.partners(c), c))

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Set B of the next round."""
        u, _ = self.bounds(self.alpha * math.log(self.t))
        C = [i for i in range(self.K) if (u[i] >= 0.5).all()]
        if len(C) == 1:
            self.best = C[0]
        elif self.best not in C:
            self.best = None
