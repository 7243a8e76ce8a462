"""The Poisson binomial distribution: sums of independent coins with unequal probabilities."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr

from duelist.core.arrays import Floats, Ints
from duelist.study.analysis.fit.votes import Bools

EXACT: Final = 20_000
"""Up to this many coins tails are exact; beyond, normal."""
_BERRY_ESSEEN: Final = 0.56
"""The largest error of the normal approximation, times the sum of third moments over variance^1.5 (Shevtsova 2010)."""
_LEAF: Final = 64


def tails(chances: Floats, successes: int) -> tuple[float, float]:
    """Return P(X <= successes) and P(X >= successes) for X the number of successes.

    >>> [round(tail, 3) for tail in tails(np.array([0.5, 0.5]), 0)]
    [0.25, 1.0]
    """
    n = len(chances)
    if n > EXACT:
        deviation = max(float(np.sqrt((chances * (1.0 - chances)).sum())), 1e-300)
        over = (successes - chances.sum()) / deviation
        return float(ndtr(over + 0.5 / deviation)), float(ndtr(0.5 / deviation - over))
    mass = distribution(chances)
    return float(min(mass[: successes + 1].sum(), 1.0)), float(min(mass[successes:].sum(), 1.0))


class Sums(NamedTuple):
    """The expected number of heads, its variance and the sum of third moments, for each of several sets of coins."""

    mean: Floats
    variance: Floats
    third: Floats

    @classmethod
    def of(cls, chances: Floats, which: Ints, n: int) -> Sums:
        """Return the sums of the sets that coins belong to, `which` from 0 to n - 1."""
        spread = chances * (1.0 - chances)
        parts = chances, spread, spread * (1.0 - 2.0 * spread)
        return cls(*(np.asarray(np.bincount(which, part, n), np.float64) for part in parts))


def clearly_above(threshold: float, sums: Sums, successes: Floats) -> tuple[Bools, Bools]:
    """Return whether the lower and upper tails exceed a threshold so clearly that they need not be computed.

    Either the normal approximation says so despite its error, or it gives twenty times the threshold with a standard
    deviation of at least 5: its tails are then wrong by a factor of two or three, not of twenty.
    """
    some = sums.variance > 0.0
    variance = np.where(some, sums.variance, 1.0)
    deviation = np.sqrt(variance)
    over = (successes - sums.mean) / deviation
    error = _BERRY_ESSEEN * sums.third / variance**1.5
    enough = np.minimum(threshold + error, np.where(deviation >= 5.0, 20.0 * threshold, 1.0))
    return some & (ndtr(over) > enough), some & (ndtr(-over) > enough)


def distribution(chances: Floats) -> Floats:
    """Return P(X = 0), ..., P(X = n): blocks of 64 coins one by one, then combined by Fourier transform."""
    n = len(chances)
    rows = 1 << max(-(-n // _LEAF) - 1, 0).bit_length()
    coins = np.zeros(rows * _LEAF)
    coins[:n] = chances
    p = coins.reshape(rows, _LEAF)
    mass = np.zeros((rows, _LEAF + 1))
    mass[:, 0] = 1.0
    for k in range(min(n, _LEAF)):
        one = p[:, k : k + 1]
        mass[:, 1 : k + 2] = mass[:, 1 : k + 2] * (1.0 - one) + mass[:, : k + 1] * one
        mass[:, 0] *= 1.0 - one[:, 0]
    while len(mass) > 1:
        size = 2 * mass.shape[1] - 1
        changed = np.fft.rfft(mass, size + 1, axis=1)
        mass = np.fft.irfft(changed[0::2] * changed[1::2], size + 1, axis=1)[:, :size]
    return np.maximum(mass[0, : n + 1], 0.0)
