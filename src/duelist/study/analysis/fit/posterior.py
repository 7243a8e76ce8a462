"""The posterior of utilities: a normal distribution, given by its mean and covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import cholesky
from scipy.special import expit

from duelist.core.arrays import Floats, Ints
from duelist.study.analysis.fit.votes import numbered

_BLOCK: Final = 1 << 22
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Posterior:
    """Utilities relative to the mean arm, with their covariance: the matrix, or a factor F with F F^T."""

    mean: Floats
    covariance: Floats | None = None
    factor: Floats | None = None
    tie: float | None = None
    """Logarithm of Davidson's parameter nu; None if there are no ties."""
    ridge: float = 1.0
    features: Floats | None = None
    """The features in which utilities are linear, if any."""
    theta: Floats | None = None
    """The fitted parameters, as the starting point of the next fit."""
    doubt: float = 0.0
    """Sum of the variances of the fitted parameters."""
    arm_effects: bool = False
    """Whether arms have arm effects in addition to features."""

    @property
    def variance(self) -> Floats:
        """Variance of each utility."""
        if self.covariance is not None:
            return np.asarray(np.diagonal(self.covariance))
        return np.asarray(np.square(self._factor).sum(axis=1))

    def rows(self, chosen: Ints) -> Floats:
        """Return the covariance of some utilities with all, (k, n)."""
        if self.covariance is not None:
            return np.asarray(self.covariance[chosen])
        return np.asarray(self._factor[chosen] @ self._factor.T)

    def difference_variance(self, first: Ints, second: Ints) -> Floats:
        """Return the variance of u[first] - u[second], pair by pair."""
        if self.covariance is not None:
            own = self.variance
            return np.maximum(own[first] + own[second] - 2.0 * self.covariance[first, second], 0.0)
        return _squares(self._factor, first, second)

    def prior_variance(self, first: Ints, second: Ints) -> Floats:
        """Return the prior variance: |x_first - x_second|^2 / ridge, with one-hot features if there are none."""
        own = np.where(first == second, 0.0, 2.0) / self.ridge
        if self.features is None:
            return own
        return _squares(self.features, first, second) / self.ridge + (own if self.arm_effects else 0.0)

    def root(self, chosen: Ints) -> Floats:
        """Return a matrix R such that R e, e standard normal, has the covariance of some utilities up to a common
        shift.

        The ranking does not depend on the shift, which replaces the missing origin; choosing the smallest variance
        keeps arms with the same features free of rounding differences.
        """
        if self.factor is not None:
            return np.asarray(self.factor[chosen])
        block = self.rows(chosen)[:, chosen]
        scale = max(float(np.diagonal(block).mean()), np.finfo(np.float64).tiny)
        return np.asarray(cholesky(block + scale + 1e-12 * scale * np.eye(len(block)), lower=True))

    def among(self, chosen: Ints) -> Posterior:
        """Return the posterior of some arms, relative to their mean."""
        factor = covariance = None
        if self.factor is not None:
            factor = self.factor[chosen] - self.factor[chosen].mean(axis=0)
        else:
            block = self.rows(chosen)[:, chosen]
            covariance = block - block.mean(axis=0) - block.mean(axis=1)[:, None] + block.mean()
        features = None if self.features is None else self.features[chosen]
        mean = self.mean[chosen]
        mean = mean - mean.mean()
        return Posterior(mean, covariance, factor, self.tie, self.ridge, features, arm_effects=self.arm_effects)

    # -- probabilities of outcomes --------------------------------------------------------

    def decided_chances(self, first: Ints, second: Ints) -> Floats:
        """Return the probability that the first wins if there is no tie, averaged over the posterior of the gap.

        By 1/(1 + exp(-gap / sqrt(1 + pi var / 8))) (MacKay 1992), with an error of at most 0.02.
        """
        gap = self.mean[first] - self.mean[second]
        return np.asarray(expit(gap / np.sqrt(1.0 + np.pi * self.difference_variance(first, second) / 8.0)))

    def chances(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """Return the probabilities that the first wins and of a tie, averaged over the posterior of the gap."""
        nu = 0.0 if self.tie is None else float(np.exp(self.tie))  # Gauss-Hermite quadrature, once per distinct pair
        n = max(len(self.mean), 1)
        key, where = numbered(np.asarray(first, np.int64) * n + second, n * n)
        one, other = key // n, key % n
        gap = (self.mean[one] - self.mean[other])[:, None]
        gap = gap + np.sqrt(self.difference_variance(one, other))[:, None] * _NODES
        win, tie, _ = outcome_chances(gap, nu)
        return (win @ _WEIGHTS)[where], (tie @ _WEIGHTS)[where]

    @property
    def _factor(self) -> Floats:
        if self.factor is None:
            raise TypeError("a posterior needs a covariance or a factor of it")
        return self.factor


def outcome_chances(gap: Floats, nu: float) -> tuple[Floats, Floats, Floats]:
    """Return Davidson's (1970) probabilities that the first wins, of a tie, and that the second wins, by the gap.

    With p = exp(u): p_first / (p_first + p_second + nu sqrt(p_first p_second)), and nu sqrt(p_first p_second) over
    the same.

    >>> win, tie, lose = outcome_chances(np.array([2.0]), nu=1.0)
    >>> round(float(win[0]), 4), round(float(tie[0]), 4), round(float(lose[0]), 4)
    (0.6652, 0.2447, 0.09)
    """
    if nu == 0.0:
        return np.asarray(expit(gap)), np.zeros_like(gap), np.asarray(expit(-gap))
    half = np.exp(-np.abs(gap) / 2.0)
    rest = half * half
    whole = 1.0 + rest + nu * half
    ahead = gap >= 0.0
    return np.where(ahead, 1.0, rest) / whole, nu * half / whole, np.where(ahead, rest, 1.0) / whole


def _squares(rows: Floats, first: Ints, second: Ints) -> Floats:
    """Return |rows[first] - rows[second]|^2, pair by pair."""
    result = np.empty(len(first))
    step = max(_BLOCK // max(rows.shape[1], 1), 1)
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        result[part] = np.square(rows[first[part]] - rows[second[part]]).sum(axis=1)
    return result
