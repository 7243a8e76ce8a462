"""Which arm is best, how sure that is, and when to stop asking.

From an estimate theta with curvature H (a Laplace posterior N(theta, H^-1)): the best arm is i = argmax x . theta. An arm j
with gap g = (x_i - x_j) . theta is ruled out when

    g^2 / w^2 + 2 log(2 Phi(g / w)) > log(w_0^2 / w^2) + 2 log((K - 1) / delta),

where w = |x_i - x_j|_{H^-1} and w_0 = |x_i - x_j| / sqrt(ridge). Half of the left side minus half of the logarithm of w_0^2 / w^2 is
the logarithm of the likelihood of "i is better than j", mixed over N(0, w_0^2) cut at zero, against "they are equal" (the normal
mixture of Robbins 1970, one-sided): where j is as good as i it reaches (K - 1) / delta, in whichever round
one looks, with probability at most delta / (K - 1). So one may look after every vote and stop when all others are
ruled out: the announced arm is wrong with probability at most delta, up to the normal approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr

from duelist.arrays import Floats, Ints
from duelist.errors import InvalidInput

DRAWS: Final = 4000
"""Posterior draws behind the probability of being best; its standard error is then under 0.008."""
_FEWEST_DRAWS: Final = 400
"""With very many candidates; the standard error is then under 0.025."""
_WORK: Final = 2**33
"""Products of numbers that the draws may cost, some seconds' worth."""
_MOST_DRAWN: Final = 1000
_LEVEL: Final = 1.959963984540054
_SEED: Final = 0
_HELD: Final = 2**20
"""Utilities drawn at a time: more of them would not stay in the processor's cache."""


A = TypeVar("A")


@dataclass(frozen=True)
class Verdict(Generic[A]):
    """The best arm so far, by whatever arms are called."""

    best: A
    probability: float
    """Posterior probability that it is the best among the candidates."""
    interval: tuple[float, float]
    """95 % interval of its lead over the arm that comes closest to being better; (0, 0) for a single arm."""
    candidates: tuple[A, ...]
    """Arms not ruled out at the error rate `delta`, the best first, then by their utility."""
    delta: float

    @property
    def decided(self) -> bool:
        """Whether to stop: every other arm is ruled out."""
        return len(self.candidates) == 1

    def __str__(self) -> str:
        low, high = self.interval
        rest = "all others are ruled out" if self.decided else f"{len(self.candidates) - 1} others are not ruled out"
        return (
            f"arm {self.best} is best with probability {self.probability:.3f}; it leads by {low:.3g} to {high:.3g}; "
            f"{rest} at error rate {self.delta:g}"
        )


class Recommendation(Verdict[int]):
    """A verdict on arms by their positions in the arms that were given."""


