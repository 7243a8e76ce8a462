"""What is known after some votes: links, the exact estimate, the one-pass estimate, widths.

A vote about the pair (x, y) is a row (z, o, W): the difference z = x - y, the outcome o (1 the first won, 0 the second,
1/2 a tie), and the mass W with which it counts, the policy's w^2 times the weight it was told with. With mu the link, the exact
estimate is the root of the papers' equation

    diag(ridge) theta + sum W (mu(z . theta) - o) z = 0,

which is where the convex function  1/2 sum ridge_k theta_k^2 + sum W (M(z . theta) - o z . theta)  with M' = mu is least.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]

# -- links -------------------------------------------------------------------------------


def link_mean(link: str, v: Any) -> Any:
    """mu(v), the chance that the first arm wins if its utility is larger by v."""
    if link == "logistic":
        return special.expit(v)
    if link == "probit":
        return special.ndtr(v)
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(np.asarray(v) < 0.0, tail, 1.0 - tail)


def link_slope(link: str, v: Any) -> Any:
    """mu'(v)"""
    if link == "logistic":
        return special.expit(v) * special.expit(-np.asarray(v))
    if link == "probit":
        return np.exp(-0.5 * np.square(v)) / math.sqrt(2.0 * math.pi)
    return 0.5 * np.exp(-np.abs(v))


def link_potential(link: str, v: Any) -> Any:
    """M(v) with M' = mu"""
    if link == "logistic":
        return np.logaddexp(0.0, v)
    if link == "probit":
        return v * special.ndtr(v) + link_slope(link, v)
    return np.maximum(v, 0.0) + 0.5 * np.exp(-np.abs(v))


# -- the exact estimate ------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One vote: difference, outcome, and the mass with which it counts."""

    z: Floats
    outcome: float
    mass: float


def estimate(link: str, ridge: Floats, rows: list[Row], dim: int, start: Floats | None = None) -> Floats:
    """The root of diag(ridge) theta + sum W (mu(z . theta) - o) z = 0, by Newton's method with a line search."""
    theta = np.zeros(dim) if start is None else start
    if not rows:
        return theta
    z = np.array([row.z for row in rows])
    outcome = np.array([row.outcome for row in rows])
    mass = np.array([row.mass for row in rows])

    def loss(theta: Floats) -> float:
        v = z @ theta
        return float(0.5 * ridge @ theta**2 + mass @ (link_potential(link, v) - outcome * v))

    def newton(theta: Floats) -> tuple[Floats, float]:
        """The step to subtract, and by twice how much a quadratic would fall along it."""
        gradient = ridge * theta + z.T @ (mass * (link_mean(link, z @ theta) - outcome))
        step = np.linalg.solve(_curvature(link, ridge, z, mass, theta), gradient)
        return step, float(gradient @ step)

    unit = min(1.0, float(mass.sum()))  # weights have no natural size
    step, decrement = newton(theta)
    while decrement > 1e-8 * unit:
        size = 1.0
        while loss(theta - size * step) > loss(theta) - 0.25 * size * decrement:
            size /= 2.0
        theta = theta - size * step
        step, decrement = newton(theta)
    for _ in range(4):  # this near, each step squares the error: rounding is reached
        theta = theta - step
        step, decrement = newton(theta)
    if not decrement <= 1e-18 * unit:
        raise ArithmeticError(f"the estimating equation is solved only to {decrement}, with ridge {ridge}")
    return theta


def curvature(link: str, ridge: Floats, rows: list[Row], theta: Floats) -> Floats:
    """H = diag(ridge) + sum W mu'(z . theta) zz'"""
    z = np.array([row.z for row in rows]).reshape(len(rows), len(theta))
    return _curvature(link, ridge, z, np.array([row.mass for row in rows]), theta)


def _curvature(link: str, ridge: Floats, z: Floats, mass: Floats, theta: Floats) -> Floats:
    return np.asarray(np.diag(ridge) + (z.T * (mass * link_slope(link, z @ theta))) @ z)


def squared_residual(link: str, row: Row, theta: Floats) -> float:
    """W (o - mu(z . theta))^2; a tie is half a win and half a loss."""
    p = float(link_mean(link, row.z @ theta))
    return row.mass * (row.outcome * (1.0 - p) ** 2 + (1.0 - row.outcome) * p**2)


# -- estimators --------------------------------------------------------------------------


