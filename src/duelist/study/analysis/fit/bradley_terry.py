"""The Bradley-Terry fit, with Davidson's parameter for ties.

An arm i beats j with probability p_i / (p_i + p_j + nu sqrt(p_i p_j)), p = exp(u), and the two tie with probability
nu sqrt(p_i p_j) over the same (Davidson 1970); nu is estimated with the utilities u. Without ties nu is 0, which is
the model of Bradley and Terry. In both, a difference d of two utilities means odds exp(d) among votes that are not
ties. The loss is convex in (u, log nu), so that Newton's method finds its only minimum.

This model is used for any link of the study's policy: the link is the policy's own noise model, and an analysis
should not depend on the policy that asked. If votes follow another link, utilities are those of the closest model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, check_finite
from duelist.core.errors import InvalidInput
from duelist.model.ridge_selection import em_precision
from duelist.study.analysis.fit.arm_effects import FeaturePrior, Features, WithArmEffects
from duelist.study.analysis.fit.posterior import Posterior, outcome_chances
from duelist.study.analysis.fit.votes import Pairs

DENSE: Final = 4000
"""Up to this many arms without features the covariance is exact; beyond, it comes from `SKETCH` draws."""
SKETCH: Final = 256
FEW: Final = 300
"""Up to this many arms without features Newton's steps are solved directly."""
_STEPS: Final = 100
_PRECISION: Final = 1e-18
_ROUNDING: Final = 1e-12
"""Relative difference of two losses that counts as none; near the minimum a correct step may gain less than that."""
AUTO: Final = "auto"
_ROUNDS: Final = 50
_SAME: Final = 1e-3
_PRIOR_TIES: Final = 0.5
_PRIOR_VOTES: Final = 1.0


def fit_utilities(
    pairs: Pairs,
    features: Features = None,
    ridge: float | str = 1.0,
    seed: int = 0,
    start: Posterior | None = None,
    precision: float = _PRECISION,
) -> Posterior:
    """Return the u that minimise ridge/2 |theta|^2 + sum_votes [log(e^(s/2) + e^(-s/2) + nu) - (share - 1/2) s] -
    ties log(nu).

    Here s = u_first - u_second, and share is 1, 0, or 1/2 for a tie. With features u = X theta; without, theta = u,
    one number per arm; `WithArmEffects` is both. Features are centred and scaled, so that each has an equal part in a
    utility's prior variance 1/ridge, in any units. nu is fitted only if there are ties, with a prior of one vote,
    half a tie between two equal arms (Jeffreys' prior for the share of ties among equals), so that it is finite. The
    covariance is the inverse of the second derivative at the solution, including nu: the Laplace posterior under the
    prior theta ~ N(0, I/ridge). Duels do not determine the origin of utilities, which is the mean over all arms. A
    `start` close by shortens the iteration, which ends where a step would lower the loss by less than its share
    `precision`.

    With ridge="auto" the ridge is estimated, too: the one that makes the votes most likely, kept near 1 by a prior
    worth three parameters. docs/intervals.md says when that is better.
    """
    own = isinstance(features, WithArmEffects)
    given = features.features if isinstance(features, WithArmEffects) else features
    x = None if given is None else _check_features(given, pairs.n_arms)
    centred = None if x is None else _standardised(x)
    linear = FeaturePrior(centred) if own and centred is not None else None
    value = _check_ridge(ridge)
    if pairs.n_arms == 0:
        return Posterior(np.zeros(0), covariance=np.zeros((0, 0)), ridge=value or 1.0)
    if value is not None:
        model = _Model(pairs, None if own else centred, value, linear)
        return _posterior(model, *_newton(model, start, precision), seed)
    return _fit_ridge(pairs, None if own else centred, linear, seed, start, precision)


def _standardised(x: Floats) -> Floats:
    """Return features with mean 0 and equal variances over the n arms that add to 1 - 1/n; constant ones become 0.

    So utilities have the same prior variance as without features, where it is 1/ridge before centring, for any units
    and number of features.
    """
    centred = x - x.mean(axis=0)
    size = centred.std(axis=0)
    varies = size > 1e-12 * np.abs(x).max(axis=0, initial=0.0)
    share = (1.0 - 1.0 / len(x)) / max(varies.sum(), 1)
    return np.asarray(centred * np.where(varies, np.sqrt(share) / np.where(varies, size, 1.0), 0.0))


