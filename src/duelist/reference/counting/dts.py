"""D-TS and D-TS+, Algorithm 1 and section 4.3 of Wu and Liu 2016."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.counting.base import Candidates, CountingReference, LayeredPair, Matrix, best_of, divergence


@dataclass(kw_only=True, eq=False, repr=False)
class DTS(CountingReference):
    """The Copeland winner of one sample against the arm most likely to beat it in another."""

    alpha: float = 0.51

    def choose(self, candidates: Candidates) -> LayeredPair:
        """Lines 4 to 13."""
        u, low = self.bounds(self.alpha * math.log(self.t))
        C = best_of(candidates.available(), lambda i: sum(u[i, j] > 0.5 for j in candidates.arms if j != i))
        first = C[0] if len(C) == 1 else self.choose_first(C, candidates)
        partners = candidates.partners(first)
        undecided = [j for j in partners if low[j, first] <= 0.5] or partners
        if len(undecided) == 1:
            return LayeredPair(first, undecided[0])
        theta = {j: 0.5 if j == first else self.sample(j, first) for j in undecided}
        return LayeredPair(first, max(undecided, key=theta.__getitem__))

    def choose_first(self, C: list[int], candidates: Candidates) -> int:  # noqa: N803  (the paper's letter)
        """Lines 7 to 10; only the rows of C need samples."""
        theta = self.sample_preferences(candidates, [i in C for i in range(self.K)])
        return self.draws.pick(best_of(C, lambda i: (theta[i] > 0.5).sum()))

    def sample_preferences(self, candidates: Candidates, read: list[bool]) -> Matrix:
        """Sample theta_ij, with theta_ji = 1 - theta_ij, for pairs with an arm that is read."""
        theta = np.full((self.K, self.K), 0.5)
        for x, i in enumerate(candidates.arms):
            for j in candidates.arms[x + 1 :]:
                if read[i] or read[j]:
                    theta[i, j] = self.sample(i, j)
                    theta[j, i] = 1.0 - theta[i, j]
        return theta


@dataclass(kw_only=True, eq=False, repr=False)
class DTSPlus(DTS):
    """D-TS with ties broken by estimated regret."""

    plus: ClassVar[bool] = True

    def choose_first(self, C: list[int], candidates: Candidates) -> int:  # noqa: N803
        """argmin of the sum of losses over divergences"""
        theta = self.sample_preferences(candidates, [True] * self.K)
        score = (theta > 0.5).sum(axis=1)

        def regret(i: int) -> float:
            loss = {j: score[i] - (score[i] + score[j]) / 2.0 for j in candidates.arms if theta[i, j] != 0.5}
            return float(sum(loss[j] / divergence(theta[i, j]) for j in loss))

        return min(best_of(C, lambda i: score[i]), key=regret)
