"""ThompsonPair: the best arms of two posterior samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import utilities
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, champion_pair

FEEL_GOOD_DRAWS = 8


@dataclass(kw_only=True, eq=False, repr=False)
class ThompsonPair(Reference):
    """x = argmax x . theta_1 and y = argmax y . theta_2, with theta_1 and theta_2 from N(theta_hat, scale^2 H^-1)."""

    scale: float = 1.0
    feel_good: float = 0.0
    allow_self_duel: bool = True

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the best arm of one sample against the best arm of another."""
        first, second = self.drawn_utilities(arms), self.drawn_utilities(arms)
        partners = allowed.partners(allowed.arms, allowed.arms)
        if not self.allow_self_duel:
            partners = {i: distinct_partners(i, arms, listed) for i, listed in partners.items()}
        return champion_pair(first, np.tile(second, (len(arms), 1)), partners)

    def drawn_utilities(self, arms: Floats) -> Floats:
        """x . theta of every arm for one sample of theta.

        With feel_good > 0, one of eight samples, drawn with weights exp(feel_good max_a (x_a - mean arm) . theta).
        """
        chosen = self.draw(arms)
        if self.feel_good == 0.0:
            return chosen
        total = self.feel_good * lead_over_mean(chosen)  # log of the sum of weights so far
        for _ in range(FEEL_GOOD_DRAWS - 1):
            new = self.draw(arms)
            weight = self.feel_good * lead_over_mean(new)
            total = float(np.logaddexp(total, weight))
            if math.log(1.0 - self.draws.uniform()) < weight - total:
                chosen = new
        return chosen

    def draw(self, arms: Floats) -> Floats:
        """Utilities for theta_hat + scale R^-1 eps, where R'R = H and eps is standard normal."""
        estimator = self.layer(1)
        eps = np.array([self.draws.normal() for _ in range(estimator.dim)])
        upper = np.linalg.cholesky(estimator.curvature).T
        return utilities(arms, estimator.theta + self.scale * np.linalg.solve(upper, eps))


def lead_over_mean(drawn: Floats) -> float:
    """The utility of the best arm minus the mean utility."""
    return float(drawn.max() - drawn.mean())


def distinct_partners(i: int, arms: Floats, partners: list[int]) -> list[int]:
    """The partners whose features differ from arm i's; failing that, the next arm, cyclically; failing that, itself."""
    differing = [j for j in partners if (arms[j] != arms[i]).any()]
    following = sorted((j for j in partners if j != i), key=lambda j: (j - i) % len(arms))
    return differing or following[:1] or partners
