"""LocalPairUCB: the best optimistic pair, with widths in the curvature and bonuses that depend on the horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import RadiusReference
from duelist.reference.fit import effective_horizon, feature_bound
from duelist.reference.links import Floats, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class LocalPairUCB(RadiusReference):
    """argmax over pairs of (x + y) . theta + bonus(x, y), with W = |x - y|_{H^-1}, D = (x - y) . theta and

    bonus = W sqrt(2 c (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),  L = log(1 + T mu'(D) W^2),  c = 1.4 scale.

    With radius "tight" or "theory", or a number, the bonus is that radius times W.
    """

    ridge_reference_dim: ClassVar[float] = 5.0
    practical_multiplier: ClassVar[float] = 1.4

    def configure(self, arms: Floats) -> None:
        """Also store the largest difference between first arms, which the published radius needs."""
        super().configure(arms)
        self.largest_difference_ = 2.0 * feature_bound(arms)

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the best of all pairs."""
        u, width = self.local_utilities_and_widths(arms)
        bonus = self.bonus(u[:, None] - u, width) if self.radius == "practical" else self.beta() * width
        return best_pair(u[:, None] + u + bonus, allowed.pairs(allowed.arms))

    def bonus(self, gap: Floats, width: Floats) -> Floats:
        """Bonus shaped like the optimal stopping boundary of a single comparison with a finite horizon."""
        slope = link_slope(self.link, gap)
        rounds = np.log1p(effective_horizon(self.horizon, self.t) * slope * width**2)
        certainty = (slope / link_slope(self.link, 0.0)) ** 0.2
        c = self.practical_multiplier * self.scale
        return np.asarray(width * np.sqrt(2.0 * c * certainty * np.maximum(rounds - np.log1p(rounds), 0.0)))

    def beta(self) -> float:
        """Radius of the log-loss confidence set in the norm of H."""
        if self.radius == "tight":
            return self.scale * self.tight_radius().local
        if self.radius != "theory":
            return super().beta()
        d = self.layer(1).dim
        published = log_loss_radius(d, self.t, self.theta_bound, self.largest_difference_, self.ridge_, self.delta)
        return self.scale * published


def log_loss_radius(d: int, t: int, theta_bound: float, reach: float, ridge: float, delta: float) -> float:
    """sqrt(2 (1 + S)(1 + b)) + sqrt(ridge) theta_bound,  b = log(1/delta) + d log max(e, 2 e S (1 + S/2) (t - 1) / d).

    It holds for all t at once with probability 1 - delta (Lee, Yun and Jun 2024, logistic link) and contains no
    1/kappa. The theorem is for differences of length at most 1; here they have length up to `reach`, so S =
    theta_bound reach. The second term bounds the bias of the ridge.
    """
    S = theta_bound * reach
    growth = 2.0 * math.e * S * (1.0 + S / 2.0) * (t - 1) / d
    b = math.log(1.0 / delta) + d * math.log(max(math.e, growth))
    return math.sqrt(2.0 * (1.0 + S) * (1.0 + b)) + math.sqrt(ridge) * theta_bound
