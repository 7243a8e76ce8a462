"""DesignPair: the next comparison of a D-optimal or A-optimal design (Shen, Sun, Ton 2025; Liu et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.links import Floats, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair, fixed_pair


@dataclass(kw_only=True, eq=False, repr=False)
class DesignPair(Reference):
    """Criterion "D": argmax mu'(z . theta) |z|^2_{H^-1}, which increases log det H most.

    Criterion "A": argmax mu'(z . theta) sum_a ((x_a - mean arm)' H^-1 z)^2 / (1 + mu'(z . theta) |z|^2_{H^-1}), which
    reduces the summed variance of the utilities, relative to the mean arm, most.
    """

    criterion: str = "D"

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the best pair of different arms."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.raise_no_pair()
        u, width = self.local_utilities_and_widths(arms)
        slope = link_slope(self.link, u[:, None] - u)
        if self.criterion == "D":
            return best_pair(slope * width**2, pairs)
        covariance = (arms - arms.mean(axis=0)) @ np.linalg.inv(self.layer(1).curvature) @ arms.T
        shared = ((covariance[:, :, None] - covariance[:, None]) ** 2).sum(axis=0)
        return best_pair(slope * shared / (1.0 + slope * width**2), pairs)