class Estimator(ABC):
    """The estimate from some votes, with its precision Sigma = prior diag(sizes) + sum W zz' and its curvature H.

    The ridge of the estimate is `ridge` times the size of each feature, too.
    """

    def __init__(self, link: str, sizes: Floats, ridge: float, prior: float, bound: float = math.inf) -> None:
        self.link, self.dim, self.bound = link, len(sizes), bound
        self.multiples = ridge, prior
        self.ridge = ridge * sizes
        self.precision = np.diag(prior * sizes)
        self.expected = np.zeros((self.dim, self.dim))
        """What duels that are out will add to the curvature, if the estimate stays where it is."""
        self.count = 0.0
        """The votes learned, each counted with the weight it was told with."""

    def learn(self, row: Row, weight: float) -> None:
        """Take in one vote."""
        self.precision = self.precision + row.mass * np.outer(row.z, row.z)
        self.count += weight

    def expecting(self, z: Floats, share: float) -> Self:
        """What will be known when a duel that is out is answered, whatever the answer: only how much, not what."""
        later = copy.copy(self)
        later.precision = self.precision + share * np.outer(z, z)
        later.expected = self.expected + share * link_slope(self.link, z @ self.theta) * np.outer(z, z)
        return later

    def resize(self, sizes: Floats) -> None:
        """Let features have other sizes: ridge and prior change with them."""
        ridge, prior = self.multiples
        self.precision = self.precision + prior / ridge * np.diag(ridge * sizes - self.ridge)
        self.ridge = ridge * sizes

    @property
    @abstractmethod
    def theta(self) -> Floats:
        """The estimate."""

    @property
    @abstractmethod
    def curvature(self) -> Floats:
        """H = diag(ridge) + sum W mu'(z . theta) zz'"""

    @property
    @abstractmethod
    def residuals(self) -> float:
        """sum W (o - mu(z . theta))^2, the variance that the votes have shown."""


class Exact(Estimator):
    """Keeps all votes and solves the equation when the estimate is read."""

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.rows: list[Row] = []
        self._theta, self._solved = np.zeros(self.dim), True

    def learn(self, row: Row, weight: float) -> None:
        """Take in one vote."""
        super().learn(row, weight)
        self.rows.append(row)
        self._solved = False

    def resize(self, sizes: Floats) -> None:
        """Let features have other sizes, and solve again."""
        super().resize(sizes)
        self._solved = False

    @property
    def theta(self) -> Floats:
        """The root of the equation over all votes."""
        if not self._solved:
            self._theta = estimate(self.link, self.ridge, self.rows, self.dim, start=self._theta)
            self._solved = True
        return self._theta

    @property
    def curvature(self) -> Floats:
        """H at the estimate."""
        return curvature(self.link, self.ridge, self.rows, self.theta) + self.expected

    @property
    def residuals(self) -> float:
        """The sum over all votes, at the estimate."""
        return sum(squared_residual(self.link, row, self.theta) for row in self.rows)


class Online(Estimator):
    """Takes in each vote once, in O(dim^2), and keeps none.

    theta moves to where the new loss plus the quadratic that stands for the old ones is least,

        theta <- argmin_x  W (M(z . x) - o z . x) + 1/2 |x - theta|_H^2,    H <- H + W mu'(z . theta) zz',

    and, where there is a bound, back to |theta| <= bound by the shortest way in the norm of H.
    """

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self._theta, self._curvature, self._residuals = np.zeros(self.dim), np.diag(self.ridge), 0.0

    def learn(self, row: Row, weight: float) -> None:
        """Take in one vote."""
        super().learn(row, weight)
        z, v = row.z, float(row.z @ self._theta)
        along = np.linalg.solve(self._curvature, z)
        q = float(z @ along)

        # The minimum lies on the line theta + a H^-1 z, where a = W (o - mu(v + a q)): between 0 and the right side at 0.
        def excess(a: float) -> float:
            return a - row.mass * (row.outcome - float(link_mean(self.link, v + a * q)))

        a = root_between(excess, 0.0, -excess(0.0))
        self._theta = self._theta + a * along
        self._curvature = self._curvature + row.mass * link_slope(self.link, v + a * q) * np.outer(z, z)
        if np.linalg.norm(self._theta) > self.bound:
            self._theta = projected(self._theta, self._curvature, self.bound)
        self._residuals += squared_residual(self.link, row, self._theta)

    def resize(self, sizes: Floats) -> None:
        """Let features have other sizes: only the ridge under the quadratic that stands for the votes changes."""
        pull, before = self._curvature @ self._theta, self.ridge
        super().resize(sizes)
        self._curvature = self._curvature + np.diag(self.ridge - before)
        self._theta = np.asarray(np.linalg.solve(self._curvature, pull), np.float64)

    @property
    def theta(self) -> Floats:
        """The estimate after the last vote."""
        return self._theta

    @property
    def curvature(self) -> Floats:
        """H, in which every vote has the slope of its round."""
        return self._curvature + self.expected

    @property
    def residuals(self) -> float:
        """The sum over all votes, each at the estimate of its round."""
        return self._residuals


