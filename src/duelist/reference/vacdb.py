"""VACDB (Di, Jin, Wu, Zhao, Farnoud, Gu 2024, Algorithm 1), line by line."""

from __future__ import annotations

import math
from typing import Any

from .estimation import (
    Choice,
    Floats,
    Reference,
    Row,
    best_pair_choice,
    horizon_in,
    link_mean,
    link_slope,
    mean_variance,
    pairs_of,
    self_pairs_and_pairs_of,
    smallest_slope,
    width,
)
from .layers import Events, Layer, main_theta


class VACDB(Reference):
    """Estimate and radius of a layer are computed as soon as an outcome arrives."""

    def __init__(
        self,
        *,
        practical_multiplier: float,
        practical_ridge: float,
        horizon: int | None = None,
        radius: str | float = "practical",
        scale: float = 1.0,
        delta: float = 0.05,
        kappa: float | None = None,
        theta_bound: float = 1.0,
        explore: str = "value",
        variance: str | None = None,
        alpha: float | None = None,
        first_layer: int = 1,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.horizon, self.radius, self.delta = horizon, radius, delta
        self.scale = scale * practical_multiplier if radius == "practical" else scale
        self.kappa, self.theta_bound, self.practical_ridge = kappa, theta_bound, practical_ridge
        self.explore, self.alpha, self.first_layer = explore, alpha, first_layer
        self.variance = variance or ("high" if radius == "theory" else "all")
        self.events = Events()
        self.residual_sums = self.counts_for_variance = 0

    def start(self, arms: Floats) -> None:
        self.dim = arms.shape[1]
        self.layers: dict[int, Layer] = {}
        self.largest_slope = float(link_slope(self.link, 0.0))
        if self.kappa is None:
            theory = self.radius == "theory"
            self.kappa = smallest_slope(self.link, arms, self.theta_bound) if theory else self.largest_slope
        # The published prior 4^-l I has the units of no feature; any other takes them from the first arms.
        self.unit = 1.0 if self.radius == "theory" else mean_variance(arms)
        if self.ridge is not None:
            self.rho = self.ridge
        elif self.radius == "theory":
            self.rho = self.kappa
        else:
            self.rho = self.practical_ridge * mean_variance(arms)

    def layer(self, ell: int) -> Layer:
        """Line 2."""
        if ell not in self.layers:
            first_radius = self.scale * 2.0**-ell * (1.0 + 1.0 / self.kappa)
            if not isinstance(self.radius, str):
                first_radius = self.scale * self.radius
            self.layers[ell] = Layer(self.link, 4.0**-ell * self.unit, 4.0**-ell * self.rho, first_radius, self.dim)
        return self.layers[ell]

    def finest(self, t: int) -> float:
        """alpha of round t"""
        return self.alpha if self.alpha is not None else horizon_in(self.horizon, t) ** -1.5

    def choose(self, arms: Floats) -> Choice:
        """Lines 5 to 18."""
        alpha = self.finest(self.rounds)
        remaining = list(range(len(arms)))
        ell = self.first_layer
        while True:
            layer = self.layer(ell)
            theta, beta, inverse = layer.theta, layer.radius, layer.inverse()
            widths = {(i, j): width(arms[i], arms[j], inverse) for i, j in pairs_of(remaining)}
            if all(w <= alpha for w in widths.values()):
                self.events.exploited_by(ell, len(remaining))
                scores = {
                    (i, j): (arms[i] + arms[j]) @ theta + beta * width(arms[i], arms[j], inverse)
                    for i, j in self_pairs_and_pairs_of(remaining)
                }
                return best_pair_choice(scores, layer=0)
            if all(w <= 2.0**-ell for w in widths.values()):
                floor = max(float(arms[i] @ theta) for i in remaining) - 2.0**-ell * beta
                kept = [i for i in remaining if float(arms[i] @ theta) >= floor]
                self.events.dropped_by(ell, len(remaining) - len(kept))
                remaining = kept
                ell += 1
                continue
            self.events.explored[ell] += 1
            wide = {pair: w for pair, w in widths.items() if w > 2.0**-ell}
            return self.explored(arms, theta, ell, wide)

    def explored(self, arms: Floats, theta: Floats, ell: int, wide: dict[tuple[int, int], float]) -> Choice:
        """Lines 14 and 15; which wide pair is left open by the paper."""

        def share(i: int, j: int) -> float:
            return (2.0**-ell / wide[i, j]) ** 2

        if self.explore == "widest":
            scores: dict[Any, Any] = wide
        elif self.explore == "value":
            scores = {(i, j): (arms[i] @ theta + arms[j] @ theta, w) for (i, j), w in wide.items()}
        else:
            drawn = list(wide)[self.draws.below(len(wide))]
            scores = {pair: float(pair == drawn) for pair in wide}
        return best_pair_choice(scores, layer=ell - self.first_layer + 1, share=share)

    def learn(self, layer: int, row: Row, weight: float) -> None:
        """Lines 22 to 25: only the layer that gained a row changes."""
        ell = layer + self.first_layer - 1
        changed = self.layer(ell)
        changed.learn(row, weight)
        if isinstance(self.radius, str):
            changed.radius = self.scale * self.beta(ell, changed, self.rounds + 1)

    def beta(self, ell: int, layer: Layer, t: int) -> float:
        """Equation (bonus), for round t."""
        L = 1
        while self.finest(t) < 2.0**-L:
            L += 1
        L += 1 - self.first_layer  # the layers that the union bound is over
        log_t = math.log(4.0 * t**2 * L / self.delta)
        log_next = math.log(4.0 * (t + 1) ** 2 * L / self.delta)
        high = 2.0**ell >= 64.0 * (self.largest_slope / self.kappa) * math.sqrt(log_next)
        if high or self.variance == "all":
            self.residual_sums += 1
            variance = 0.0
            for row in layer.rows:
                p = float(link_mean(self.link, row.z @ layer.theta))
                # A tie is half a win and half a loss.
                variance += row.mass * (row.outcome * (1.0 - p) ** 2 + (1.0 - row.outcome) * p**2)
        else:
            self.counts_for_variance += 1
            variance = layer.count
        return (
            16.0 * 2.0**-ell / self.kappa * math.sqrt((8.0 * variance + 18.0 * log_next) * log_t)
            + 6.0 * 2.0**-ell / self.kappa * log_t
            + 2.0 ** (1 - ell)
        )

    @property
    def theta(self) -> Floats:
        return main_theta(self.layers)
