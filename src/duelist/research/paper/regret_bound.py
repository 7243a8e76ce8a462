"""A lower bound on regret on the hypercube, for a policy that knows how theta* was drawn.

Corners of the hypercube choose the sign of each coordinate independently. In a round, either both arms agree in
coordinate k, which costs 2 |theta_k| if they have the wrong sign and teaches nothing about it; or they differ there,
which costs |theta_k| and, even with all other coordinates known, reveals theta_k with a precision of at most 4 / 4 =
1 (a difference of 2, a slope of at most 1/4). With independent coordinates theta_k ~ N(0, tau^2), treating each
separately loses nothing, so the sum over coordinates of

    the least expected cost of: compare n times, then commit to the likelier sign for the other T - n rounds

is below the mean regret of every policy, up to the normal approximation of votes. It is computed by backward
induction over n and the posterior mean (the problem of Anscombe 1963). For large theta*, slopes are far below 1/4,
and the bound is far below the attainable regret.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy.stats import norm

from duelist.core.arrays import Floats

_FINEST: Final = 0.01
_COARSEST: Final = 0.4
"""Bounds on the distance between nodes; a normal variable needs no finer ones than the coarsest."""
_PARTS: Final = 16
"""Nodes per remaining standard deviation, where a single vote tells much."""
_GRID: Final = 2001
_REACH: Final = 6.0


def least_regret(dim: int, scale: float, rounds: int) -> float:
    """Return a lower bound on mean regret on `Hypercube(dim, scale=scale, prior="normal")`."""
    return dim * least_sign_cost(scale / np.sqrt(dim), rounds)


def least_sign_cost(spread: float, rounds: int, grid: int = _GRID) -> float:
    """Return the value of the problem of one coordinate with theta ~ N(0, spread^2)."""
    *_, (_, committing, going_on) = _backwards(spread, rounds, grid)
    return float(min(committing[0], going_on[0]))


def optimal_boundary(spread: float, rounds: int, grid: int = _GRID) -> Floats:
    """Return how many posterior standard deviations from 0 the mean must be to commit after n comparisons, n = 0, 1,
    ..., rounds - 1.
    """
    means, boundary = _means(spread, grid), np.zeros(rounds)
    for n, committing, going_on in _backwards(spread, rounds, grid):
        first = np.flatnonzero(committing <= going_on)[0]  # fails if the grid does not reach the boundary
        boundary[n] = means[first] / _posterior_deviation(spread, n)
    return boundary


def _backwards(spread: float, rounds: int, grid: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield, from the last round to the first, the comparisons made and the costs of committing and of continuing at
    every posterior mean.
    """
    means, value = _means(spread, grid), np.zeros(grid)
    for n in range(rounds - 1, -1, -1):
        deviation = _posterior_deviation(spread, n)
        step = np.sqrt(deviation**2 - _posterior_deviation(spread, n + 1) ** 2)
        nodes, weights = _normal(1.0 / (_PARTS * deviation))  # step = sd now times sd after the comparison
        after = np.abs(means[:, None] + step * nodes)
        committing = 2.0 * (rounds - n) * _mean_loss(means, deviation)
        going_on = _mean_size(means, deviation) + np.interp(after, means, value) @ weights
        yield n, committing, going_on
        value = np.minimum(committing, going_on)


def _means(spread: float, grid: int) -> Floats:
    """Return posterior means; the problem is symmetric around 0."""
    return np.linspace(0.0, _REACH * spread, grid)


def _posterior_deviation(spread: float, n: int) -> float:
    return float(1.0 / np.sqrt(spread**-2 + n))


def _normal(distance: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of a standard normal variable, none at 0, where values may have a kink."""
    distance = min(max(distance, _FINEST), _COARSEST)
    half = int(np.ceil(_REACH / distance))
    nodes = np.asarray(distance * (np.arange(-half, half) + 0.5), np.float64)
    weights = norm.pdf(nodes)
    return nodes, np.asarray(weights / weights.sum())


def _mean_size(mean: Floats, deviation: float) -> Floats:
    """Return E |theta|."""
    z = mean / deviation
    return np.asarray(2.0 * deviation * norm.pdf(z) + mean * (2.0 * norm.cdf(z) - 1.0))


def _mean_loss(mean: Floats, deviation: float) -> Floats:
    """Return E max(-theta, 0), the loss of committing to the positive sign."""
    z = mean / deviation
    return np.asarray(deviation * norm.pdf(z) - mean * norm.cdf(-z))
