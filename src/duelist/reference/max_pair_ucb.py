"""MaxPairUCB: the pair with the largest optimistic sum of utilities (Di et al. 2024, equation max_pair_ucb)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import RadiusReference
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class MaxPairUCB(RadiusReference):
    """argmax over pairs of (x + y) . theta + beta |x - y|"""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the best of all pairs."""
        u, width = self.utilities_and_widths(arms)
        return best_pair(u[:, None] + u + self.beta() * width, allowed.pairs(allowed.arms))
