"""Choosing a pair for a given estimate, on its own: for people who bring their own learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.errors import InvalidInput
from duelist.inputs import finite_floats
from duelist.kernels import linalg, pairs

Floats = NDArray[np.float64]

_ASYMMETRY = 1e-8


class Pair(NamedTuple):
    """Two arms by position, and the value that chose them."""

    first: int
    second: int
    value: float


def best_pair(arms: ArrayLike, theta: ArrayLike, precision: ArrayLike, radius: float) -> Pair:
    """argmax over pairs of (x + y) . theta + radius |x - y|_{precision^-1}, and the maximum.

    The symmetric rule of MaxPairUCB and of VACDB's exploitation. An arm may meet itself.

    >>> best_pair([[0.0], [1.0], [3.0]], theta=[1.0], precision=[[4.0]], radius=1.0)
    Pair(first=2, second=2, value=6.0)
    >>> best_pair([[0.0], [1.0], [3.0]], theta=[0.0], precision=[[4.0]], radius=1.0)
    Pair(first=0, second=2, value=1.5)
    """
    x, v = _whitened(arms, precision)
    t = finite_floats("theta", theta, f"{x.shape[1]} finite numbers")
    if t.shape != (x.shape[1],):
        raise InvalidInput(f"theta has shape {t.shape}; give {x.shape[1]} finite numbers")
    size = finite_floats("radius", radius, "a finite number of at least 0")
    if size.shape != () or size < 0.0:
        raise InvalidInput(f"radius is {radius!r}; give a finite number of at least 0")
    return Pair(*pairs.best_pair(x @ t, v, float(size)))


def widest_pair(arms: ArrayLike, precision: ArrayLike) -> Pair:
    """The pair with the largest width |x - y|_{precision^-1}, and the width.

    >>> widest_pair([[0.0], [1.0], [3.0]], precision=[[4.0]])
    Pair(first=0, second=2, value=1.5)
    """
    _, v = _whitened(arms, precision)
    first, second, square = pairs.widest_pair(v)
    return Pair(first, second, float(np.sqrt(square)))


def _whitened(arms: ArrayLike, precision: ArrayLike) -> tuple[Floats, Floats]:
    x = finite_floats("arms", arms, "finite features (n_arms, dim)")
    if x.ndim != 2 or 0 in x.shape:
        raise InvalidInput(f"arms have shape {x.shape}; give finite features (n_arms, dim)")
    dim = x.shape[1]
    factor = finite_floats("precision", precision, f"a symmetric matrix ({dim}, {dim})")
    if factor.shape != (dim, dim):
        raise InvalidInput(f"precision has shape {factor.shape}; give a symmetric matrix ({dim}, {dim})")
    if np.abs(factor - factor.T).max() > _ASYMMETRY * np.abs(factor).max():
        raise InvalidInput("precision is not symmetric; give (P + P') / 2 if it should be")
    if not linalg.cholesky(factor):
        raise InvalidInput("precision is not positive definite; add a ridge to its diagonal")
    return x, linalg.whiten(factor, x, np.arange(len(x)), len(x))
