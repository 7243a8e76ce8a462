"""DeltaUCB: the pair with the largest gap that the bounds allow (Melikidze et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.arm_bounds import ArmBounds, ordered_pairs
from duelist.reference.fit import Floats
from duelist.reference.pair_choice import Allowed, Choice, best_pair, only


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaUCB(ArmBounds):
    """argmax over x != y of U_x - L_y"""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """One that may be very good against one that may be very bad."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = ordered_pairs(allowed)
        r, spread = self.utilities_and_spreads(arms)
        return best_pair((r + spread)[:, None] - (r - spread), pairs)
