"""DRTS, double reverse Thompson sampling: the best arm of one draw against the worst of another (Melikidze et al.
2026).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.arm_bounds import ArmBounds, ordered_pairs
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, fixed_pair

MAX_DRAWS = 30


@dataclass(kw_only=True, eq=False, repr=False)
class DRTS(ArmBounds):
    """x = argmax r + zeta spread and y = argmax -r + zeta' spread, with zeta and zeta' uniform in [-1, 1] for each
    arm
    """

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Redraw the second arm until it may meet the first; after 30 draws, take a random partner."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = ordered_pairs(allowed)
        r, spread = self.utilities_and_spreads(arms)
        drawn = self.perturbed(r, spread)
        first = max(dict.fromkeys(i for i, _ in pairs), key=lambda i: drawn[i])
        for _ in range(MAX_DRAWS):
            second = int(np.argmax(self.perturbed(-r, spread)))
            if (first, second) in pairs:
                return fixed_pair((first, second))
        return fixed_pair((first, self.draws.one_of([j for i, j in pairs if i == first])))

    def perturbed(self, r: Floats, spread: Floats) -> Floats:
        """Perturb each utility independently."""
        zeta = np.array([2.0 * self.draws.uniform() - 1.0 for _ in r])
        return r + zeta * spread
