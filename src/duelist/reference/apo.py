"""APO: the most uncertain pair (Das, Chakraborty, Pacchiano, Chowdhury 2024)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import Reference
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class APO(Reference):
    """argmax over pairs of |x - y|"""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the widest pair."""
        _, width = self.utilities_and_widths(arms)
        return best_pair(width, allowed.pairs(allowed.arms))
