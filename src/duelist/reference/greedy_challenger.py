"""GreedyChallenger: the arm with the highest utility and its strongest challenger (Di et al. 2024, equation
colstim_sel).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.reference.base import RadiusReference
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, champion_pair


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyChallenger(RadiusReference):
    """x = argmax x . theta, then y = argmax y . theta + 2 beta |x - y|"""

    practical_multiplier: ClassVar[float] = 0.5  # so that the bonus is sqrt(d log T)

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the first arm greedily, the second optimistically."""
        u, width = self.utilities_and_widths(arms)
        return champion_pair(u, u + 2.0 * self.beta() * width, allowed.partners(allowed.arms, allowed.arms))
