"""LocalPairUCB: the best pair, with widths in the curvature at the estimate and bonuses that know when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import RadiusReference
from duelist.reference.fit import Floats, horizon_in, link_slope, reach
from duelist.reference.pair_choice import Allowed, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class LocalPairUCB(RadiusReference):
    """argmax over pairs of (x + y) . theta + bonus(x, y), with W = |x - y|_{H^-1}, D = (x - y) . theta and

    bonus = W sqrt(2 c (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),  L = log(1 + T mu'(D) W^2),  c = 1.4 scale.

    With radius "theory", or a number, the bonus is that radius times W.
    """

    ridge_reference_dim: ClassVar[float] = 5.0
    practical_multiplier: ClassVar[float] = 1.4

    def start(self, arms: Floats) -> None:
        """The published radius also needs the largest difference that the first arms allow."""
        super().start(arms)
        self.largest_difference_ = 2.0 * reach(arms)

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The best of all pairs."""
        u, width = self.look_locally(arms)
        bonus = self.bonus(u[:, None] - u, width) if self.radius == "practical" else self.beta() * width
        return best_pair(u[:, None] + u + bonus, allowed.pairs(allowed.arms))

    def bonus(self, gap: Floats, width: Floats) -> Floats:
        """In the shape of the boundary that is optimal for one comparison with an end in sight."""
        slope = link_slope(self.link, gap)
        rounds = np.log1p(horizon_in(self.horizon, self.t) * slope * width**2)
        certainty = (slope / link_slope(self.link, 0.0)) ** 0.2
        c = self.practical_multiplier * self.scale
        return np.asarray(width * np.sqrt(2.0 * c * certainty * np.maximum(rounds - np.log1p(rounds), 0.0)))

    def beta(self) -> float:
        """The radius of the log-loss confidence set in the norm of H (Lee, Yun, Jun 2024), with the ridge's bias."""
        if self.radius != "theory":
            return super().beta()
        d, S = self.layer(1).dim, self.theta_bound * self.largest_difference_
        growth = 2.0 * math.e * S * (1.0 + S / 2.0) * (self.t - 1) / d
        b = math.log(1.0 / self.delta) + d * math.log(max(math.e, growth))
        return self.scale * (math.sqrt(2.0 * (1.0 + S) * (1.0 + b)) + math.sqrt(self.ridge_) * self.theta_bound)
