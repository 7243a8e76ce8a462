"""MaxInP: the most informative pair of the arms that may be best (Saha 2021; Di et al. 2024, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import RadiusReference
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class MaxInP(RadiusReference):
    """The widest pair of C = {x : (x - y) . theta + beta |x - y| >= 0 for all y}"""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Eliminate arms, then choose the widest pair of the others."""
        u, width = self.utilities_and_widths(arms)
        promising = np.flatnonzero((u[:, None] - u + self.beta() * width >= 0.0).all(axis=1)).tolist()
        return best_pair(width, allowed.pairs_near(promising), remaining=promising)