def _fit_ridge(
    pairs: Pairs, x: Floats | None, linear: FeaturePrior | None, seed: int, start: Posterior | None, precision: float
) -> Posterior:
    """Return the ridge that explains the votes best, by EM (`em_precision`)."""
    posterior, ridge = start, 1.0 if start is None else start.ridge
    for _ in range(_ROUNDS):
        model = _Model(pairs, x, ridge, linear)
        posterior = _posterior(model, *_newton(model, posterior, precision), seed)
        theta = posterior.mean if x is None or posterior.theta is None else posterior.theta
        free = len(theta) - (x is None)  # without features, the sum of utilities carries no information
        spread = float(theta @ model.pulled(theta)) + posterior.doubt
        better = em_precision(free, spread)
        if abs(np.log(better / ridge)) < _SAME:
            break
        ridge = better
    return posterior if posterior is not None else fit_utilities(pairs, x, ridge, seed)


def _check_ridge(ridge: float | str) -> float | None:
    """Return the number, or None if it is to be estimated."""
    if isinstance(ridge, str) and ridge == AUTO:
        return None
    value = check_finite("ridge", ridge, f"a positive finite number, or {AUTO!r}")
    if value.shape != () or not value > 0.0:
        raise InvalidInput(f"ridge is {ridge!r}.", f"Give a positive finite number, or {AUTO!r}.", field="ridge")
    return float(value)


def _check_features(features: ArrayLike, n_arms: int) -> Floats:
    x = check_finite("features", features, "finite numbers, a row for each arm: (n_arms, dim)")
    if x.ndim != 2 or len(x) != n_arms or x.shape[1] == 0:
        raise InvalidInput(
            f"features have shape {x.shape}, but there are {n_arms} arms.", "Give a row for each: (n_arms, dim)."
        )
    return x


class _Slopes(NamedTuple):
    """Derivatives of the loss by the gap of each pair, by the tie parameter, and by both."""

    gap: Floats
    gap_twice: Floats
    tie: float
    tie_twice: float
    both: Floats


