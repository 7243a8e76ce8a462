"""RCDB: uncertain votes get less weight (Di, He, Gu 2024, "... from Adversarial Feedback", Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.base import RadiusReference
from duelist.reference.fit import effective_horizon
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class RCDB(RadiusReference):
    """The pair of MaxPairUCB; its outcome has weight w = min(1, trust / |x - y|) in Sigma and in the estimate."""

    trust: float | None = None
    corruption: float | None = None

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """argmax over pairs of (x + y) . theta + beta |x - y|"""
        u, width = self.utilities_and_widths(arms)
        trust = self.trusted_width()

        def weight(i: int, j: int) -> float:
            return 1.0 if width[i, j] <= trust else float(trust / width[i, j])

        return best_pair(u[:, None] + u + self.beta() * width, allowed.pairs(allowed.arms), share=weight)

    def trusted_width(self) -> float:
        """alpha in the paper: sqrt(d) / C against C adversarial votes, or sqrt(d) / sqrt(T) if C is unknown."""
        if self.trust is not None:
            return self.trust
        return math.sqrt(self.layer(1).dim) / (self.corruption or math.sqrt(effective_horizon(self.horizon, self.t)))
