"""InfoMax: the pair with the loosest bounds on its win probability (Melikidze et al. 2026, after Saha 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.arm_bounds import ArmBounds
from duelist.reference.links import Floats, link_mean
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair, fixed_pair


@dataclass(kw_only=True, eq=False, repr=False)
class InfoMax(ArmBounds):
    """argmax over x != y of mu(U_x - L_y) - mu(L_x - U_y)"""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the pair with the most uncertain outcome."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.raise_no_pair()
        r, spread = self.utilities_and_spreads(arms)
        most = (r + spread)[:, None] - (r - spread)
        return best_pair(np.asarray(link_mean(self.link, most) - link_mean(self.link, -most.T)), pairs)