def check_delta(delta: float) -> float:
    """An error rate between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0.0 < delta < 1.0:
        raise InvalidInput(f"delta is {delta!r}; give an error rate between 0 and 1")
    return float(delta)


def recommend(arms: Floats, theta: Floats, curvature: Floats, ridge: float, delta: float = 0.05) -> Recommendation:
    """See the module; `arms` (n_arms, dim), `curvature` H, `ridge` the part of H that was there before any vote."""
    delta = check_delta(delta)
    seen = _look(arms, theta, curvature, ridge, delta)
    order = _in_order(seen.best, seen.gaps, seen.kept)
    probability = _probability(seen.whitened[order], -seen.gaps[order])
    return Recommendation(
        seen.best, probability, lead_interval(seen.best, seen.gaps, seen.squares), tuple(order), delta
    )


def recommend_known(
    utilities: Floats, squares: Floats, prior: Floats, delta: float, covariance: Callable[[Ints], Floats]
) -> Recommendation:
    """The same from what is known of each arm.

    `squares` and `prior` are w^2 and w_0^2 of each arm against the first of largest utility, `covariance` gives that of the arms at some
    positions. Of very many that are not ruled out, the 1,000 with the largest utilities stand for all in the probability.
    """
    delta = check_delta(delta)
    best = int(np.argmax(utilities))
    gaps = utilities[best] - utilities
    kept = not_ruled_out(gaps, squares, prior, delta)
    kept[best] = True
    order = _in_order(best, gaps, kept)
    drawn = np.array(order[:_MOST_DRAWN], np.int64)
    block = covariance(drawn)
    scale = max(float(np.diagonal(block).mean()), np.finfo(np.float64).tiny)
    root = cholesky(block + 1e-12 * scale * np.eye(len(block)), lower=True)
    probability = _probability(root, -gaps[drawn])
    return Recommendation(best, probability, lead_interval(best, gaps, squares), tuple(order), delta)


def _in_order(best: int, gaps: Floats, kept: NDArray[np.bool_]) -> list[int]:
    """The arms that are left, the best first, then by their utility."""
    return sorted(np.flatnonzero(kept).tolist(), key=lambda a: (a != best, gaps[a], a))


def announced(arms: Floats, theta: Floats, curvature: Floats, ridge: float, delta: float = 0.05) -> int | None:
    """The best arm if all others are ruled out, else None: what to ask after every vote, without the rest."""
    seen = _look(arms, theta, curvature, ridge, check_delta(delta))
    return seen.best if seen.kept.sum() == 1 else None


@dataclass(frozen=True)
class _Look:
    best: int
    gaps: Floats
    squares: Floats
    whitened: Floats
    kept: NDArray[np.bool_]


def _look(arms: Floats, theta: Floats, curvature: Floats, ridge: float, delta: float) -> _Look:
    utilities = arms @ theta
    best = int(np.argmax(utilities))
    whitened = solve_triangular(cholesky(curvature), arms.T, trans="T").T
    squares = np.square(whitened - whitened[best]).sum(axis=1)
    prior = np.square(arms - arms[best]).sum(axis=1) / ridge
    gaps = utilities[best] - utilities
    kept = not_ruled_out(gaps, squares, prior, delta)
    kept[best] = True
    return _Look(best, gaps, squares, whitened, kept)


def not_ruled_out(gaps: Floats, squares: Floats, prior: Floats, delta: float) -> NDArray[np.bool_]:
    """The arms that the rule of this module leaves, by g, w^2 and w_0^2 of each; the best has 0 everywhere and is left."""
    others = max(len(gaps) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(squares > 0.0, gaps / np.sqrt(squares), 0.0)
        doubt = np.log(np.maximum(prior / squares, 1.0)) + 2.0 * np.log(others / delta)
    evidence = np.square(lead) + 2.0 * (np.log(2.0) + log_ndtr(lead))
    # An equal arm has width 0 and gap 0: it can never be ruled out, and need not be.
    return np.where(squares > 0.0, evidence <= doubt, gaps <= 0.0)


def lead_interval(best: int, gaps: Floats, squares: Floats) -> tuple[float, float]:
    """95 % interval of the lead of `best` over the arm that comes closest to being better."""
    others = np.flatnonzero(np.arange(len(gaps)) != best)
    if others.size == 0:
        return 0.0, 0.0
    widths = np.sqrt(squares[others])
    closest = others[int(np.argmin(gaps[others] - _LEVEL * widths))]
    width = float(np.sqrt(squares[closest]))
    return float(gaps[closest] - _LEVEL * width), float(gaps[closest] + _LEVEL * width)


def _probability(whitened: Floats, utilities: Floats) -> float:
    """How often the first of these arms is the best under draws from the posterior; equal arms share."""
    if len(utilities) == 1:
        return 1.0
    rng = np.random.default_rng(_SEED)
    draws = min(DRAWS, max(_FEWEST_DRAWS, _WORK // whitened.size))
    step = max(1, _HELD // len(utilities))
    total = 0.0
    for start in range(0, draws, step):
        noise = rng.standard_normal((min(step, draws - start), whitened.shape[1]))
        drawn = noise @ whitened.T
        drawn += utilities
        top = drawn >= drawn.max(axis=1, keepdims=True)
        total += float((top[:, 0] / top.sum(axis=1)).sum())
    return total / draws
