"""The estimate from the votes: exact or one-pass, with its precision, its curvature and the widths of pairs.

A vote on the pair (x, y) is a triple (z, o, W): the difference z = x - y, the outcome o (1 if the first won, 0 if the
second, 1/2 for a tie), and the total weight W, which is the policy's w^2 times the weight given to `tell`. With mu the
link, the exact estimate is the root of the papers' equation

    diag(ridge) theta + sum W (mu(z . theta) - o) z = 0,

the minimizer of the convex function  1/2 sum ridge_k theta_k^2 + sum W (M(z . theta) - o z . theta)  with M' = mu.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import optimize

from duelist.reference.feature_scale import MAX_FIRST_VOTES, FeatureScale
from duelist.reference.links import Floats, link_mean, link_potential, link_slope

# -- the exact estimate ------------------------------------------------------------------


@dataclass(frozen=True)
class Vote:
    """One vote: difference of the pair, outcome, and total weight W."""

    z: Floats
    outcome: float
    total_weight: float


def estimate(link: str, ridge: Floats, votes: list[Vote], dim: int, start: Floats | None = None) -> Floats:
    """Solve diag(ridge) theta + sum W (mu(z . theta) - o) z = 0 by Newton's method with a line search."""
    theta = np.zeros(dim) if start is None else start
    if not votes:
        return theta
    z = np.array([vote.z for vote in votes])
    outcome = np.array([vote.outcome for vote in votes])
    total_weight = np.array([vote.total_weight for vote in votes])

    def loss(theta: Floats) -> float:
        v = z @ theta
        return float(0.5 * ridge @ theta**2 + total_weight @ (link_potential(link, v) - outcome * v))

    def newton(theta: Floats) -> tuple[Floats, float]:
        """Return the step to subtract and the Newton decrement, twice the predicted decrease of the loss."""
        gradient = ridge * theta + z.T @ (total_weight * (link_mean(link, z @ theta) - outcome))
        step = np.linalg.solve(_curvature(link, ridge, z, total_weight, theta), gradient)
        return step, float(gradient @ step)

    unit = min(1.0, float(total_weight.sum()))  # total weights far below 1 need a smaller tolerance
    step, decrement = newton(theta)
    while decrement > 1e-8 * unit:
        size = 1.0
        while loss(theta - size * step) > loss(theta) - 0.25 * size * decrement:
            size /= 2.0
        theta = theta - size * step
        step, decrement = newton(theta)
    for _ in range(4):  # quadratic convergence: four more steps reach rounding error
        theta = theta - step
        step, decrement = newton(theta)
    if not decrement <= 1e-18 * unit:
        raise ArithmeticError(f"the estimating equation is solved only to {decrement}, with ridge {ridge}")
    return theta


def curvature(link: str, ridge: Floats, votes: list[Vote], theta: Floats) -> Floats:
    """H = diag(ridge) + sum W mu'(z . theta) zz'"""
    z = np.array([vote.z for vote in votes]).reshape(len(votes), len(theta))
    return _curvature(link, ridge, z, np.array([vote.total_weight for vote in votes]), theta)


def _curvature(link: str, ridge: Floats, z: Floats, total_weight: Floats, theta: Floats) -> Floats:
    return np.asarray(np.diag(ridge) + (z.T * (total_weight * link_slope(link, z @ theta))) @ z)


def squared_residual(link: str, vote: Vote, theta: Floats) -> float:
    """W (o - mu(z . theta))^2; a tie counts as half a win and half a loss."""
    p = float(link_mean(link, vote.z @ theta))
    return vote.total_weight * (vote.outcome * (1.0 - p) ** 2 + (1.0 - vote.outcome) * p**2)


# -- estimators --------------------------------------------------------------------------


