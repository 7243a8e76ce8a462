"""CoLSTIM (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

import math
from typing import Any

from .baselines import uniform_pair
from .estimation import Choice, Draws, Floats, RadiusReference, champion_choice, horizon_in, width


def perturbations(draws: Draws, link: str, n_arms: int, chance: float, clip: float) -> list[float]:
    """eps of every arm: independent ones with the given chance, otherwise one for all; clipped to [-C, C]."""
    separate = draws.uniform() < chance

    def draw() -> float:
        noise = draws.normal() if link == "probit" else draws.gumbel()
        return min(max(noise, -clip), clip)

    return [draw() for _ in range(n_arms)] if separate else [draw()] * n_arms


def coin_chance(dim: int, horizon: float, t: int) -> float:
    """p_t = min(1, sqrt(d log(dT) / t))"""
    return min(1.0, math.sqrt(dim * math.log(dim * horizon) / t))


def imitating_pair(
    arms: Floats, remaining: list[int], theta: Floats, inverse: Floats, eps: list[float], bonus: float
) -> dict[str, Any]:
    """Scores of the first arm, x . theta + eps |x|, and of the second, y . theta + bonus |y - x|."""
    return {
        "first": {
            i: float(arms[i] @ theta) + eps[a] * width(arms[i], 0.0 * arms[i], inverse) for a, i in enumerate(remaining)
        },
        "second": lambda i: {j: float(arms[j] @ theta) + bonus * width(arms[j], arms[i], inverse) for j in remaining},
    }


class CoLSTIM(RadiusReference):
    """Imitate the feedback to choose the first arm, challenge it with the second."""

    def __init__(self, *, clip: float | None = None, warmup: int | None = 0, **settings: Any) -> None:
        super().__init__(**settings)
        self.clip, self.warmup = clip, warmup
        self.clipped = self.shared = 0

    def choose(self, arms: Floats) -> Choice:
        n, dim = arms.shape
        warmup = self.warmup if self.warmup is not None else dim * n
        if self.rounds <= warmup:
            return uniform_pair(self.draws, n)
        T = horizon_in(self.horizon, self.rounds)
        clip = self.clip if self.clip is not None else math.sqrt(dim * math.log(T))
        eps = perturbations(self.draws, self.link, n, coin_chance(dim, T, self.rounds), clip)
        self.clipped += any(abs(e) == clip for e in eps)
        self.shared += len(set(eps)) == 1
        return champion_choice(**imitating_pair(arms, list(range(n)), self.theta, self.inverse(), eps, self.beta()))
