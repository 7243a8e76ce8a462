"""CoLSTIM: perturbed utilities choose the first arm, optimism its challenger (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.base import RadiusReference, root_d_log
from duelist.reference.fit import effective_horizon
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, Draws, champion_pair, fixed_pair
from duelist.reference.uniform_pair import uniform_pair


@dataclass(kw_only=True, eq=False, repr=False)
class CoLSTIM(RadiusReference):
    """i = argmax x_i . theta + eps_i |x_i|, then j = argmax x_j . theta + c |x_j - x_i|; c = C = sqrt(d log T)."""

    clip: float | None = None
    warmup: int | None = 0

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose random pairs during the warm-up, which has d K rounds as published; then the pair above."""
        n, d = arms.shape
        if self.t <= (self.warmup if self.warmup is not None else d * n):
            return fixed_pair(uniform_pair(self.draws, allowed))
        u, width = self.utilities_and_widths(arms)
        T = effective_horizon(self.horizon, self.t)
        clip = self.clip if self.clip is not None else root_d_log(d, T)
        eps = perturbations(self.draws, self.link, n, independence_probability(d, T, self.t), clip)
        centre = (
            arms.mean(axis=0) if self.feature_scale_.adaptive else 0.0
        )  # the paper has 0; the mean makes the choice translation-invariant
        first = u + eps * arm_norms(arms - centre, self.layer(1).precision)
        return champion_pair(first, u + self.beta() * width, allowed.partners(allowed.arms, allowed.arms))


def independence_probability(d: int, T: float, t: int) -> float:  # noqa: N803  (the paper's letter)
    """p_t = min(1, sqrt(d log(dT) / t))"""
    return min(1.0, math.sqrt(d * math.log(d * T) / t))


def perturbations(draws: Draws, link: str, n: int, chance: float, clip: float) -> Floats:
    """eps of n arms: independent with the given probability, otherwise one for all; clipped to [-C, C].

    Gumbel for the logistic link, normal for probit. The paper leaves the exponential link open; it gets Gumbel, too.
    """
    separate = draws.uniform() < chance
    draw = draws.normal if link == "probit" else draws.gumbel
    eps = [draw() for _ in range(n)] if separate else [draw()] * n
    return np.clip(eps, -clip, clip)


def arm_norms(arms: Floats, precision: Floats) -> Floats:
    """|x|_{Sigma^-1} of every arm."""
    return np.sqrt(np.einsum("ik,kl,il->i", arms, np.linalg.inv(precision), arms))
