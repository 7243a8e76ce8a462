"""DeltaUCB: the pair with the largest gap within the bounds (Melikidze et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.arm_bounds import ArmBounds, ordered_pairs
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair, fixed_pair


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaUCB(ArmBounds):
    """argmax over x != y of U_x - L_y"""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose an arm with a high upper bound against one with a low lower bound."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = ordered_pairs(allowed)
        r, spread = self.utilities_and_spreads(arms)
        return best_pair((r + spread)[:, None] - (r - spread), pairs)
