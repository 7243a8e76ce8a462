"""Simulated arms and votes for policies and their references."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelist.reference.links import Floats, link_mean
from duelist.reference.pair_choice import Pair


class World:
    """Gaussian arms, fixed or new in each round, and outcomes drawn from a link."""

    def __init__(
        self,
        seed: int,
        fixed: bool,
        *,
        dim: int = 3,
        n_arms: tuple[int, int] = (1, 7),
        size: float = 1.0,
        strength: float = 3.0,
        link: str = "logistic",
    ) -> None:
        self._rng = np.random.default_rng([seed, dim, 2024])
        direction = self._rng.standard_normal(dim)
        self.theta = strength / size * direction / np.linalg.norm(direction)
        self._dim, self._n_arms, self._size, self._link = dim, n_arms, size, link
        self._fixed = self._new_arms(n_arms[1]) if fixed else None

    def _new_arms(self, count: int) -> Floats:
        return self._size * self._rng.standard_normal((count, self._dim))

    def arms(self) -> Floats:
        if self._fixed is not None:
            return self._fixed
        least, most = self._n_arms
        return self._new_arms(int(self._rng.integers(least, most, endpoint=True)))

    def outcome(self, arms: Floats, pair: Pair) -> float:
        chance = link_mean(self._link, (arms[pair[0]] - arms[pair[1]]) @ self.theta)
        return float(self._rng.random() < chance)

    def any_vote(self, arms: Floats, pair: Pair) -> tuple[float, float]:
        """An outcome, possibly a tie, and a weight."""
        outcome = 0.5 if self._rng.random() < 0.2 else self.outcome(arms, pair)
        return outcome, float(self._rng.choice([0.5, 1.0, 1.0, 2.0]))

    def some(self, waiting: list[Any]) -> list[Any]:
        """Some of the pending votes, in random order."""
        count = int(self._rng.integers(0, min(len(waiting), 3), endpoint=True))
        return [waiting[k] for k in self._rng.permutation(len(waiting))[:count]]
