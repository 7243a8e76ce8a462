"""Sta'D (Saha 2021)."""

from __future__ import annotations

import math
from typing import Any

from .estimation import (
    Choice,
    Floats,
    Reference,
    Row,
    best_pair_choice,
    champion_choice,
    horizon_in,
    mean_variance,
    pairs_of,
    smallest_slope,
    width,
)
from .layers import Events, Layer, main_theta


class StaD(Reference):
    """Stagewise elimination, then the best arm and its challenger."""

    def __init__(
        self,
        *,
        practical_multiplier: float,
        horizon: int | None = None,
        radius: str | float = "practical",
        scale: float = 1.0,
        delta: float = 0.05,
        kappa: float | None = None,
        theta_bound: float = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.horizon, self.radius, self.scale, self.delta = horizon, radius, scale, delta
        self.kappa, self.theta_bound, self.practical_multiplier = kappa, theta_bound, practical_multiplier
        self.events = Events()

    def start(self, arms: Floats) -> None:
        self.dim = arms.shape[1]
        self.layers: dict[int, Layer] = {}
        self.lam = self.ridge if self.ridge is not None else mean_variance(arms)
        if self.radius == "theory" and self.kappa is None:
            self.kappa = smallest_slope(self.link, arms, self.theta_bound)

    def layer(self, s: int) -> Layer:
        if s not in self.layers:
            self.layers[s] = Layer(self.link, self.lam, self.lam, 0.0, self.dim)
        return self.layers[s]

    def eta(self, n_arms: int) -> float:
        """The stretch of widths in the present round."""
        T = horizon_in(self.horizon, self.rounds)
        if self.radius == "theory":
            # Li, Lu and Zhou 2017, SupCB-GLM.
            return self.scale * 1.5 / self.kappa * math.sqrt(2.0 * math.log(3.0 * T * n_arms / self.delta))
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * math.sqrt(math.log(T))
        return self.scale * float(self.radius)

    def choose(self, arms: Floats) -> Choice:
        finest = 1.0 / math.sqrt(horizon_in(self.horizon, self.rounds))
        eta = self.eta(len(arms))
        remaining = list(range(len(arms)))
        s = 1
        while True:
            layer = self.layer(s)
            inverse = layer.inverse()
            p = {(i, j): eta * width(arms[i], arms[j], inverse) for i, j in pairs_of(remaining)}
            if all(value <= finest for value in p.values()):
                self.events.exploited_by(s, len(remaining))
                return self.final_pair(arms, remaining, layer.theta, inverse, eta)
            if all(value <= 2.0**-s for value in p.values()):
                u = {i: float(arms[i] @ layer.theta) for i in remaining}
                kept = [i for i in remaining if not u[i] + 2.0**-s < max(u.values())]
                self.events.dropped_by(s, len(remaining) - len(kept))
                remaining = kept
                s += 1
                continue
            self.events.explored[s] += 1
            return best_pair_choice(p, layer=s)

    def final_pair(self, arms: Floats, remaining: list[int], theta: Floats, inverse: Floats, eta: float) -> Choice:
        """argmax x . theta, then argmax y . theta + p(x, y); nothing is stored."""
        return champion_choice(
            {i: float(arms[i] @ theta) for i in remaining},
            lambda i: {j: float(arms[j] @ theta) + eta * width(arms[i], arms[j], inverse) for j in remaining},
            layer=0,
        )

    def learn(self, layer: int, row: Row, weight: float) -> None:
        self.layer(layer).learn(row, weight)

    @property
    def theta(self) -> Floats:
        return main_theta(self.layers)
