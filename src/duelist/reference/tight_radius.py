"""The tight radius: valid confidence sets computed from the votes. `docs/algorithms/tight-radius.md` states and proves the theorem."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from duelist.reference.fit import Exact
from duelist.reference.links import Floats, link_mean, link_slope

_FLAT: Final = 1e-4


class TightRadius(NamedTuple):
    """Bounds on the error of an estimate that hold in all rounds at once with probability 1 - delta."""

    local: float
    """|theta - theta*|_H <= local, with H the curvature at theta."""
    precision: float
    """|theta - theta*|_Sigma <= precision."""


def tight_radius(estimator: Exact, bound: float, delta: float) -> TightRadius:
    """Return the radii for all votes of an estimator, where |theta*| <= bound."""
    ridge, prior = estimator.factors
    if not estimator.votes:
        return TightRadius(math.sqrt(ridge) * bound, math.sqrt(prior) * bound)
    link, theta, d = estimator.link, estimator.theta, estimator.dim
    z = np.array([vote.z for vote in estimator.votes])
    weights = np.array([vote.total_weight for vote in estimator.votes])
    margins, lengths = np.abs(z @ theta), np.linalg.norm(z, axis=1)

    gap = likelihood_gap(link, z, weights, theta, ridge, bound, delta)
    H = ridge * np.eye(d) + (z.T * (weights * link_slope(link, margins))) @ z
    widest = math.sqrt(max(np.einsum("sk,sk->s", z @ np.linalg.inv(H), z)))
    bend = log_slope_bound(link, max(margins.max(), bound * lengths.max()))
    turn = bend * widest * gap
    by_width = (turn + math.sqrt(turn**2 + 8.0 * gap)) / 2.0
    by_length = math.sqrt((2.0 + bend * (margins + bound * lengths).max()) * gap)
    local = min(by_width, by_length)

    Sigma = prior * np.eye(d) + (z.T * weights) @ z
    root = np.linalg.inv(np.linalg.cholesky(H))
    return TightRadius(local, local * math.sqrt(np.linalg.eigvalsh(root @ Sigma @ root.T).max()))


def likelihood_gap(
    link: str, z: Floats, weights: Floats, theta: Floats, ridge: float, bound: float, delta: float
) -> float:
    """gamma: J(theta*) - J(theta) <= gamma, with J the penalised loss whose minimum theta is.

    gamma = (log(2 / delta) + min over rho of [1/2 log det(I + c K / rho) + rho |theta|^2 / 2]) / c
            + ridge (S^2 - |theta|^2) / 2,

    with rho in {c ridge, d / S^2}, K = sum w k(z . theta) zz' and k(v) = (mu(v) - 1/2) / v.
    """
    c, d, square = likelihood_temperature(link), len(theta), float(theta @ theta)
    K = (z.T * (weights * chord(link, z @ theta))) @ z

    def cost(rho: float) -> float:
        return float(0.5 * np.linalg.slogdet(np.eye(d) + c * K / rho)[1] + 0.5 * rho * square)

    cheaper = min(cost(c * ridge), cost(d / bound**2))
    return max((math.log(2.0 / delta) + cheaper) / c + 0.5 * ridge * (bound**2 - square), 0.0)


def likelihood_temperature(link: str) -> float:
    """c: the smallest ratio of mu' to mu (1 - mu)."""
    return 4.0 * float(link_slope(link, 0.0)) if link == "probit" else 1.0


def chord(link: str, v: Floats) -> Floats:
    """k(v) = (mu(v) - 1/2) / v, at most mu'(0)."""
    size = np.abs(v)
    return np.where(size < _FLAT, link_slope(link, 0.0), (link_mean(link, size) - 0.5) / np.maximum(size, _FLAT))


def log_slope_bound(link: str, largest: float) -> float:
    """A bound on |d log mu'(v) / dv| over |v| <= largest."""
    return largest if link == "probit" else 1.0


def delta_of_layer(delta: float, number: int) -> float:
    """The share of delta that layer number 1, 2, ... has; the sum over all layers is delta."""
    return delta / (number * (number + 1))
