"""RUCB, Algorithm 1 of Zoghi, Whiteson, Munos and de Rijke 2014."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.counting.base import CountingReference, Named, Table


@dataclass(kw_only=True, eq=False, repr=False)
class RUCB(CountingReference):
    """An arm that may be the best, against the one that may beat it most."""

    alpha: float = 0.51

    def __post_init__(self) -> None:
        super().__post_init__()
        self.best: int | None = None  # B

    def choose(self, table: Table) -> Named:
        """Lines 4 to 14."""
        u, _ = self.bounds(self.alpha * math.log(self.t))
        able = table.able()
        C = [i for i in able if all(u[i, j] >= 0.5 for j in table.arms)]
        if len(C) > 1 and self.best in C:
            others = [i for i in C if i != self.best]
            c = self.best if self.draws.uniform() < 0.5 else self.draws.pick(others)
        else:
            c = self.draws.pick(C or able)
        return Named(c, self.challenger(u, table.partners(c), c))

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """B of the next round."""
        u, _ = self.bounds(self.alpha * math.log(self.t))
        C = [i for i in range(self.K) if (u[i] >= 0.5).all()]
        if len(C) == 1:
            self.best = C[0]
        elif self.best not in C:
            self.best = None
