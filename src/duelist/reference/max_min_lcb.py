"""MaxMinLCB: the leader with the best worst case, and the follower that attains it (Pasztor, Kassraie, Krause 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import RadiusReference
from duelist.reference.links import Floats, link_mean, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, champion_pair


@dataclass(kw_only=True, eq=False, repr=False)
class MaxMinLCB(RadiusReference):
    """x = argmax_{x in M} min_{y in M} LCB(x, y) and y = argmin_{y in M} LCB(x, y), with M = {x : UCB(x, y) >= 1/2
    for all y}

    and LCB(x, y) = mu((x - y) . theta) - mu'(0) beta |x - y|, UCB(x, y) = 1 - LCB(y, x): bounds on the probability
    that x wins.
    """

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose leader and follower in M; if no pair in M is allowed, the follower may be any arm."""
        u, width = self.utilities_and_widths(arms)
        reach = link_slope(self.link, 0.0) * self.beta() * width
        chance = link_mean(self.link, u[:, None] - u)
        lower = chance - reach
        plausible = np.flatnonzero((chance + reach >= 0.5).all(axis=1)).tolist()
        partners = (
            allowed.partners(plausible, plausible)
            or allowed.partners(plausible, allowed.arms)
            or allowed.partners(allowed.arms, allowed.arms)
        )
        worst = np.array([lower[i, partners[i]].min() if i in partners else -np.inf for i in allowed.arms])
        return champion_pair(worst, -lower, partners, remaining=plausible)
