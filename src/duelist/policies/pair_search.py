"""Pair choice for a given estimate, for use with a learner of your own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist import native
from duelist.core.arrays import C_ORDER, Floats, check_finite
from duelist.core.errors import InvalidInput

Arms = NDArray[np.float32] | NDArray[np.float64]

_ASYMMETRY = 1e-8


class Pair(NamedTuple):
    """Two arms by position, and the value that they maximise."""

    first: int
    second: int
    value: float


def best_pair(arms: ArrayLike, theta: ArrayLike, precision: ArrayLike, radius: float) -> Pair:
    """Return the pair that maximises (x + y) . theta + radius |x - y|_{precision^-1}, and the maximum.

    The symmetric rule of MaxPairUCB and of VACDB's exploitation. Both arms may be the same.

    >>> best_pair([[0.0], [1.0], [3.0]], theta=[1.0], precision=[[4.0]], radius=1.0)
    Pair(first=2, second=2, value=6.0)
    >>> best_pair([[0.0], [1.0], [3.0]], theta=[0.0], precision=[[4.0]], radius=1.0)
    Pair(first=0, second=2, value=1.5)
    """
    x = _checked_arms(arms)
    factor = factor_precision(precision, x.shape[1])
    return search_best_pair(x, check_theta(theta, x.shape[1]), factor, check_radius(radius))


def widest_pair(arms: ArrayLike, precision: ArrayLike) -> Pair:
    """Return the pair with the largest width |x - y|_{precision^-1}, and the width.

    >>> widest_pair([[0.0], [1.0], [3.0]], precision=[[4.0]])
    Pair(first=0, second=2, value=1.5)
    """
    x = _checked_arms(arms)
    return search_widest_pair(x, factor_precision(precision, x.shape[1]))


def search_best_pair(x: Arms, theta: Floats, factor: Floats, radius: float) -> Pair:
    """Return `best_pair` for checked arguments and a factored precision."""
    return Pair(*native.best_pair(x, theta, factor, radius))


def search_widest_pair(x: Arms, factor: Floats) -> Pair:
    """Return `widest_pair` for checked arguments and a factored precision."""
    first, second, square = native.widest_pair(x, factor)
    return Pair(first, second, float(np.sqrt(square)))


def factor_precision(precision: ArrayLike, dim: int) -> Floats:
    """Return the upper factor R with R'R = precision; entries below its diagonal are arbitrary."""
    factor = check_finite("precision", precision, f"a symmetric matrix ({dim}, {dim})")
    if factor.shape != (dim, dim):
        raise InvalidInput(f"precision has shape {factor.shape}.", f"Give a symmetric matrix ({dim}, {dim}).")
    if np.abs(factor - factor.T).max() > _ASYMMETRY * np.abs(factor).max():
        raise InvalidInput("precision is not symmetric.", "Give (P + P') / 2 if it should be.", field="precision")
    upper = native.cholesky_factor(factor)
    if upper is None:
        raise InvalidInput("precision is not positive definite.", "Add a ridge to its diagonal.", field="precision")
    return upper


def lower_factor(factor: Floats) -> Floats:
    """Return the Cholesky factor L = R', with zeros above the diagonal."""
    return np.ascontiguousarray(np.triu(factor).T)


def check_theta(theta: ArrayLike, dim: int) -> Floats:
    """Return `theta` as `dim` finite floats."""
    t = check_finite("theta", theta, f"{dim} finite numbers")
    if t.shape != (dim,):
        raise InvalidInput(f"theta has shape {t.shape}.", f"Give {dim} finite numbers.")
    return t


def check_radius(radius: float) -> float:
    """Return `radius` as a finite float of at least 0."""
    size = check_finite("radius", radius, "a finite number of at least 0")
    if size.shape != () or size < 0.0:
        raise InvalidInput(f"radius is {radius!r}.", "Give a finite number of at least 0.", field="radius")
    return float(size)


def _checked_arms(arms: ArrayLike) -> Arms:
    x = _finite_arms(arms)
    if x.ndim != 2 or 0 in x.shape:
        raise InvalidInput(f"arms have shape {x.shape}.", "Give finite features (n_arms, dim).")
    return x


def _finite_arms(arms: ArrayLike) -> Arms:
    """Return arms as finite floats, without copying an array of floats."""
    if isinstance(arms, np.ndarray) and arms.dtype in (np.float32, np.float64) and np.isfinite(arms).all():
        return np.require(arms, arms.dtype, C_ORDER)
    return check_finite("arms", arms, "finite features (n_arms, dim)")
