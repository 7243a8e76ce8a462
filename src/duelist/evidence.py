"""The ridge that makes the votes most likely.

Each feature has its size s_k: the square root of the mean of z_k^2 / 2 over the votes, which is its standard deviation over the arms
behind them. In features of size one, the prior theta ~ N(0, I / lambda) has one unknown, and the Laplace approximation of the
evidence is largest where (MacKay 1992)

    lambda = gamma / |theta|^2,    gamma = sum of eigenvalues h / (h + lambda)  over the curvature of the votes,

with gamma the number of parameters that the votes determine. It is found by going back and forth between theta and lambda. A few votes
say little about it, so that a Gamma prior around lambda = dim (an average arm then has a utility of about one) is worth
`_PRIOR` more parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist.arrays import Floats
from duelist.links import Link

_PRIOR: Final = 2.0
_ROUNDS: Final = 60
_SAME: Final = 1e-3
_STEPS: Final = 25
_SMALL: Final = 1e-10


@dataclass(frozen=True)
class Votes:
    """Rows z (n, dim) with mass and wins."""

    z: Floats
    mass: Floats
    wins: Floats


def likeliest_ridge(votes: Votes, link: Link) -> Floats:
    """The ridge of every feature."""
    sizes = feature_sizes(votes)
    z = votes.z / np.sqrt(sizes)
    dim = z.shape[1]
    if len(z) < dim:  # theta lies where the rows do: fewer coordinates, the same ridge
        left, values, _ = np.linalg.svd(z, full_matrices=False)
        z = left * values
    return _multiple(Votes(z, votes.mass, votes.wins), link, float(dim)) * sizes


def feature_sizes(votes: Votes) -> Floats:
    """The mean of z_k^2 / 2; one for features in which no two arms differ."""
    total = votes.mass.sum()
    squares = votes.mass @ np.square(votes.z) / (2.0 * total) if total > 0.0 else np.zeros(votes.z.shape[1])
    return np.where(squares > 0.0, squares, 1.0)


def _multiple(votes: Votes, link: Link, usual: float) -> float:
    """lambda."""
    ridge, theta = usual, np.zeros(votes.z.shape[1])
    for _ in range(_ROUNDS):
        theta, curvature = _newton(votes, link, ridge, theta)
        determined = len(theta) - ridge * float(np.trace(np.linalg.inv(curvature)))
        better = (max(determined, 0.0) + _PRIOR) / (float(theta @ theta) + _PRIOR / usual)
        before, ridge = ridge, better
        if abs(np.log(ridge / before)) < _SAME:
            break
    return ridge


def _newton(votes: Votes, link: Link, ridge: float, theta: Floats) -> tuple[Floats, Floats]:
    """theta, and the curvature there."""
    for _ in range(_STEPS):
        margin = votes.z @ theta
        gradient = ridge * theta + votes.z.T @ (votes.mass * link.mean(margin) - votes.wins)
        curvature = (votes.z.T * (votes.mass * link.slope(margin))) @ votes.z
        curvature[np.diag_indices_from(curvature)] += ridge
        step = np.asarray(np.linalg.solve(curvature, gradient), np.float64)
        decrement = float(gradient @ step)
        if decrement <= _SMALL:
            break
        theta = theta - _shortened(votes, link, ridge, theta, step, decrement) * step
    return theta, curvature


def _shortened(votes: Votes, link: Link, ridge: float, theta: Floats, step: Floats, decrement: float) -> float:
    """The largest of 1, 1/2, 1/4, ... that lowers the loss enough."""

    def loss(at: Floats) -> float:
        margin = votes.z @ at
        return float(0.5 * ridge * at @ at + votes.mass @ link.potential(margin) - votes.wins @ margin)

    size, now = 1.0, loss(theta)
    while size > _SMALL and loss(theta - size * step) > now - 0.25 * size * decrement:
        size /= 2.0
    return size
