"""RCDB: votes count for less the less was known about them (Di, He, Gu 2024, "... from Adversarial Feedback", Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.base import RadiusReference
from duelist.reference.fit import Floats, horizon_in
from duelist.reference.pair_choice import Allowed, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class RCDB(RadiusReference):
    """MaxPairUCB's pair, whose outcome has the weight w = min(1, trust / |x - y|) in Sigma and in the estimate."""

    trust: float | None = None
    corruption: float | None = None

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """argmax over pairs of (x + y) . theta + beta |x - y|"""
        u, width = self.look(arms)
        trust = self.trusted_width()

        def weight(i: int, j: int) -> float:
            return 1.0 if width[i, j] <= trust else float(trust / width[i, j])

        return best_pair(u[:, None] + u + self.beta() * width, allowed.pairs(allowed.arms), share=weight)

    def trusted_width(self) -> float:
        """alpha in the paper: sqrt(d) / C against C adversarial votes, sqrt(d) / sqrt(T) if nobody knows how many."""
        if self.trust is not None:
            return self.trust
        return math.sqrt(self.layer(1).dim) / (self.corruption or math.sqrt(horizon_in(self.horizon, self.t)))
