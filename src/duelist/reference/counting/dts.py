"""D-TS and D-TS+, Algorithm 1 and section 4.3 of Wu and Liu 2016."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.counting.base import CountingReference, Matrix, Named, Table, best_of, divergence


@dataclass(kw_only=True, eq=False, repr=False)
class DTS(CountingReference):
    """The Copeland winner of a draw, against the arm that beats it most in another."""

    alpha: float = 0.51

    def choose(self, table: Table) -> Named:
        """Lines 4 to 13."""
        u, low = self.bounds(self.alpha * math.log(self.t))
        C = best_of(table.able(), lambda i: sum(u[i, j] > 0.5 for j in table.arms if j != i))
        first = C[0] if len(C) == 1 else self.first_of(C, table)
        partners = table.partners(first)
        open_ = [j for j in partners if low[j, first] <= 0.5] or partners
        if len(open_) == 1:
            return Named(first, open_[0])
        theta = {j: 0.5 if j == first else self.sample(j, first) for j in open_}
        return Named(first, max(open_, key=theta.__getitem__))

    def first_of(self, C: list[int], table: Table) -> int:  # noqa: N803  (the paper's letter)
        """Lines 7 to 10; only the draws of arms of C are needed."""
        theta = self.drawn(table, [i in C for i in range(self.K)])
        return self.draws.pick(best_of(C, lambda i: (theta[i] > 0.5).sum()))

    def drawn(self, table: Table, read: list[bool]) -> Matrix:
        """theta_ij and theta_ji = 1 - theta_ij, of pairs with an arm that is read."""
        theta = np.full((self.K, self.K), 0.5)
        for x, i in enumerate(table.arms):
            for j in table.arms[x + 1 :]:
                if read[i] or read[j]:
                    theta[i, j] = self.sample(i, j)
                    theta[j, i] = 1.0 - theta[i, j]
        return theta


@dataclass(kw_only=True, eq=False, repr=False)
class DTSPlus(DTS):
    """D-TS whose ties are broken by estimated regret."""

    plus: ClassVar[bool] = True

    def first_of(self, C: list[int], table: Table) -> int:  # noqa: N803
        """argmin of the sum of losses over divergences."""
        theta = self.drawn(table, [True] * self.K)
        score = (theta > 0.5).sum(axis=1)

        def regret(i: int) -> float:
            loss = {j: score[i] - (score[i] + score[j]) / 2.0 for j in table.arms if theta[i, j] != 0.5}
            return float(sum(loss[j] / divergence(theta[i, j]) for j in loss))

        return min(best_of(C, lambda i: score[i]), key=regret)
