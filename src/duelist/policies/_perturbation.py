"""CoLSTIM's randomised pair, which SupCoLSTIM plays too."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled
from duelist.kernels.all_pairs import argmax
from duelist.kernels.pairs import challenger
from duelist.kernels.random import gumbel, normal, uniform
from duelist.kernels.scratch import Scratch
from duelist.links import PROBIT
from duelist.policies._state import Floats


@compiled
def perturbation(link: int, words: NDArray[np.uint64], clip: float) -> float:
    """One draw of the noise that imitates the link: normal for probit, Gumbel otherwise; clipped."""
    noise = normal(words) if link == PROBIT else gumbel(words)
    return max(-clip, min(clip, noise))


@compiled
def coin_chance(dim: int, horizon: float, t: int) -> float:
    """p_t = min(1, sqrt(d log(dT) / t))"""
    return min(1.0, math.sqrt(dim * math.log(dim * horizon) / t))


@compiled
def perturbed_pair(
    link: int,
    words: NDArray[np.uint64],
    u: Floats,
    v: Floats,
    chance: float,
    clip: float,
    bonus: float,
    scratch: Scratch,
) -> tuple[int, int]:
    """The arm with the best perturbed utility, and its challenger.

    With the given chance every arm gets a perturbation of its own, otherwise all share one.
    """
    dim, n = v.shape
    separate = uniform(words) < chance
    shared = 0.0 if separate else perturbation(link, words, clip)
    score = scratch.reach[:n]
    for a in range(n):
        score[a] = 0.0
    for k in range(dim):
        row = v[k]
        for a in range(n):
            score[a] += row[a] * row[a]
    for a in range(n):
        score[a] = math.sqrt(score[a])
    for a in range(n):
        noise = perturbation(link, words, clip) if separate else shared
        score[a] = u[a] + noise * score[a]
    first = argmax(score)
    return first, challenger(u, v, first, bonus, scratch.line)
