"""What the layered references share: layers that each keep their own data, and what happened in them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .estimation import Floats, Row, estimate, precision


class Layer:
    """Data, Sigma and estimate of one layer."""

    def __init__(self, link: str, prior: float, ridge: float, radius: float, dim: int) -> None:
        self.link, self.prior, self.ridge, self.radius, self.dim = link, prior, ridge, radius, dim
        self.rows: list[Row] = []
        self.count = 0.0
        self.theta = np.zeros(dim)

    def learn(self, row: Row, weight: float) -> None:
        self.rows.append(row)
        self.count += weight
        self.theta = estimate(self.link, self.ridge, self.rows, self.dim)

    def inverse(self) -> Floats:
        return np.linalg.inv(precision(self.prior, self.rows, self.dim))


def main_theta(layers: dict[int, Layer]) -> Floats:
    """The estimate of the layer with the most data, the deepest of equals."""
    return layers[max(layers, key=lambda number: (layers[number].count, number))].theta


class Events:
    """How often what happened in which layer, so that a test can show that it tested something."""

    def __init__(self) -> None:
        self.explored: Counter[int] = Counter()
        self.dropped: Counter[int] = Counter()
        self.exploited: Counter[int] = Counter()
        self.exploited_with_a_choice: Counter[int] = Counter()

    def __add__(self, other: Events) -> Events:
        total = Events()
        for name, counter in vars(total).items():
            counter.update(getattr(self, name))
            counter.update(getattr(other, name))
        return total

    def exploited_by(self, layer: int, n_arms: int) -> None:
        self.exploited[layer] += 1
        if n_arms > 1:
            self.exploited_with_a_choice[layer] += 1

    def dropped_by(self, layer: int, n_arms: int) -> None:
        if n_arms > 0:
            self.dropped[layer] += n_arms
