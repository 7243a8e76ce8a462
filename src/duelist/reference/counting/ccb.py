"""CCB, Algorithm 1 of Zoghi, Karnin, Whiteson and de Rijke 2015."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.counting.base import Candidates, CountingReference, LayeredPair, Matrix, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class CCB(CountingReference):
    """A likely Copeland winner against an arm to which it may lose."""

    alpha: float = 0.51

    def add_arms(self, new: list[int]) -> None:
        """Start again when arms are added."""
        self.reset()

    def reset(self) -> None:
        """Consider all arms likely winners, without known losses."""
        self.B = set(range(self.K))
        self.beaten_by: list[set[int]] = [set() for _ in range(self.K)]  # B^i
        self.losses = self.K  # L_C

    def current_bounds(self) -> tuple[Matrix, Matrix]:
        """u and l of this round."""
        return self.bounds(self.alpha * math.log(self.t))

    def choose(self, candidates: Candidates) -> LayeredPair:
        """Lines 8 to 12."""
        u, low = self.current_bounds()
        undecided = [
            (i, j)
            for i in candidates.arms
            for j in candidates.arms
            if j in self.beaten_by[i] and low[i, j] <= 0.5 <= u[i, j] and candidates.allows(i, j)
        ]
        if undecided and self.draws.uniform() < 0.25:
            return LayeredPair(*self.draws.one_of(undecided))
        C = best_of(candidates.available(), lambda i: sum(u[i, j] >= 0.5 for j in candidates.arms if j != i))
        likely_winners = [i for i in C if i in self.B]
        if likely_winners and self.draws.uniform() < 2.0 / 3.0:
            C = likely_winners
        c = self.draws.pick(C)
        partners = candidates.partners(c)
        may_beat = [j for j in partners if low[j, c] <= 0.5]
        among = [j for j in may_beat if j in self.beaten_by[c]]
        if self.draws.uniform() >= 0.5 or not among:
            among = may_beat or partners
        return LayeredPair(c, self.challenger(u, among, c))

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Line 7 of the next round."""
        u, low = self.current_bounds()
        if any(low[i, j] > 0.5 for i in range(self.K) for j in self.beaten_by[i]):
            self.reset()  # A
        others = ~np.eye(self.K, dtype=bool)
        upper, lower = ((u >= 0.5) & others).sum(axis=1), ((low >= 0.5) & others).sum(axis=1)
        for i in sorted(self.B):  # B
            if upper[i] < lower.max():
                self.B.remove(i)
                if len(self.beaten_by[i]) != self.losses + 1:
                    self.beaten_by[i] = {k for k in range(self.K) if u[i, k] < 0.5}
        if not self.B:
            self.reset()
        for i in range(self.K):  # C
            if upper[i] == upper.max() == lower[i]:
                self.B.add(i)
                self.beaten_by[i] = set()
                self.losses = int(self.K - 1 - upper[i])
                for j in range(self.K):
                    if j != i:
                        self.truncate(self.beaten_by[j], self.losses + 1)

    def truncate(self, arms: set[int], size: int) -> None:
        """Remove random arms until this size is reached; remove all if there are fewer."""
        if len(arms) < size:
            arms.clear()
        while len(arms) > size:
            arms.remove(self.draws.one_of(sorted(arms)))
