"""CoLSTIM: imitate the feedback to choose the first arm, challenge it with the second (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.base import RadiusReference, root_d_log
from duelist.reference.fit import Floats, horizon_in
from duelist.reference.pair_choice import Allowed, Choice, Draws, champion_pair, only
from duelist.reference.uniform_pair import uniform_pair


@dataclass(kw_only=True, eq=False, repr=False)
class CoLSTIM(RadiusReference):
    """i = argmax x_i . theta + eps_i |x_i|, then j = argmax x_j . theta + c |x_j - x_i|; c = C = sqrt(d log T)."""

    clip: float | None = None
    warmup: int | None = 0

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """Uniform pairs in the warm-up, d K rounds as published; then the pair above."""
        n, d = arms.shape
        if self.t <= (self.warmup if self.warmup is not None else d * n):
            return only(uniform_pair(self.draws, allowed))
        u, width = self.look(arms)
        T = horizon_in(self.horizon, self.t)
        clip = self.clip if self.clip is not None else root_d_log(d, T)
        eps = perturbations(self.draws, self.link, n, coin_chance(d, T, self.t), clip)
        centre = arms.mean(axis=0) if self.sizes_.follow else 0.0  # so that no origin matters; as published, zero
        first = u + eps * sizes(arms - centre, self.layer(1).precision)
        return champion_pair(first, u + self.beta() * width, allowed.partners(allowed.arms, allowed.arms))


def coin_chance(d: int, T: float, t: int) -> float:  # noqa: N803  (the paper's letter)
    """p_t = min(1, sqrt(d log(dT) / t))"""
    return min(1.0, math.sqrt(d * math.log(d * T) / t))


def perturbations(draws: Draws, link: str, n: int, chance: float, clip: float) -> Floats:
    """eps of n arms: independent ones with the given chance, otherwise one for all; clipped to [-C, C].

    Gumbel imitates the logistic link, the normal probit; for the exponential link, which the paper leaves open, Gumbel.
    """
    separate = draws.uniform() < chance
    draw = draws.normal if link == "probit" else draws.gumbel
    eps = [draw() for _ in range(n)] if separate else [draw()] * n
    return np.clip(eps, -clip, clip)


def sizes(arms: Floats, precision: Floats) -> Floats:
    """|x|_{Sigma^-1} of every arm."""
    return np.sqrt(np.einsum("ik,kl,il->i", arms, np.linalg.inv(precision), arms))
