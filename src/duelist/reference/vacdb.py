"""VACDB (Di, Jin, Wu, Zhao, Farnoud, Gu, ICLR 2024): Algorithm 1, line by line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from duelist.reference.base import RadiusReference
from duelist.reference.fit import Estimator, Vote, effective_horizon, mean_variance, utilities, widths
from duelist.reference.links import Floats, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, Pair, best_pair, fixed_pair, no_learning
from duelist.reference.tight_radius import delta_of_layer


@dataclass(kw_only=True, eq=False, repr=False)
class VACDB(RadiusReference):
    """Variance-aware contextual dueling bandit.

    With radius "theory", a given kappa and the default `variance`, this is the paper's algorithm exactly. The default
    radius, "practical", has another constant, estimates the variance in all layers, and scales the priors by feature.
    """

    explore: str = "value"
    variance: str | None = None
    alpha: float | None = None
    first_layer: int = 1

    practical_multiplier: ClassVar[float] = 5e-4
    practical_ridge: ClassVar[float] = 0.05

    def configure(self, arms: Floats) -> None:
        """Line 1: kappa and L_mu. The published priors 4^-l assume unit features; other radii scale them by the first
        arms.
        """
        super().configure(arms)
        self.largest_slope_ = float(link_slope(self.link, 0.0))
        self.radii_: dict[int, float] = {}
        self.learned_before_: dict[int, int] = {}
        """The first round after the last vote of each layer."""
        if self.radius == "theory":
            self.unit_, self.rho_ = 1.0, self.ridge or self.kappa_
        elif self.radius == "tight":
            self.unit_, self.rho_ = 1.0, self.ridge or 1.0
        else:
            self.unit_ = 1.0 if self.ridge is None else mean_variance(arms)
            self.rho_ = self.ridge_
            self.kappa_ = self.kappa or self.largest_slope_

    def new_layer(self, ell: int) -> Estimator:
        """Line 2: Sigma = 4^-l I, theta = 0, Psi empty, beta = 2^-l (1 + 1/kappa); tight: 2^-l S."""
        self.radii_[ell] = self.scaled(
            2.0**-ell * (self.theta_bound if self.radius == "tight" else 1 + 1 / self.kappa_)
        )
        return self.new_estimator(prior=4.0**-ell * self.unit_, ridge=4.0**-ell * self.rho_)

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Lines 5 to 18."""
        alpha = self.finest(self.t)
        remaining, ell = allowed.arms, self.first_layer  # line 5
        while True:  # line 6
            layer = self.layer(ell)
            u, width, beta = utilities(arms, layer.theta), widths(arms, layer.precision), self.radii_[ell]
            pairs = allowed.different(remaining)
            if all(width[pair] <= alpha for pair in pairs):  # line 7: exploitation
                values = u[:, None] + u + beta * width  # line 8
                near = allowed.pairs_near(remaining)
                return best_pair(values, near, layer=ell, share=no_learning, remaining=remaining)  # line 9
            if all(width[pair] <= 2.0**-ell for pair in pairs):  # line 10: elimination
                floor = u[remaining].max() - 2.0**-ell * beta
                remaining = [i for i in remaining if u[i] >= floor]  # line 11
                ell += 1  # line 12
            else:  # line 13: exploration
                wide = [pair for pair in pairs if width[pair] > 2.0**-ell]
                return self.wide_pair(wide, ell, u, width, remaining)  # lines 14 to 16

    def wide_pair(self, wide: list[Pair], ell: int, u: Floats, width: Floats, remaining: list[int]) -> Choice:
        """Line 14, which leaves open which wide pair is played; line 15: w = 2^-l / |x - y|; line 16: add it to
        Psi_l.
        """

        def share(i: int, j: int) -> float:
            return float((2.0**-ell / width[i, j]) ** 2)

        if self.explore == "random":
            return fixed_pair(self.draws.one_of(wide), layer=ell, share=share, remaining=remaining)
        values = u[:, None] + u if self.explore == "value" else width
        return best_pair(values, wide, then=width, layer=ell, share=share, remaining=remaining)

    def update_layer(self, ell: int, vote: Vote, weight: float) -> None:
        """Lines 19 to 22: update Sigma, the estimate and the radius of layer l only."""
        super().update_layer(ell, vote, weight)  # lines 19 and 20
        self.learned_before_[ell] = self.t
        self.radii_[ell] = self.scaled(self.beta_of_layer(ell))  # line 21

    def adopt_link(self) -> None:
        """The radii depend on the estimates."""
        super().adopt_link()
        self._update_radii()

    def rescale(self) -> None:
        """Rescale the layers; the variance estimates in the radii change with them."""
        super().rescale()
        self._update_radii()

    def rescale_from_start(self) -> None:
        """Rescale the layers after atypical first arms, and update the radii."""
        super().rescale_from_start()
        self._update_radii()

    def _update_radii(self) -> None:
        for ell in self.learned_before_:
            self.radii_[ell] = self.scaled(self.beta_of_layer(ell))

    def beta_of_layer(self, ell: int) -> float:
        """The radius before it is scaled: tight, or the paper's."""
        if self.radius == "tight":
            return self.tight_radius(ell, delta_of_layer(self.delta, ell - self.first_layer + 1)).precision
        return self.published_beta(ell)

    def published_beta(self, ell: int) -> float:
        """The paper's equation for beta of layer l in round t."""
        t, kappa, layer = self.learned_before_[ell], self.kappa_, self.layer(ell)
        L = max(1, math.ceil(round(math.log2(1.0 / self.finest(t)), 9))) + 1 - self.first_layer
        log, log_next = math.log(4.0 * t**2 * L / self.delta), math.log(4.0 * (t + 1) ** 2 * L / self.delta)
        high = 2.0**ell >= 64.0 * (self.largest_slope_ / kappa) * math.sqrt(log_next)
        everywhere = self.variance == "all" or (self.variance is None and self.radius == "practical")
        variance = layer.residuals if high or everywhere else layer.count
        return (
            16.0 * 2.0**-ell / kappa * math.sqrt((8.0 * variance + 18.0 * log_next) * log)
            + 6.0 * 2.0**-ell / kappa * log
            + 2.0 ** (1 - ell)
        )

    def scaled(self, published: float) -> float:
        """The published radius times the multipliers of the settings; a number is the radius of every layer."""
        if not isinstance(self.radius, str):
            return self.scale * self.radius
        return self.scale * (self.practical_multiplier if self.radius == "practical" else 1.0) * published

    def finest(self, t: int) -> float:
        """alpha: the width below which to exploit in round t, T^(-3/2)."""
        return self.alpha if self.alpha is not None else effective_horizon(self.horizon, t) ** -1.5
