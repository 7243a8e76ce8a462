"""ThompsonPair: two draws from the posterior, and the best arm of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, utilities
from duelist.reference.pair_choice import Allowed, Choice, champion_pair

DRAWS_TO_CHOOSE_FROM = 8


@dataclass(kw_only=True, eq=False, repr=False)
class ThompsonPair(Reference):
    """x = argmax x . theta_1 and y = argmax y . theta_2, with theta_1 and theta_2 from N(theta_hat, scale^2 H^-1)."""

    scale: float = 1.0
    feel_good: float = 0.0
    allow_self_duel: bool = True

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The best arm of one draw against the best arm of another."""
        first, second = self.drawn_utilities(arms), self.drawn_utilities(arms)
        partners = allowed.partners(allowed.arms, allowed.arms)
        if not self.allow_self_duel:
            partners = {i: others_of(i, arms, listed) for i, listed in partners.items()}
        return champion_pair(first, np.tile(second, (len(arms), 1)), partners)

    def drawn_utilities(self, arms: Floats) -> Floats:
        """x . theta of every arm for one draw of theta.

        Where feeling good counts, one of eight draws, with chance proportional to exp(feel_good max_a (x_a - mean arm) . theta).
        """
        kept = self.draw(arms)
        if self.feel_good == 0.0:
            return kept
        total = self.feel_good * promise(kept)  # the logarithm of the weights so far
        for _ in range(DRAWS_TO_CHOOSE_FROM - 1):
            new = self.draw(arms)
            weight = self.feel_good * promise(new)
            total = float(np.logaddexp(total, weight))
            if math.log(1.0 - self.draws.uniform()) < weight - total:
                kept = new
        return kept

    def draw(self, arms: Floats) -> Floats:
        """Utilities for theta_hat + scale R^-1 eps, where R'R = H and eps is standard normal."""
        known = self.layer(1)
        eps = np.array([self.draws.normal() for _ in range(known.dim)])
        upper = np.linalg.cholesky(known.curvature).T
        return utilities(arms, known.theta + self.scale * np.linalg.solve(upper, eps))


def promise(drawn: Floats) -> float:
    """How far the best arm is above the mean."""
    return float(drawn.max() - drawn.mean())


def others_of(i: int, arms: Floats, partners: list[int]) -> list[int]:
    """The partners whose features differ from those of arm i; else the next one after it, round the table; else itself."""
    differing = [j for j in partners if (arms[j] != arms[i]).any()]
    following = sorted((j for j in partners if j != i), key=lambda j: (j - i) % len(arms))
    return differing or following[:1] or partners
