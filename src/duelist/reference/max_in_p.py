"""MaxInP: the most informative pair of the arms that may still be best (Saha 2021; Di et al. 2024, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import RadiusReference
from duelist.reference.fit import Floats
from duelist.reference.pair_choice import Allowed, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class MaxInP(RadiusReference):
    """The widest pair of C = {x : (x - y) . theta + beta |x - y| >= 0 for all y}"""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """Rule arms out, then ask about what is known least."""
        u, width = self.look(arms)
        promising = np.flatnonzero((u[:, None] - u + self.beta() * width >= 0.0).all(axis=1)).tolist()
        return best_pair(width, allowed.pairs_near(promising), remaining=promising)