class _Model:
    """The loss and its derivatives, by parameters theta and log nu (None: no ties)."""

    def __init__(self, pairs: Pairs, x: Floats | None, ridge: float, linear: FeaturePrior | None = None) -> None:
        self.pairs, self.x, self.ridge, self.linear = pairs, x, ridge, linear
        self.n_parameters = pairs.n_arms if x is None else x.shape[1]
        self.votes = float(pairs.total.sum())

    def utilities(self, theta: Floats) -> Floats:
        return theta if self.x is None else np.asarray(self.x @ theta)

    def gaps(self, theta: Floats) -> Floats:
        u = self.utilities(theta)
        return np.asarray(u[self.pairs.low] - u[self.pairs.high])

    def pulled(self, theta: Floats) -> Floats:
        """Return the prior precision, divided by the ridge, times theta."""
        return theta if self.linear is None else theta - self.linear.explained(theta)

    def loss(self, theta: Floats, gap: Floats, tie: float | None) -> float:
        size = np.abs(gap)
        rest = np.exp(-size)
        linear = (self.pairs.wins - 0.5 * self.pairs.total) @ gap
        if tie is None:
            body = self.pairs.total @ (0.5 * size + np.log1p(rest))
            return float(0.5 * self.ridge * (theta @ self.pulled(theta)) + body - linear)
        nu = np.exp(tie)
        body = self.pairs.total @ (0.5 * size + np.log1p(rest + nu * np.exp(-0.5 * size)))
        prior = _PRIOR_VOTES * np.log(2.0 + nu) - _PRIOR_TIES * tie
        return float(0.5 * self.ridge * (theta @ self.pulled(theta)) + body - linear - self.pairs.ties * tie + prior)

    def slopes(self, gap: Floats, tie: float | None) -> _Slopes:
        pairs, nu = self.pairs, 0.0 if tie is None else float(np.exp(tie))
        win, tied, lost = outcome_chances(gap, nu)
        lead = win - lost
        equals = nu / (2.0 + nu)
        return _Slopes(
            gap=pairs.total * (win + 0.5 * tied) - pairs.wins,
            gap_twice=pairs.total * (win * lost + tied * (1.0 - tied) / 4.0),
            tie=float(pairs.total @ tied - pairs.ties + _PRIOR_VOTES * equals - _PRIOR_TIES),
            tie_twice=float(pairs.total @ (tied * (1.0 - tied)) + _PRIOR_VOTES * equals * (1.0 - equals)),
            both=-0.5 * pairs.total * tied * lead,
        )

    def gathered(self, values: Floats) -> Floats:
        """Return derivatives by theta from those by the gaps."""
        n = self.pairs.n_arms
        by_arm = np.bincount(self.pairs.low, values, n) - np.bincount(self.pairs.high, values, n)
        return np.asarray(by_arm, np.float64) if self.x is None else np.asarray(self.x.T @ by_arm)

    def curvature(self, weight: Floats) -> Floats:
        """Return the second derivative by theta as a dense matrix."""
        laplacian = self.laplacian(weight)
        if self.x is None:
            whole = laplacian if isinstance(laplacian, np.ndarray) else laplacian.toarray()
        else:
            whole = self.x.T @ (laplacian @ self.x)
        whole[np.diag_indices_from(whole)] += self.ridge
        if self.linear is not None:
            whole -= self.ridge * self.linear.explained(np.eye(len(whole)))
        return np.asarray(whole)

    def laplacian(self, weight: Floats) -> Floats | csr_array:
        """Return the sum over pairs of weight (e_low - e_high)(e_low - e_high)^T."""
        n, low, high = self.pairs.n_arms, self.pairs.low, self.pairs.high
        if n <= FEW:
            half = np.bincount(low * n + high, weight, n * n).reshape(n, n).astype(np.float64)  # integers if empty
            return np.asarray(np.diag(half.sum(axis=0) + half.sum(axis=1)) - half - half.T)
        degree = np.bincount(low, weight, n) + np.bincount(high, weight, n)
        every = np.arange(n)
        rows, columns = np.concatenate([low, high, every]), np.concatenate([high, low, every])
        return csr_array((np.concatenate([-weight, -weight, degree]), (rows, columns)), shape=(n, n))

    def solver(self, weight: Floats) -> Callable[[Floats], Floats]:
        """Return a solver for the second derivative: direct, or conjugate gradients for many sparsely compared arms."""
        if self.x is None and self.n_parameters > FEW:
            laplacian = self.laplacian(weight)
            return lambda right: _solve_sparse(laplacian, self.ridge, right, self.pulled)
        factor = cho_factor(self.curvature(weight), overwrite_a=True)
        return lambda right: np.asarray(cho_solve(factor, right))


def _newton(model: _Model, start: Posterior | None, precision: float) -> tuple[Floats, float | None]:
    """Return the minimum by Newton's method, halving steps that do not descend."""
    theta, tie = _beginning(model, start)
    gap = model.gaps(theta)
    loss = model.loss(theta, gap, tie)
    for _ in range(_STEPS):
        by_theta, by_tie, promised = _step(model, theta, gap, tie)
        if promised <= precision * (1.0 + abs(loss)):
            # The last step doubles the correct digits: the same log gives the same result from any start.
            return theta - by_theta, None if tie is None else tie - by_tie
        size = 1.0
        while True:
            trial, tie_trial = theta - size * by_theta, None if tie is None else tie - size * by_tie
            gap = model.gaps(trial)
            if (new := model.loss(trial, gap, tie_trial)) <= loss + _ROUNDING * (1.0 + abs(loss)) or size < 1e-10:
                break
            size /= 2.0
        theta, tie, loss = trial, tie_trial, new
    return theta, tie


def _beginning(model: _Model, start: Posterior | None) -> tuple[Floats, float | None]:
    theta = np.zeros(model.n_parameters)
    if start is not None and start.theta is not None and len(start.theta) == len(theta):
        theta = start.theta
    if model.pairs.ties <= 0.0:
        return theta, None
    if start is not None and start.tie is not None:
        return theta, start.tie
    share = (model.pairs.ties + _PRIOR_TIES) / (model.votes + _PRIOR_VOTES)
    return theta, float(np.log(2.0 * share / (1.0 - share)))


