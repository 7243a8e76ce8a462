"""The ridge that makes the votes most likely.

Each feature has its size s_k: the square root of the mean of z_k^2 / 2 over the votes, which is its standard deviation over the arms
behind them. In features of size one, the prior theta ~ N(0, I / lambda) has one unknown, and the Laplace approximation of the
evidence for it is (MacKay 1992)

    log p(votes | theta) - lambda/2 |theta|^2 + dim/2 log lambda - 1/2 log det H,

at the estimate theta for that lambda, with H its curvature. A few votes say little about it, so that a Gamma prior around lambda = dim
(an average arm then has a utility of about one) adds `_PRIOR_STRENGTH` / 2 (log lambda - lambda / dim). The maximum is searched for.

MacKay's fixed point lambda = gamma / |theta|^2 is quicker, but leaves out how H moves with theta. Where votes were asked for because they
are hard to foresee, that matters: it settles at several times the likeliest ridge (docs/decisions/0041).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.model.links import Link

_PRIOR_STRENGTH: Final = 2.0
_FAR: Final = 16.0
_NARROW: Final = 0.05
_GOLDEN: Final = (3.0 - 5.0**0.5) / 2.0
_STEPS: Final = 25
_SMALL: Final = 1e-10


Point = tuple[float, float]
"""Where, and how high."""


@dataclass(frozen=True)
class VoteRows:
    """Rows z (n, dim) with mass and wins."""

    z: Floats
    mass: Floats
    wins: Floats


def select_ridge(votes: VoteRows, link: Link) -> Floats:
    """The ridge of every feature."""
    sizes = feature_variances(votes)
    z = votes.z / np.sqrt(sizes)
    dim = z.shape[1]
    if len(z) < dim:  # theta lies where the rows do: fewer coordinates, the same ridge
        left, values, _ = np.linalg.svd(z, full_matrices=False)
        z = left * values
    return _maximize_evidence(VoteRows(z, votes.mass, votes.wins), link, float(dim)) * sizes


def feature_variances(votes: VoteRows) -> Floats:
    """The mean of z_k^2 / 2; one for features in which no two arms differ."""
    total = votes.mass.sum()
    squares = votes.mass @ np.square(votes.z) / (2.0 * total) if total > 0.0 else np.zeros(votes.z.shape[1])
    return np.where(squares > 0.0, squares, 1.0)


def _maximize_evidence(votes: VoteRows, link: Link, usual: float) -> float:
    """lambda: a bracket of the maximum by doubling, golden sections of it, and the top of the parabola through the last three."""
    theta = np.zeros(votes.z.shape[1])

    def height(log_ridge: float) -> float:
        nonlocal theta
        ridge = float(np.exp(log_ridge))
        theta, curvature = _newton(votes, link, ridge, theta)
        fit = (
            -_loss(votes, link, ridge, theta)
            + 0.5 * len(theta) * log_ridge
            - 0.5 * float(np.linalg.slogdet(curvature)[1])
        )
        return fit + 0.5 * _PRIOR_STRENGTH * (log_ridge - ridge / usual)

    low, top, high = _bracket(height, float(np.log(usual)))
    while high[0] - low[0] > _NARROW:
        left = top[0] - low[0] > high[0] - top[0]  # the wider side
        at = top[0] + _GOLDEN * ((low if left else high)[0] - top[0])
        new = at, height(at)
        if new[1] > top[1]:
            low, top, high = (low, new, top) if left else (top, new, high)
        else:
            low, high = (new, high) if left else (low, new)
    return float(np.exp(_top_of_parabola(low, top, high)))


def _bracket(height: Callable[[float], float], start: float) -> tuple[Point, Point, Point]:
    """Three points of which the middle one is not the lowest; within e^_FAR of the start."""
    step = float(np.log(2.0))
    low, top, high = ((at, height(at)) for at in (start - step, start, start + step))
    while low[1] > top[1] and start - low[0] < _FAR:
        low, top, high = (low[0] - step, height(low[0] - step)), low, top
    while high[1] > top[1] and high[0] - start < _FAR:
        low, top, high = top, high, (high[0] + step, height(high[0] + step))
    return low, top, high


def _top_of_parabola(low: Point, top: Point, high: Point) -> float:
    left, right = (top[1] - low[1]) / (top[0] - low[0]), (high[1] - top[1]) / (high[0] - top[0])
    bend = (right - left) / (high[0] - low[0])
    if not bend < 0.0:
        return top[0]
    slope = left + bend * (top[0] - low[0])  # at the middle point
    return float(np.clip(top[0] - 0.5 * slope / bend, low[0], high[0]))


def _newton(votes: VoteRows, link: Link, ridge: float, theta: Floats) -> tuple[Floats, Floats]:
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


def _shortened(votes: VoteRows, link: Link, ridge: float, theta: Floats, step: Floats, decrement: float) -> float:
    """The largest of 1, 1/2, 1/4, ... that lowers the loss enough."""
    size, now = 1.0, _loss(votes, link, ridge, theta)
    while size > _SMALL and _loss(votes, link, ridge, theta - size * step) > now - 0.25 * size * decrement:
        size /= 2.0
    return size


def _loss(votes: VoteRows, link: Link, ridge: float, theta: Floats) -> float:
    margin = votes.z @ theta
    return float(0.5 * ridge * theta @ theta + votes.mass @ link.potential(margin) - votes.wins @ margin)