def projected(theta: Floats, h: Floats, bound: float) -> Floats:
    """argmin |x - theta|_h over |x| <= bound for theta outside: x = (h + s I)^-1 h theta with the s > 0 of |x| = bound."""
    target, identity = h @ theta, np.eye(len(theta))

    def at(s: float) -> Floats:
        return np.asarray(np.linalg.solve(h + s * identity, target), np.float64)

    s = root_between(lambda s: float(np.linalg.norm(at(s))) - bound, 0.0, float(np.linalg.norm(target)) / bound)
    return at(s) * (bound / np.linalg.norm(at(s)))


def root_between(function: Any, one_end: float, other_end: float) -> float:
    """The root between two ends, to rounding."""
    return float(optimize.brentq(function, one_end, other_end, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))


ESTIMATORS: dict[str, type[Exact | Online]] = {"exact": Exact, "online": Online}

# -- the sizes of features ----------------------------------------------------------------

FACTOR = 8.0


class Sizes:
    """The squared size of each feature, which ridge and prior are multiples of.

    At first, a feature's variance over the first arms. With `follow`, what is learned is watched in stretches of 4, 8, 16, ...
    votes, where half the squared differences are, on average, the variance of the arms behind them: after a stretch, a
    feature takes their mean if that is FACTOR times its size or more, or if even the largest is less than 1 / FACTOR of it.
    A feature in which no arms have differed has size 1; before the first vote the arms of a later round give it one, after it
    half the square of its first difference does.
    """

    def __init__(self, arms: Floats, *, follow: bool) -> None:
        self.follow = follow
        variances = _variances(arms)
        self.unknown = variances == 0.0
        self.squared = np.where(self.unknown, 1.0, variances) if follow else np.ones(arms.shape[1])
        self.length = 4.0
        self.votes: list[tuple[Floats, float]] = []

    def meet(self, arms: Floats) -> bool:
        """The arms of a round before the first vote: they give sizes to features that have none; whether they did."""
        variances = _variances(arms)
        met = self.unknown & (variances > 0.0) & self.follow
        self.squared = np.where(met, variances, self.squared)
        self.unknown = self.unknown & ~met
        return bool(met.any())

    def notice(self, z: Floats, weight: float) -> bool:
        """One more vote, before it is learned; whether sizes have changed."""
        if not self.follow:
            return False
        before = self.squared
        half = 0.5 * z**2
        first = self.unknown & (half > 0.0)
        self.squared = np.where(first, half, self.squared)
        self.unknown = self.unknown & ~first
        left = weight  # a weight of 2 is the same vote twice: one vote may end a stretch and begin the next
        while left > 0.0:
            part = min(left, self.length - sum(weight for _, weight in self.votes))
            self.votes.append((half, part))
            left -= part
            if sum(weight for _, weight in self.votes) >= self.length:
                self._end_stretch()
        return not np.array_equal(before, self.squared)

    def _end_stretch(self) -> None:
        halves, weights = np.array([half for half, _ in self.votes]), np.array([weight for _, weight in self.votes])
        mean, largest = weights @ halves / weights.sum(), halves.max(axis=0)
        moved = (mean > 0.0) & ((mean >= FACTOR * self.squared) | (FACTOR * largest < self.squared))
        self.squared = np.where(moved, mean, self.squared)
        self.votes, self.length = [], 2.0 * self.length


def _variances(arms: Floats) -> Floats:
    """Of each feature, exactly zero where no arms differ, or only by rounding."""
    variances = (arms - arms[0]).var(axis=0)
    rounding = 64.0 * np.finfo(float).eps * np.abs(arms).max(axis=0)
    return np.where(variances > rounding**2, variances, 0.0)


# -- arms --------------------------------------------------------------------------------


def utilities(arms: Floats, theta: Floats) -> Floats:
    """x . theta of every arm; equal arms get equal numbers, which a matrix product does not promise."""
    return np.asarray((arms * theta).sum(axis=1))


def squared_widths(arms: Floats, precision: Floats) -> Floats:
    """|x - y|^2_{Sigma^-1} of all pairs, (n_arms, n_arms)."""
    gaps = arms[:, None] - arms[None]
    return np.asarray(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps), 0.0))


def widths(arms: Floats, precision: Floats) -> Floats:
    """|x - y|_{Sigma^-1} of all pairs, (n_arms, n_arms)."""
    return np.sqrt(squared_widths(arms, precision))


def mean_variance(arms: Floats) -> float:
    """The mean variance of a feature; one where the arms say nothing about units."""
    spread = float(arms.var(axis=0).mean())
    return spread if spread > 0.0 else 1.0


def reach(arms: Floats) -> float:
    """A: the largest distance of an arm from the centre of the arms."""
    return float(np.linalg.norm(arms - arms.mean(axis=0), axis=1).max())


def horizon_in(horizon: int | None, t: int) -> float:
    """T, or, where it is not known, the smallest power of two above round t."""
    return float(horizon if horizon is not None else 1 << t.bit_length())