class Estimator(ABC):
    """The estimate from the votes, its precision Sigma = prior diag(variance) + sum W zz', and its curvature H.

    `ridge` and `prior` are multiplied by the scale of each feature. Outlying pairs count for less in Sigma
    (`FeatureScale.outlier_weight`).
    """

    def __init__(
        self, link: str, feature_scale: FeatureScale, ridge: float, prior: float, bound: float = math.inf
    ) -> None:
        self.link, self.dim, self.bound = link, len(feature_scale.variance), bound
        self.factors, self.feature_scale = (ridge, prior), feature_scale
        self.ridge = ridge * feature_scale.variance
        self.precision = np.diag(prior * feature_scale.variance)
        self.pending_curvature = np.zeros((self.dim, self.dim))
        """What the pending duels will add to the curvature, at the current estimate."""
        self.count = 0.0
        """The sum of the weights given to `tell`."""

    def update(self, vote: Vote, weight: float) -> None:
        """Learn one vote."""
        self._count_in_precision(vote)
        self.count += weight

    def _count_in_precision(self, vote: Vote) -> None:
        self.precision = self.precision + vote.total_weight * self.feature_scale.outlier_weight(vote.z) * np.outer(
            vote.z, vote.z
        )

    def with_pending(self, z: Floats, share: float) -> Self:
        """Return a copy with the information that a pending duel will add, whatever its outcome."""
        later = copy.copy(self)
        later.precision = self.precision + share * self.feature_scale.outlier_weight(z) * np.outer(z, z)
        later.pending_curvature = self.pending_curvature + share * link_slope(self.link, z @ self.theta) * np.outer(
            z, z
        )
        return later

    def rescale(self) -> None:
        """Adopt the new scale of the features in ridge and prior."""
        ridge, prior = self.factors
        self.precision = self.precision + prior / ridge * np.diag(ridge * self.feature_scale.variance - self.ridge)
        self.ridge = ridge * self.feature_scale.variance

    def adopt_link(self, link: str) -> None:
        """Adopt a link with another parameter of ties."""
        self.link = link

    def rescale_from_start(self) -> None:
        """Adopt a new scale after atypical first arms."""
        self.rescale()

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
        """sum W (o - mu(z . theta))^2, the empirical variance of the votes."""


class Exact(Estimator):
    """Keep all votes, and solve the estimating equation when `theta` is read."""

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.votes: list[Vote] = []
        self._theta, self._solved = np.zeros(self.dim), True

    def update(self, vote: Vote, weight: float) -> None:
        """Learn one vote."""
        super().update(vote, weight)
        self.votes.append(vote)
        self._solved = False

    def adopt_link(self, link: str) -> None:
        """Adopt the link: the equation has to be solved again."""
        super().adopt_link(link)
        self._solved = False

    def rescale(self) -> None:
        """Adopt the new scale: outliers change, and the equation has to be solved again."""
        super().rescale()
        self.precision = np.diag(self.factors[1] * self.feature_scale.variance)
        for vote in self.votes:
            self._count_in_precision(vote)
        self._solved = False

    @property
    def theta(self) -> Floats:
        """The exact estimate from all votes."""
        if not self._solved:
            self._theta = estimate(self.link, self.ridge, self.votes, self.dim, start=self._theta)
            self._solved = True
        return self._theta

    @property
    def curvature(self) -> Floats:
        """H at the estimate."""
        return curvature(self.link, self.ridge, self.votes, self.theta) + self.pending_curvature

    @property
    def residuals(self) -> float:
        """The sum over all votes, at the estimate."""
        return sum(squared_residual(self.link, vote, self.theta) for vote in self.votes)