def _step(model: _Model, theta: Floats, gap: Floats, tie: float | None) -> tuple[Floats, float, float]:
    """Return Newton's step in theta and in the tie parameter, and the slope along it."""
    slopes = model.slopes(gap, tie)
    gradient = model.ridge * model.pulled(theta) + model.gathered(slopes.gap)
    solve = model.solver(slopes.gap_twice)
    if tie is None:
        step = solve(gradient[:, None])[:, 0]
        return step, 0.0, float(gradient @ step)
    both = model.gathered(slopes.both)
    alone, coupled = solve(np.stack([gradient, both], axis=1)).T
    by_tie = float((slopes.tie - both @ alone) / (slopes.tie_twice - both @ coupled))
    step = alone - by_tie * coupled
    return step, by_tie, float(gradient @ step + slopes.tie * by_tie)


def _posterior(model: _Model, theta: Floats, tie: float | None, seed: int) -> Posterior:
    slopes = model.slopes(model.gaps(theta), tie)
    coupling = np.zeros(model.n_parameters)
    if tie is not None:
        # The uncertainty of nu adds a rank-one part to the covariance.
        both = model.gathered(slopes.both)
        coupling = model.solver(slopes.gap_twice)(both[:, None])[:, 0]
        coupling = coupling / np.sqrt(slopes.tie_twice - both @ coupling)
    utilities = model.utilities(theta)
    covariance = factor = None
    doubt = float(coupling @ coupling)
    n = model.pairs.n_arms
    if model.x is not None:
        root = cholesky(model.curvature(slopes.gap_twice), lower=True)
        doubt += float(np.square(solve_triangular(root, np.eye(len(root)), lower=True)).sum())
        factor = np.column_stack([solve_triangular(root, model.x.T, lower=True).T, model.x @ coupling])
    elif n <= DENSE:
        covariance = _inverse(model.curvature(slopes.gap_twice))
        covariance -= 1.0 / (n * model.ridge)  # the origin: 1 is an eigenvector of the curvature, with value ridge
        covariance += np.outer(coupling, coupling)
        doubt = float(np.trace(model.pulled(covariance)))
    else:
        factor = np.column_stack([_draws(model, slopes.gap_twice, seed) / np.sqrt(SKETCH), coupling])
        doubt = float((factor * model.pulled(factor)).sum())
    linear = model.linear
    features = model.x if linear is None else linear.scaled
    mean = utilities - utilities.mean()
    return Posterior(mean, covariance, factor, tie, model.ridge, features, theta, doubt, arm_effects=linear is not None)


def _inverse(matrix: Floats) -> Floats:
    """Invert a positive definite matrix in place, by its Cholesky factor."""
    factor, lower = cho_factor(matrix, lower=True, overwrite_a=True)
    inverse, status = dpotri(factor, lower=lower, overwrite_c=True)
    if status != 0:
        raise InvalidInput("The fit is not determined to the limit of floating point.", "Raise ridge.")
    inverse = np.tril(inverse)
    return np.asarray(inverse + np.tril(inverse, -1).T)


def _solve_sparse(
    laplacian: Floats | csr_array, ridge: float, right: Floats, pulled: Callable[[Floats], Floats]
) -> Floats:
    """Solve (laplacian + prior) x = right for several right sides by conjugate gradients with a diagonal
    preconditioner.

    `pulled` is the prior precision divided by the ridge, I without features.
    """
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
        image = laplacian @ direction + ridge * pulled(direction)
        moving = power > goal
        size = np.where(moving, power, 0.0) / np.maximum((direction * image).sum(axis=0), 1e-300)
        x += size * direction
        residual -= size * image
        scaled = residual / diagonal
        before, power = power, (residual * scaled).sum(axis=0)
        direction = scaled + np.where(moving, power / np.maximum(before, 1e-300), 0.0) * direction
    return x


def _draws(model: _Model, weight: Floats, seed: int) -> Floats:
    """Return `SKETCH` centred draws from N(0, curvature^-1): solve for noise with covariance curvature."""
    rng = np.random.default_rng(seed)
    pairs = model.pairs
    noise = np.sqrt(model.ridge) * rng.standard_normal((pairs.n_arms, SKETCH))
    if model.linear is not None:
        noise = model.linear.half_pulled(noise)
    every, size = np.arange(len(weight)), np.sqrt(weight)
    ends = (np.concatenate([pairs.low, pairs.high]), np.concatenate([every, every]))
    incidence = csr_array((np.concatenate([size, -size]), ends), shape=(pairs.n_arms, len(weight)))
    noise += incidence @ rng.standard_normal((len(weight), SKETCH))
    x = _solve_sparse(model.laplacian(weight), model.ridge, noise, model.pulled)
    return np.asarray(x - x.mean(axis=0))
