"""InfoMax: the pair whose chance of winning is bounded least tightly (Melikidze et al. 2026, after Saha 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.arm_bounds import ArmBounds
from duelist.reference.fit import Floats, link_mean
from duelist.reference.pair_choice import Allowed, Choice, best_pair, only


@dataclass(kw_only=True, eq=False, repr=False)
class InfoMax(ArmBounds):
    """argmax over x != y of mu(U_x - L_y) - mu(L_x - U_y)"""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The pair about whose outcome the bounds say least."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.refuse()
        r, spread = self.utilities_and_spreads(arms)
        most = (r + spread)[:, None] - (r - spread)
        return best_pair(np.asarray(link_mean(self.link, most) - link_mean(self.link, -most.T)), pairs)
