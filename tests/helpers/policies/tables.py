"""Small tables of arms with allowed pairs, and the best of their pairs, in plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

NEAR = 1e-10


@dataclass
class Table:
    """Arms, allowed pairs, and the policy before it is asked."""

    policy: Any
    arms: Any
    distinct: bool
    exclude: set[frozenset[int]]
    draws: Any
    """The random numbers that the policy will use."""

    @property
    def n(self) -> int:
        return len(self.arms)

    def legal(self, i: int, j: int) -> bool:
        if i == j:
            return self.n == 1 or not self.distinct
        return frozenset({i, j}) not in self.exclude

    def pairs(self, different: bool = False) -> list[tuple[int, int]]:
        return [
            (i, j)
            for i, j in product(range(self.n), repeat=2)
            if i <= j and self.legal(i, j) and not (different and i == j)
        ]

    def u(self, i: int, layer: int = 1) -> float:
        return float(self.arms[i] @ self.policy.layer(layer).theta)

    def width(self, i: int, j: int, matrix: Any = None) -> float:
        sigma = self.policy.layer(1).precision if matrix is None else matrix
        z = self.arms[i] - self.arms[j]
        return math.sqrt(max(float(z @ np.linalg.inv(sigma) @ z), 0.0))

    def norm(self, i: int, among: Sequence[int], matrix: Any) -> float:
        """Distance of an arm from zero as published, or by default from the mean of the arms in `among`."""
        published = (
            type(self.policy).__name__ != "CoLSTIM"
            or self.policy.ridge is not None
            or self.policy.radius in ("tight", "theory")
        )
        x = self.arms[i] - (0.0 if published else self.arms[list(among)].mean(axis=0))
        return math.sqrt(float(x @ np.linalg.inv(matrix) @ x))


def best(pairs: Sequence[tuple[int, int]], value: Callable[[int, int], float]) -> list[tuple[int, int]]:
    """The pairs that attain the maximum, up to rounding."""
    values = {pair: value(*pair) for pair in pairs}
    return [pair for pair in pairs if values[pair] >= max(values.values()) - NEAR]


def champions(
    table: Table,
    first: Callable[[int], float],
    second: Callable[[int, int], float],
    firsts: Sequence[int],
    seconds: Sequence[int],
    legal: Callable[[int, int], bool] | None = None,
) -> list[tuple[int, int]]:
    """The best first arms that have a partner, with their best partners."""
    legal = legal or table.legal
    eligible = [i for i in firsts if any(legal(i, j) for j in seconds)]
    if not eligible:
        return []
    top = max(first(i) for i in eligible)
    return [
        pair
        for i in eligible
        if first(i) >= top - NEAR
        for pair in best([(i, j) for j in seconds if legal(i, j)], second)
    ]
