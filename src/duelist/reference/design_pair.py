"""DesignPair: the comparison that optimal design asks for next (Shen, Sun, Ton 2025; Liu et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, link_slope
from duelist.reference.pair_choice import Allowed, Choice, best_pair, only


@dataclass(kw_only=True, eq=False, repr=False)
class DesignPair(Reference):
    """Criterion "D": argmax mu'(z . theta) |z|^2_{H^-1}, by which log det H grows.

    Criterion "A": argmax mu'(z . theta) sum_a ((x_a - mean arm)' H^-1 z)^2 / (1 + mu'(z . theta) |z|^2_{H^-1}), by which the
    variances of the utilities on the table shrink, relative to the mean arm.
    """

    criterion: str = "D"

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The best of all pairs of different arms."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.refuse()
        u, width = self.look_locally(arms)
        slope = link_slope(self.link, u[:, None] - u)
        if self.criterion == "D":
            return best_pair(slope * width**2, pairs)
        covariance = (arms - arms.mean(axis=0)) @ np.linalg.inv(self.layer(1).curvature) @ arms.T
        shared = ((covariance[:, :, None] - covariance[:, None]) ** 2).sum(axis=0)
        return best_pair(slope * shared / (1.0 + slope * width**2), pairs)