class Online(Estimator):
    """Learn each vote once, in O(dim^2), and keep none.

    theta minimizes the loss of the new vote plus a quadratic approximation of the earlier ones,

        theta <- argmin_x  W (M(z . x) - o z . x) + 1/2 |x - theta|_H^2,    H <- H + W mu'(z . theta) zz',

    and is then projected onto |theta| <= bound in the norm of H, if there is a bound.
    """

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self._theta, self._curvature, self._residuals = np.zeros(self.dim), np.diag(self.ridge), 0.0
        self.first_votes: list[Vote] = []
        self.keeps_first = True
        """Whether `first_votes` holds all votes so far."""

    def rescale_from_start(self) -> None:
        """Learn the first votes again in the new scale, after merging those on the same pair."""
        if not self.keeps_first:
            super().rescale_from_start()
            return
        ridge, prior = self.factors
        self.ridge, self.precision = ridge * self.feature_scale.variance, np.diag(prior * self.feature_scale.variance)
        self._theta, self._curvature, self._residuals = np.zeros(self.dim), np.diag(self.ridge), 0.0
        pairs: dict[tuple[float, ...], list[float]] = {}
        for vote in self.first_votes:
            sign = float(np.sign(vote.z[vote.z != 0.0][0]))
            totals = pairs.setdefault(tuple(sign * vote.z + 0.0), [0.0, 0.0])
            totals[0] += vote.total_weight
            totals[1] += vote.total_weight * (vote.outcome if sign > 0.0 else 1.0 - vote.outcome)
        for z, (total_weight, wins) in pairs.items():
            self._update(Vote(np.array(z), wins / total_weight, total_weight))

    def update(self, vote: Vote, weight: float) -> None:
        """Learn one vote, and keep it while the first arms may turn out to be atypical."""
        self.first_votes = [*self.first_votes, vote] if self.feature_scale.is_early and self.keeps_first else []
        self.keeps_first = self.keeps_first and len(self.first_votes) <= MAX_FIRST_VOTES
        self.first_votes = self.first_votes if self.keeps_first else []
        self.count += weight
        self._update(vote)

    def _update(self, vote: Vote) -> None:
        self._count_in_precision(vote)
        vote = Vote(vote.z, vote.outcome, vote.total_weight * self.feature_scale.outlier_weight(vote.z))
        z, v = vote.z, float(vote.z @ self._theta)
        along = np.linalg.solve(self._curvature, z)
        q = float(z @ along)

        # The minimizer is theta + a H^-1 z with a = W (o - mu(v + a q)), between 0 and the right-hand side at a = 0.
        def excess(a: float) -> float:
            return a - vote.total_weight * (vote.outcome - float(link_mean(self.link, v + a * q)))

        a = find_root(excess, 0.0, -excess(0.0))
        self._theta = self._theta + a * along
        self._curvature = self._curvature + vote.total_weight * link_slope(self.link, v + a * q) * np.outer(z, z)
        if np.linalg.norm(self._theta) > self.bound:
            self._theta = project_to_ball(self._theta, self._curvature, self.bound)
        self._residuals += squared_residual(self.link, vote, self._theta)

    def rescale(self) -> None:
        """Change the ridge within the quadratic approximation, and keep its gradient."""
        pull, before = self._curvature @ self._theta, self.ridge
        super().rescale()
        self._curvature = self._curvature + np.diag(self.ridge - before)
        self._theta = np.asarray(np.linalg.solve(self._curvature, pull), np.float64)

    @property
    def theta(self) -> Floats:
        """The estimate after the last vote."""
        return self._theta

    @property
    def curvature(self) -> Floats:
        """H, with the slope of each vote at the estimate of its round."""
        return self._curvature + self.pending_curvature

    @property
    def residuals(self) -> float:
        """The sum over all votes, each at the estimate of its round."""
        return self._residuals


def project_to_ball(theta: Floats, h: Floats, bound: float) -> Floats:
    """argmin |x - theta|_h over |x| <= bound, for theta outside: (h + s I)^-1 h theta with s > 0 such that |x| =
    bound.
    """
    target, identity = h @ theta, np.eye(len(theta))

    def at(s: float) -> Floats:
        return np.asarray(np.linalg.solve(h + s * identity, target), np.float64)

    s = find_root(lambda s: float(np.linalg.norm(at(s))) - bound, 0.0, float(np.linalg.norm(target)) / bound)
    return at(s) * (bound / np.linalg.norm(at(s)))


def find_root(function: Any, one_end: float, other_end: float) -> float:
    """Find the root between two ends, to rounding error."""
    return float(optimize.brentq(function, one_end, other_end, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))


ESTIMATORS: dict[str, type[Exact | Online]] = {"exact": Exact, "online": Online}

# -- arms --------------------------------------------------------------------------------


def utilities(arms: Floats, theta: Floats) -> Floats:
    """x . theta of every arm, exactly equal for equal arms, which a matrix product does not guarantee."""
    return np.asarray((arms * theta).sum(axis=1))


def squared_widths(arms: Floats, precision: Floats) -> Floats:
    """|x - y|^2_{Sigma^-1} of all pairs, (n_arms, n_arms)."""
    gaps = arms[:, None] - arms[None]
    return np.asarray(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps), 0.0))


def widths(arms: Floats, precision: Floats) -> Floats:
    """|x - y|_{Sigma^-1} of all pairs, (n_arms, n_arms)."""
    return np.sqrt(squared_widths(arms, precision))


def mean_variance(arms: Floats) -> float:
    """The mean variance of the features, or 1 if all arms are equal."""
    spread = float(arms.var(axis=0).mean())
    return spread if spread > 0.0 else 1.0


def feature_bound(arms: Floats) -> float:
    """A: the largest distance of an arm from the mean arm."""
    return float(np.linalg.norm(arms - arms.mean(axis=0), axis=1).max())


def effective_horizon(horizon: int | None, t: int) -> float:
    """T, or the smallest power of two above t if the horizon is unknown."""
    return float(horizon if horizon is not None else 1 << t.bit_length())
