"""What the votes say about utilities: an exact regularised fit, and how sure it is (Laplace)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_array
from scipy.special import expit

from duelist.arrays import finite_floats
from duelist.errors import InvalidInput
from duelist.estimation import fit_mle
from duelist.study.reading._battles import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE: Final = 4000
"""Up to so many arms without features the covariance is computed whole; beyond, it is that of `SKETCH` draws."""
SKETCH: Final = 256
FEW: Final = 300
"""Up to so many arms without features Newton's steps are solved whole."""
_STEPS: Final = 100
_DECREMENT: Final = 1e-18
_BLOCK: Final = 1 << 22


@dataclass(frozen=True)
class Posterior:
    """Utilities relative to the mean arm, and their covariance: the matrix itself, or a factor F of it, F F^T."""

    mean: Floats
    covariance: Floats | None = None
    factor: Floats | None = None

    @property
    def variance(self) -> Floats:
        """Of each utility."""
        if self.covariance is not None:
            return np.asarray(np.diagonal(self.covariance))
        return np.asarray(np.square(self._factor).sum(axis=1))

    def rows(self, chosen: Ints) -> Floats:
        """Covariance of some utilities with all, (k, n)."""
        if self.covariance is not None:
            return np.asarray(self.covariance[chosen])
        return np.asarray(self._factor[chosen] @ self._factor.T)

    def difference_variance(self, first: Ints, second: Ints) -> Floats:
        """Variance of u[first] - u[second], pair by pair."""
        if self.covariance is not None:
            c = self.covariance
            return np.maximum(c[first, first] + c[second, second] - 2.0 * c[first, second], 0.0)
        result = np.empty(len(first))
        step = max(_BLOCK // max(self._factor.shape[1], 1), 1)
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            result[part] = np.square(self._factor[first[part]] - self._factor[second[part]]).sum(axis=1)
        return result

    def root(self, chosen: Ints) -> Floats:
        """A matrix R such that R e, e standard normal, has the covariance of some utilities but for a shift of them all.

        Who is best and by how much does not depend on the shift, which makes up for the missing origin; the least
        variance keeps arms with the same features apart from rounding.
        """
        if self.factor is not None:
            return np.asarray(self.factor[chosen])
        block = self.rows(chosen)[:, chosen]
        scale = max(float(np.diagonal(block).mean()), np.finfo(np.float64).tiny)
        return np.asarray(cholesky(block + scale + 1e-12 * scale * np.eye(len(block)), lower=True))

    def chances(self, first: Ints, second: Ints) -> Floats:
        """Chance that the first wins, averaged over what is not known: mu(gap / sqrt(1 + pi var / 8)) (MacKay 1992)."""
        gap = self.mean[first] - self.mean[second]
        return np.asarray(expit(gap / np.sqrt(1.0 + np.pi * self.difference_variance(first, second) / 8.0)))

    @property
    def _factor(self) -> Floats:
        if self.factor is None:
            raise TypeError("a posterior needs a covariance or a factor of it")
        return self.factor


def fit_utilities(pairs: Pairs, features: ArrayLike | None = None, ridge: float = 1.0, seed: int = 0) -> Posterior:
    """The utilities u that minimise ridge/2 |theta|^2 + sum_votes [log(1 + exp(s)) - share s], s = u_first - u_second.

    With features u = X theta; without, theta = u, one number an arm. The covariance is that of the inverse of the second
    derivative at the solution, which is the posterior's under the prior theta ~ N(0, I/ridge). Duels say nothing of the
    origin of utilities: theirs is the mean over all arms.
    """
    value = finite_floats("ridge", ridge, "a positive finite number")
    if value.shape != () or not value > 0.0:
        raise InvalidInput(f"ridge is {ridge!r}; give a positive finite number")
    if features is None:
        return _fit_arms(pairs, float(value), seed)
    return _fit_features(pairs, _check_features(features, pairs.n_arms), float(value))


def _check_features(features: ArrayLike, n_arms: int) -> Floats:
    x = finite_floats("features", features, "finite numbers, a row for each arm: (n_arms, dim)")
    if x.ndim != 2 or len(x) != n_arms or x.shape[1] == 0:
        raise InvalidInput(
            f"features have shape {x.shape}, but there are {n_arms} arms; give a row for each: (n_arms, dim)"
        )
    return x


def _fit_features(pairs: Pairs, x: Floats, ridge: float) -> Posterior:
    x = x - x.mean(axis=0)
    z = x[pairs.low] - x[pairs.high]
    theta = (
        fit_mle(z, pairs.wins / pairs.total, weights=pairs.total, ridge=ridge).theta if len(z) else np.zeros(x.shape[1])
    )
    chance = expit(z @ theta)
    weight = pairs.total * chance * (1.0 - chance)
    curvature = (z * weight[:, None]).T @ z + ridge * np.eye(x.shape[1])
    factor = solve_triangular(cholesky(curvature, lower=True), x.T, lower=True).T
    return Posterior(x @ theta, factor=np.ascontiguousarray(factor))


def _fit_arms(pairs: Pairs, ridge: float, seed: int) -> Posterior:
    n = pairs.n_arms
    if n == 0:
        return Posterior(np.zeros(0), covariance=np.zeros((0, 0)))
    mean, weight = _newton(pairs, ridge)
    if n <= DENSE:
        covariance = _inverse(_laplacian(pairs, weight).toarray() + ridge * np.eye(n))
        covariance -= 1.0 / (n * ridge)  # the origin: 1 is an eigenvector of the curvature, with value ridge
        return Posterior(mean, covariance=covariance)
    return Posterior(mean, factor=_draws(pairs, weight, ridge, seed) / np.sqrt(SKETCH))


def _newton(pairs: Pairs, ridge: float) -> tuple[Floats, Floats]:
    """The root, and the weight mu' of each pair there; halves a step that does not lead down."""
    u = np.zeros(pairs.n_arms)
    gap = np.zeros(len(pairs.low))
    loss = _loss(pairs, ridge, u, gap)
    for _ in range(_STEPS):
        chance = expit(gap)
        residual = pairs.total * chance - pairs.wins
        gradient = ridge * u + _scatter(pairs, residual)
        step = _solve(pairs, ridge, pairs.total * chance * (1.0 - chance), gradient)
        if gradient @ step <= _DECREMENT * (1.0 + abs(loss)):
            break
        size, trial = 1.0, u - step
        while (new := _loss(pairs, ridge, trial, trial[pairs.low] - trial[pairs.high])) > loss and size > 1e-10:
            size /= 2.0
            trial = u - size * step
        u, loss = trial, min(new, loss)
        gap = u[pairs.low] - u[pairs.high]
    chance = expit(gap)
    return u, pairs.total * chance * (1.0 - chance)


def _loss(pairs: Pairs, ridge: float, u: Floats, gap: Floats) -> float:
    return float(0.5 * ridge * (u @ u) + pairs.total @ np.logaddexp(0.0, gap) - pairs.wins @ gap)


def _scatter(pairs: Pairs, values: Floats) -> Floats:
    n = pairs.n_arms
    return np.asarray(np.bincount(pairs.low, values, n) - np.bincount(pairs.high, values, n))


def _laplacian(pairs: Pairs, weight: Floats) -> csr_array:
    """Sum over pairs of weight (e_low - e_high)(e_low - e_high)^T."""
    n = pairs.n_arms
    degree = np.bincount(pairs.low, weight, n) + np.bincount(pairs.high, weight, n)
    every = np.arange(n)
    rows = np.concatenate([pairs.low, pairs.high, every])
    columns = np.concatenate([pairs.high, pairs.low, every])
    return csr_array((np.concatenate([-weight, -weight, degree]), (rows, columns)), shape=(n, n))


def _solve(pairs: Pairs, ridge: float, weight: Floats, right: Floats) -> Floats:
    """The Newton step: whole for few arms, by conjugate gradients for many, of whom most pairs never met."""
    if pairs.n_arms > FEW:
        return _solve_sparse(_laplacian(pairs, weight), ridge, right[:, None])[:, 0]
    curvature = _laplacian(pairs, weight).toarray() + ridge * np.eye(pairs.n_arms)
    return np.asarray(cho_solve(cho_factor(curvature, overwrite_a=True), right))


def _inverse(matrix: Floats) -> Floats:
    """Of a positive definite matrix, from its Cholesky factor and in its place."""
    factor, lower = cho_factor(matrix, lower=True, overwrite_a=True)
    inverse, status = dpotri(factor, lower=lower, overwrite_c=True)
    if status != 0:
        raise InvalidInput("the fit is not determined to the limit of floating point; raise ridge")
    inverse = np.tril(inverse)
    return np.asarray(inverse + np.tril(inverse, -1).T)


def _solve_sparse(laplacian: csr_array, ridge: float, right: Floats) -> Floats:
    """(laplacian + ridge I) x = right for several right sides at once, by conjugate gradients scaled by the diagonal."""
    diagonal = laplacian.diagonal()[:, None] + ridge
    x = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    power = (residual * scaled).sum(axis=0)
    goal = 1e-20 * np.maximum(power, 1e-300)
    for _ in range(10 * len(right)):
        if (power <= goal).all():
            break
        image = laplacian @ direction + ridge * direction
        moving = power > goal
        size = np.where(moving, power, 0.0) / np.maximum((direction * image).sum(axis=0), 1e-300)
        x += size * direction
        residual -= size * image
        scaled = residual / diagonal
        before, power = power, (residual * scaled).sum(axis=0)
        direction = scaled + np.where(moving, power / np.maximum(before, 1e-300), 0.0) * direction
    return x


def _draws(pairs: Pairs, weight: Floats, ridge: float, seed: int) -> Floats:
    """`SKETCH` draws from N(0, curvature^-1), less their means over the arms: solve for noise with covariance curvature."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(ridge) * rng.standard_normal((pairs.n_arms, SKETCH))
    every, size = np.arange(len(weight)), np.sqrt(weight)
    ends = (np.concatenate([pairs.low, pairs.high]), np.concatenate([every, every]))
    incidence = csr_array((np.concatenate([size, -size]), ends), shape=(pairs.n_arms, len(weight)))
    noise += incidence @ rng.standard_normal((len(weight), SKETCH))
    x = _solve_sparse(_laplacian(pairs, weight), ridge, noise)
    return np.asarray(x - x.mean(axis=0))
