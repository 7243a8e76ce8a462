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


def slope_in_doubt(link: str, gap: Floats, width: Floats) -> Floats:
    """mu' of a gap; one that is known only to within more than 8 counts in parts of that doubt."""
    return np.asarray(link_slope(link, gap * 8.0 / np.maximum(width, 8.0)))


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

    The ridge of the estimate is `ridge` times the size of each feature, too. In Sigma a pair that is out of all proportion counts
    for less (`Sizes.counts`).
    """

    def __init__(self, link: str, sizes: Sizes, ridge: float, prior: float, bound: float = math.inf) -> None:
        self.link, self.dim, self.bound = link, len(sizes.squared), bound
        self.multiples, self.sizes = (ridge, prior), sizes
        self.ridge = ridge * sizes.squared
        self.precision = np.diag(prior * sizes.squared)
        self.expected = np.zeros((self.dim, self.dim))
        """What duels that are out will add to the curvature, if the estimate stays where it is."""
        self.count = 0.0
        """The votes learned, each counted with the weight it was told with."""

    def learn(self, row: Row, weight: float) -> None:
        """Take in one vote."""
        self._count_in_precision(row)
        self.count += weight

    def _count_in_precision(self, row: Row) -> None:
        self.precision = self.precision + row.mass * self.sizes.counts(row.z) * np.outer(row.z, row.z)

    def expecting(self, z: Floats, share: float) -> Self:
        """What will be known when a duel that is out is answered, whatever the answer: only how much, not what."""
        later = copy.copy(self)
        later.precision = self.precision + share * self.sizes.counts(z) * np.outer(z, z)
        later.expected = self.expected + share * link_slope(self.link, z @ self.theta) * np.outer(z, z)
        return later

    def resize(self) -> None:
        """Features have other sizes: ridge and prior change with them."""
        ridge, prior = self.multiples
        self.precision = self.precision + prior / ridge * np.diag(ridge * self.sizes.squared - self.ridge)
        self.ridge = ridge * self.sizes.squared

    def meet_other_kind(self) -> None:
        """The first arms were of another kind than those now."""
        self.resize()

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

    def resize(self) -> None:
        """Features have other sizes: other pairs are out of proportion, and the equation is solved again."""
        super().resize()
        self.precision = np.diag(self.multiples[1] * self.sizes.squared)
        for row in self.rows:
            self._count_in_precision(row)
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
        self.first: list[Row] = []
        self.has_first = True
        """Whether these are all there were: of votes that weigh little not all are kept."""

    def meet_other_kind(self) -> None:
        """Take the first votes in once more, those on the same pair together."""
        if not self.has_first:
            super().meet_other_kind()
            return
        ridge, prior = self.multiples
        self.ridge, self.precision = ridge * self.sizes.squared, np.diag(prior * self.sizes.squared)
        self._theta, self._curvature, self._residuals = np.zeros(self.dim), np.diag(self.ridge), 0.0
        pairs: dict[tuple[float, ...], list[float]] = {}
        for row in self.first:
            sign = float(np.sign(row.z[row.z != 0.0][0]))
            kept = pairs.setdefault(tuple(sign * row.z + 0.0), [0.0, 0.0])
            kept[0] += row.mass
            kept[1] += row.mass * (row.outcome if sign > 0.0 else 1.0 - row.outcome)
        for z, (mass, wins) in pairs.items():
            self._take(Row(np.array(z), wins / mass, mass))

    def learn(self, row: Row, weight: float) -> None:
        """Take in one vote, and keep it as long as the first arms may turn out to be of another kind."""
        self.first = [*self.first, row] if self.sizes.early and self.has_first else []
        self.has_first = self.has_first and len(self.first) <= MOST_FIRST
        self.first = self.first if self.has_first else []
        self.count += weight
        self._take(row)

    def _take(self, row: Row) -> None:
        self._count_in_precision(row)
        row = Row(row.z, row.outcome, row.mass * self.sizes.counts(row.z))
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

    def resize(self) -> None:
        """Features have other sizes: only the ridge under the quadratic that stands for the votes changes."""
        pull, before = self._curvature @ self._theta, self.ridge
        super().resize()
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

FACTOR, FAR, SECOND_STRETCH, FEWEST_ARMS, MOST_FIRST, ROUNDING = 8.0, 64.0, 8.0, 4, 64, 2.0**-40


class Sizes:
    """The squared size of each feature, which ridge and prior are multiples of.

    At first, a feature's variance over the first arms. With `follow`, what is learned is watched in stretches of 4, 8, 16, ...
    votes, where half the squared differences are, on average, the variance of the arms behind them: after a stretch, a
    feature takes their mean if that is FACTOR times its size or more, or if even the largest is less than 1 / FACTOR of it, and not
    0. Where more than half of the features shrink, none shrinks to less than half of the part that the middle one of them does.
    A feature in which no arms have differed has none; before the first vote the arms of a later round give it one, after it
    half the square of its first difference does, and until then a round is decided with its variance among the arms.

    Before the end of the second stretch, a round is decided as if a feature had its variance among the arms for a size where that is more
    than FAR times as large, and the middle one of the arms' squared distances from the middle arm more than FACTOR times; and where at
    least four arms have a variance under 1 / FAR of it in more than half of the features that they differ in, all of these. In the second
    case, and where more than half shrink after the second stretch, the first arms were of another kind, and the sizes found then are
    kept as `kind`: pairs that are out of all proportion to those count for less in the precision.
    """

    def __init__(self, arms: Floats, *, follow: bool) -> None:
        self.follow = follow
        self.kind: Floats | None = None
        self.found_kind = False
        """Whether that was found with the last vote."""
        self.reach = np.abs(arms).max(axis=0)
        """Numbers of this size are rounded: what differs by less is the same."""
        variances = self._variances(arms)
        self.unknown = variances == 0.0
        self.squared = np.where(self.unknown, 1.0, variances) if follow else np.ones(arms.shape[1])
        self.length = 4.0
        self.votes: list[tuple[Floats, float]] = []

    def meet(self, arms: Floats) -> bool:
        """The arms of a round before the first vote: they give sizes to features that have none; whether they did."""
        variances = self._variances(arms)
        met = self.unknown & (variances > 0.0) & self.follow
        self.squared = np.where(met, variances, self.squared)
        self.unknown = self.unknown & ~met
        return bool(met.any())

    @property
    def early(self) -> bool:
        """Whether the second stretch is not over."""
        return self.follow and self.length <= SECOND_STRETCH

    def as_seen(self, arms: Floats) -> Self | None:
        """Sizes for a round with these arms, where the present ones are not theirs; a feature without one has its variance."""
        seen = self._as_kind_seen(arms) if self.early else None
        new = self.unknown & (self._variances(arms) > 0.0) & self.follow
        if not new.any():
            return seen
        if seen is None:
            seen = copy.copy(self)
            seen.found_kind = False
        seen.squared = np.where(new, self._variances(arms), seen.squared)
        return seen

    def _as_kind_seen(self, arms: Floats) -> Self | None:
        variances = np.where(self.unknown, 0.0, self._variances(arms))
        middle = np.sort((arms - np.sort(arms, axis=0)[(len(arms) - 1) // 2]) ** 2, axis=0)[len(arms) // 2]
        wider = (variances > FAR * self.squared) & (middle > FACTOR * self.squared)
        smaller = self._are_smaller(variances, len(arms))
        if len(arms) > 256:  # of which some are looked at first
            some = arms[:: -(-len(arms) // 256)]
            smaller = smaller and self._are_smaller(np.where(self.unknown, 0.0, self._variances(some)), len(some))
        if not wider.any() and not smaller:
            return None
        seen = copy.copy(self)
        seen.found_kind = smaller
        seen.squared = np.where(wider | (smaller & (variances > 0.0)), variances, self.squared)
        if smaller:
            seen.kind = np.where(self.unknown, 0.0, seen.squared)
        return seen

    def _are_smaller(self, variances: Floats, n_arms: int) -> bool:
        differ = variances > 0.0
        smaller = differ & (FAR * variances < self.squared)
        return n_arms >= FEWEST_ARMS and bool(2 * smaller.sum() > differ.sum())

    def counts(self, z: Floats) -> float:
        """What a vote counts for in the precision: as one of typical size, where most features are FAR sizes of its kind off."""
        if self.kind is None:
            return 1.0
        off = np.sort((0.5 * z**2)[self.kind > 0.0] / self.kind[self.kind > 0.0])
        return 1.0 / float(off[(len(off) - 1) // 2]) if 2 * (off > FAR).sum() > len(off) else 1.0

    def notice(self, z: Floats, weight: float) -> bool:
        """One more vote, before it is learned; whether sizes have changed."""
        if not self.follow:
            return False
        before, self.found_kind = self.squared, False
        half = 0.5 * z**2
        first = self.unknown & (np.abs(z) > ROUNDING * self.reach) & (half > 0.0)
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

    def _variances(self, arms: Floats) -> Floats:
        """Of each feature, exactly zero where no arms differ, or only by rounding."""
        variances = (arms - arms[0]).var(axis=0)
        rounding = ROUNDING * np.maximum(self.reach, np.abs(arms).max(axis=0))
        return np.where(variances > rounding**2, variances, 0.0)

    def _end_stretch(self) -> None:
        halves, weights = np.array([half for half, _ in self.votes]), np.array([weight for _, weight in self.votes])
        mean, largest = weights @ halves / weights.sum(), halves.max(axis=0)
        told = (mean > 0.0) & ~self.unknown
        grown, shrunk = told & (mean >= FACTOR * self.squared), told & (FACTOR * largest < self.squared)
        parts = np.sort((mean / self.squared)[shrunk])
        least = 0.5 * parts[len(parts) // 2] if 2 * len(parts) > (~self.unknown).sum() else 0.0
        self.squared = np.where(grown, mean, np.where(shrunk, np.maximum(mean, least * self.squared), self.squared))
        if self.length == SECOND_STRETCH and least > 0.0:
            self.kind, self.found_kind = np.where(self.unknown, 0.0, self.squared), True
        self.votes, self.length = [], 2.0 * self.length


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
