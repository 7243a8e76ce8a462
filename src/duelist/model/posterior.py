"""The posterior of utilities: a normal distribution, given by its mean and covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.special import expit

from duelist.core.arrays import Floats, Ints
from duelist.model.answers import PAIR, Answer
from duelist.model.raters.effects import RaterEffects
from duelist.model.utility import Utility
from duelist.model.votes import numbered

_BLOCK: Final = 1 << 22
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
_PAIRS: Final = 2048


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Fitted coefficients and parameters, with what their variances add to."""

    beta: Floats
    """Coefficients of the utility, block after block."""
    origin: float
    """The mean utility of all items, which `Posterior.mean` leaves out."""
    covariates: Floats
    """Coefficients of the covariates of a vote, in log-odds."""
    parameters: Floats
    """Parameters of the answer."""
    squares: tuple[float, ...] = ()
    """Posterior mean of the sum of squares of each block's coefficients."""
    extra_covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """Covariance of covariates and parameters."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Utilities relative to the mean item, with their covariance: the matrix, or a factor F with F F^T."""

    mean: Floats
    covariance: Floats | None = None
    factor: Floats | None = None
    utility: Utility | None = None
    """The blocks of the utility, with their precisions."""
    answer: Answer = PAIR
    fitted: Coefficients | None = None
    own: Floats | None = None
    """Variance of each utility that is independent of the others', in addition to F F^T; the mean is still to be
    subtracted from it."""
    taste: dict[str, float] = field(default_factory=dict)
    """Variance of tastes by kind of cluster, which the covariance includes; see `duelist.model.clusters`."""
    raters: RaterEffects | None = None
    """How raters differ, if the fit estimates that."""

    @property
    def tie(self) -> float | None:
        """Logarithm of Davidson's parameter nu; None if there are no ties."""
        return self.parameter("log_nu")

    def parameter(self, name: str) -> float | None:
        """Return a parameter of the answer; None if the answer has no such parameter."""
        if self.fitted is None or name not in self.answer.parameters:
            return None
        return float(self.fitted.parameters[self.answer.parameters.index(name)])

    @property
    def precisions(self) -> dict[str, float]:
        """The prior precision of each block, the mean of it if its coefficients differ."""
        blocks = () if self.utility is None else self.utility.blocks
        return {block.name: float(np.mean(block.precisions)) for block in blocks if block.width}

    @property
    def ridge(self) -> float:
        """The prior precision of the last block."""
        return next(reversed(self.precisions.values()), 1.0)

    @property
    def features(self) -> Floats | None:
        """The features in which utilities are linear, if any."""
        return None if self.utility is None else self.utility.features

    @property
    def variance(self) -> Floats:
        """Variance of each utility."""
        if self.covariance is not None:
            return np.asarray(np.diagonal(self.covariance))
        shared = np.asarray(np.square(self._factor).sum(axis=1))
        if self.own is None:
            return shared
        n = len(self.own)
        return np.asarray(shared + (1.0 - 2.0 / n) * self.own + self.own.mean() / n)

    def rows(self, chosen: Ints) -> Floats:
        """Return the covariance of some utilities with all, (k, n)."""
        if self.covariance is not None:
            return np.asarray(self.covariance[chosen])
        shared = np.asarray(self._factor[chosen] @ self._factor.T)
        if self.own is not None:
            n = len(self.own)
            shared -= (self.own[chosen, None] + self.own - self.own.mean()) / n
            shared[np.arange(len(chosen)), chosen] += self.own[chosen]
        return shared

    def difference_variance(self, first: Ints, second: Ints) -> Floats:
        """Return the variance of u[first] - u[second], pair by pair."""
        if self.covariance is not None:
            own = self.variance
            return np.maximum(own[first] + own[second] - 2.0 * self.covariance[first, second], 0.0)
        shared = _squares(self._factor, first, second)
        if self.own is None:
            return shared
        return np.asarray(shared + np.where(first == second, 0.0, self.own[first] + self.own[second]))

    def prior_variance(self, first: Ints, second: Ints) -> Floats:
        """Return the prior variance of u[first] - u[second], pair by pair."""
        if self.utility is None:
            raise TypeError("a posterior needs the blocks of the utility")
        return self.utility.prior_variance(first, second)

    def root(self, chosen: Ints) -> Floats:
        """Return a matrix R such that R e, with e standard normal, has the covariance of utilities.

        The utilities are those of some items, up to a common shift.

        The ranking does not depend on the shift, which replaces the missing origin; choosing the smallest variance
        keeps arms with the same features free of rounding differences.
        """
        if self.factor is not None:
            return self._with_own(self.factor[chosen], chosen)
        block = self.rows(chosen)[:, chosen]
        scale = max(float(np.diagonal(block).mean()), np.finfo(np.float64).tiny)
        return np.asarray(cholesky(block + scale + 1e-12 * scale * np.eye(len(block)), lower=True))

    def _with_own(self, factor: Floats, chosen: Ints) -> Floats:
        """Return rows of the factor with a column for each independent part."""
        return factor if self.own is None else np.hstack([factor, np.diag(np.sqrt(self.own[chosen]))])

    def sampler(self, chosen: Ints) -> Callable[[np.random.Generator, int], NDArray[np.floating]]:
        """Return a function that draws some utilities n times, (n, len(chosen)), up to a common shift per draw."""
        if self.own is None:
            root = self.root(chosen)
            return lambda rng, n: rng.standard_normal((n, root.shape[1])) @ root.T + self.mean[chosen]
        # Single precision suffices to compare draws, in half the time.
        factor, own, mean = (each.astype(np.float32) for each in (self._factor[chosen].T, self.own[chosen], self.mean))
        alone, centre = np.sqrt(own), mean[chosen]

        def draw(rng: np.random.Generator, n: int) -> NDArray[np.floating]:
            drawn = rng.standard_normal((n, len(alone)), np.float32)
            drawn *= alone
            drawn += rng.standard_normal((n, len(factor)), np.float32) @ factor
            drawn += centre
            return drawn

        return draw

    def among(self, chosen: Ints) -> Posterior:
        """Return the posterior of some items, relative to their mean."""
        factor = covariance = None
        own = None if self.own is None else self.own[chosen]
        if self.factor is not None:
            factor = self.factor[chosen] - self.factor[chosen].mean(axis=0)
        else:
            covariance = centred(self.rows(chosen)[:, chosen])
        mean = self.mean[chosen]
        utility = None if self.utility is None else self.utility.of(chosen)
        mean -= mean.mean()
        return replace(self, mean=mean, covariance=covariance, factor=factor, utility=utility, own=own)

    def combined(self, weights: Floats) -> Posterior:
        """Return the posterior of weighted sums of the utilities, such as a system's mean over prompts.

        `weights` is (n, n_items); the rows of equal sums, such as means, compare with each other.
        """
        mean = np.asarray(weights @ self.mean)
        factor = covariance = None
        if self.factor is not None:
            factor = np.asarray(weights @ self._with_own(self.factor, np.arange(len(self.factor))))
            factor = factor - factor.mean(axis=0)
        else:
            covariance = centred(np.asarray(weights @ self.rows(np.arange(len(self.mean))) @ weights.T))
        utility = None if self.utility is None else self.utility.combined(weights)
        mean -= mean.mean()
        return replace(self, mean=mean, covariance=covariance, factor=factor, utility=utility, own=None)

    # -- probabilities of outcomes --------------------------------------------------------

    def decided_chances(self, first: Ints, second: Ints) -> Floats:
        """Return the probability that the first wins if there is no tie, averaged over the posterior of the gap.

        By 1/(1 + exp(-gap / sqrt(1 + pi var / 8))) (MacKay 1992), with an error of at most 0.02.
        """
        gap = self.mean[first] - self.mean[second]
        return np.asarray(expit(gap / np.sqrt(1.0 + np.pi * self.difference_variance(first, second) / 8.0)))

    def chances(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """Return the probabilities that the first wins and of a tie, averaged over the posterior of the gap."""
        n = max(len(self.mean), 1)
        key, where = numbered(np.asarray(first, np.int64) * n + second, n * n)
        one, other = key // n, key % n
        gap, deviation = self.mean[one] - self.mean[other], np.sqrt(self.difference_variance(one, other))
        nu = 0.0 if self.tie is None else float(np.exp(self.tie))
        win, tie = np.empty(len(gap)), np.empty(len(gap))
        for start in range(0, len(gap), _PAIRS):  # few enough for the cache of the processor
            part = slice(start, start + _PAIRS)
            at_nodes = gap[part, None] + deviation[part, None] * NODES  # Gauss-Hermite quadrature
            first_wins, tied, _ = outcome_chances(at_nodes, nu)
            win[part], tie[part] = first_wins @ WEIGHTS, tied @ WEIGHTS
        return win[where], tie[where]

    @property
    def _factor(self) -> Floats:
        if self.factor is None:
            raise TypeError("a posterior needs a covariance or a factor of it")
        return self.factor


def outcome_chances(gap: Floats, nu: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return Davidson's (1970) probabilities that the first wins, of a tie, and that the second wins, by the gap.

    With p = exp(u): p_first / (p_first + p_second + nu sqrt(p_first p_second)), and nu sqrt(p_first p_second) over
    the same.

    >>> win, tie, lose = outcome_chances(np.array([2.0]), nu=1.0)
    >>> round(float(win[0]), 4), round(float(tie[0]), 4), round(float(lose[0]), 4)
    (0.6652, 0.2447, 0.09)
    """
    if np.ndim(nu) == 0 and nu == 0.0:
        return np.asarray(expit(gap)), np.zeros_like(gap), np.asarray(expit(-gap))
    half, ahead = np.exp(-np.abs(gap) / 2.0), gap >= 0.0
    better = 1.0 / (1.0 + half * (half + nu))
    worse = half * half * better
    return np.where(ahead, better, worse), nu * half * better, np.where(ahead, worse, better)


def centred(covariance: Floats) -> Floats:
    """Return the covariance of the same numbers relative to their mean."""
    by_row = covariance.mean(axis=1)
    return np.asarray(covariance - covariance.mean(axis=0) - by_row[:, None] + by_row.mean())


def _squares(rows: Floats, first: Ints, second: Ints) -> Floats:
    """Return |rows[first] - rows[second]|^2, pair by pair."""
    result = np.empty(len(first))
    step = max(_BLOCK // max(rows.shape[1], 1), 1)
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        result[part] = np.square(rows[first[part]] - rows[second[part]]).sum(axis=1)
    return result
