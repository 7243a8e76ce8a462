"""Selection of the ridge (prior precision): by default, by evidence, by candidates, and by EM.

- `default_ridge` is what policies decide with. It depends on the number of features only.
- `select_ridge` maximises the evidence of the votes. `fit_mle(ridge="auto")`, scorers and `reward_theta_` predict with it.
- `effect_variances` are the candidates among which votes choose in policies with arm effects.
- `em_precision` is one EM step for the precision of random effects in `model/vote_fit.py`.

Evidence. Let s_k be the scale of feature k: the square root of the mean of z_k^2 / 2 over the votes, which estimates its standard
deviation over the arms. With features divided by their scale and the prior theta ~ N(0, I / lambda), the Laplace approximation of the log
evidence (MacKay 1992) is, at the estimate theta for lambda and with H its curvature,

    log p(votes | theta) - lambda/2 |theta|^2 + dim/2 log lambda - 1/2 log det H.

Few votes hardly determine lambda, so a Gamma prior centred on lambda = dim (an average arm has a utility of about one) adds
`_PRIOR_STRENGTH` / 2 (log lambda - lambda / dim). The maximum is found by line search. MacKay's fixed point
lambda = gamma / |theta|^2 is faster but ignores that H changes with theta; where votes are asked because their outcome is uncertain, it
settles at several times the maximum (docs/contributing/decisions/0041).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist import native
from duelist.core.arrays import Floats
from duelist.model.links import Link

_PRIOR_STRENGTH: Final = 2.0
_MAX_LOG_DISTANCE: Final = 16.0
_LOG_WIDTH: Final = 0.05
_GOLDEN: Final = (3.0 - 5.0**0.5) / 2.0
_MAX_STEPS: Final = 200
_TOLERANCE: Final = 1e-10
_PAD: Final = 16
_NO_SEED: Final = np.zeros(4, np.uint64)
_PRIOR_EFFECTS: Final = 3.0
_EFFECT_VARIANCES: Final = (1.0, 1 / 4, 1 / 16, 1 / 64)
_FEATURE_VARIANCES: Final = (1.0, 1 / 4, 1 / 16)
_LOG_SPREAD: Final = 3.0
_TINY_FALL: Final = 1e-12
_LONGEST: Final = 20.0
_FARTHEST: Final = 3.0

Point = tuple[float, float]
"""A position and the function value there."""


@dataclass(frozen=True)
class VoteRows:
    """Differences z (n, dim) with their total weight (`mass`) and the weight won by the first arm (`wins`)."""

    z: Floats
    mass: Floats
    wins: Floats


def default_ridge(dim: int, reference_dim: float = math.inf, multiple: float = 1.0) -> float:
    """Return the default ridge of features with unit variance: `multiple`, times dim / reference_dim if that is above 1.

    So beyond `reference_dim` features the prior variance of a utility no longer grows.
    """
    return multiple * max(1.0, dim / reference_dim)


def effect_variances(dim: int, ridge: float | None = None) -> Floats:
    """Return candidate prior variances of arm effects and of features in policies, with log weights: rows (v, f, log p).

    With a ridge, 1 / ridge is the only candidate for both. The log weights are those of independent N(0, `_LOG_SPREAD`^2) priors of log v
    and log f, up to a constant. No candidate exceeds 1: votes overcome a prior that is too narrow by a factor of a few, and a wider one
    makes policies explore longer (docs/contributing/decisions/0049).

    >>> effect_variances(0)[0].tolist()
    [1.0, 1.0, -0.0]
    """
    if ridge is not None:
        return np.array([[1.0 / ridge, 1.0 / ridge, 0.0]])
    rows = [(v, f) for v in _EFFECT_VARIANCES for f in (_FEATURE_VARIANCES if dim else (1.0,))]
    return np.array([(v, f, -(math.log(v) ** 2 + math.log(f) ** 2) / (2.0 * _LOG_SPREAD**2)) for v, f in rows])


def em_precision(n_effects: int, sum_of_squares: float) -> float:
    """Return the prior precision of effects by one EM step, given the posterior mean of their sum of squares.

    `_PRIOR_EFFECTS` prior effects of variance 1 keep it away from 0 and infinity.
    """
    return (n_effects + _PRIOR_EFFECTS) / (sum_of_squares + _PRIOR_EFFECTS)


class FixedPoint:
    """Fixed points of slow iterations of positive numbers, such as EM: secant steps in their logarithms."""

    def __init__(self) -> None:
        self._last: tuple[Floats, Floats] | None = None

    def next(self, now: Sequence[float], image: Sequence[float]) -> list[float]:
        """Return where to continue, given numbers and their images."""
        at, excess = np.log(now), np.log(image) - np.log(now)
        step = excess
        if self._last is not None:
            fall = self._last[1] - excess
            slope = np.where(np.abs(fall) > _TINY_FALL, (at - self._last[0]) / np.where(fall == 0.0, 1.0, fall), 1.0)
            step = excess * np.clip(slope, 1.0, _LONGEST)  # EM never overshoots
        self._last = at, excess
        return [float(value) for value in np.exp(at + np.clip(step, -_FARTHEST, _FARTHEST))]


def select_ridge(votes: VoteRows, link: Link) -> Floats:
    """Return the ridge of each feature that maximises the evidence of the votes."""
    variances = feature_variances(votes)
    z = votes.z / np.sqrt(variances)
    dim = z.shape[1]
    if len(z) < dim:  # theta lies in the span of the rows: the same evidence in fewer coordinates
        left, values, _ = np.linalg.svd(z, full_matrices=False)
        z = left * values
    return _maximize_evidence(VoteRows(z, votes.mass, votes.wins), link, float(dim)) * variances


def feature_variances(votes: VoteRows) -> Floats:
    """Return the mean of z_k^2 / 2 for each feature, 1 where it is 0."""
    total = votes.mass.sum()
    squares = votes.mass @ np.square(votes.z) / (2.0 * total) if total > 0.0 else np.zeros(votes.z.shape[1])
    return np.where(squares > 0.0, squares, 1.0)


def _maximize_evidence(votes: VoteRows, link: Link, prior_mean: float) -> float:
    """Return lambda: bracket the maximum, shrink the bracket by golden sections, and take the vertex of a parabola."""
    theta = np.zeros(votes.z.shape[1])
    votes = _padded(votes)
    columns = np.ascontiguousarray(votes.z.T)

    def log_evidence(log_ridge: float) -> float:
        nonlocal theta
        ridge = float(np.exp(log_ridge))
        theta, *_ = native.solve(
            "newton", columns, votes.mass, votes.wins, ridge, link.name, theta, _TOLERANCE, _MAX_STEPS, _NO_SEED
        )
        slopes = votes.mass * link.slope(votes.z @ theta)
        curvature = (votes.z.T * slopes) @ votes.z
        curvature[np.diag_indices_from(curvature)] += ridge
        fit = (
            -_loss(votes, link, ridge, theta)
            + 0.5 * len(theta) * log_ridge
            - 0.5 * float(np.linalg.slogdet(curvature)[1])
        )
        return fit + 0.5 * _PRIOR_STRENGTH * (log_ridge - ridge / prior_mean)

    low, top, high = _bracket(log_evidence, float(np.log(prior_mean)))
    while high[0] - low[0] > _LOG_WIDTH:
        left_is_wider = top[0] - low[0] > high[0] - top[0]
        at = top[0] + _GOLDEN * ((low if left_is_wider else high)[0] - top[0])
        new = at, log_evidence(at)
        if new[1] > top[1]:
            low, top, high = (low, new, top) if left_is_wider else (top, new, high)
        else:
            low, high = (new, high) if left_is_wider else (low, new)
    return float(np.exp(_vertex(low, top, high)))


def _padded(votes: VoteRows) -> VoteRows:
    """Return the votes with rows of zeros, as many as the engine needs."""
    more = -len(votes.z) % _PAD
    return VoteRows(np.pad(votes.z, ((0, more), (0, 0))), np.pad(votes.mass, (0, more)), np.pad(votes.wins, (0, more)))


def _bracket(function: Callable[[float], float], start: float) -> tuple[Point, Point, Point]:
    """Return three points of which the middle one is not the lowest, within `_MAX_LOG_DISTANCE` of the start."""
    step = float(np.log(2.0))
    low, top, high = ((at, function(at)) for at in (start - step, start, start + step))
    while low[1] > top[1] and start - low[0] < _MAX_LOG_DISTANCE:
        low, top, high = (low[0] - step, function(low[0] - step)), low, top
    while high[1] > top[1] and high[0] - start < _MAX_LOG_DISTANCE:
        low, top, high = top, high, (high[0] + step, function(high[0] + step))
    return low, top, high


def _vertex(low: Point, top: Point, high: Point) -> float:
    """Return the vertex of the parabola through three points, within them."""
    left, right = (top[1] - low[1]) / (top[0] - low[0]), (high[1] - top[1]) / (high[0] - top[0])
    bend = (right - left) / (high[0] - low[0])
    if not bend < 0.0:
        return top[0]
    slope = left + bend * (top[0] - low[0])  # at the middle point
    return float(np.clip(top[0] - 0.5 * slope / bend, low[0], high[0]))


def _loss(votes: VoteRows, link: Link, ridge: float, theta: Floats) -> float:
    margin = votes.z @ theta
    return float(0.5 * ridge * theta @ theta + votes.mass @ link.potential(margin) - votes.wins @ margin)
