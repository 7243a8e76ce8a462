"""Whitening of very many arms, float32 or float64: the arithmetic of `linalg`, a block of arms at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

WHITENING_BLOCK = 256
"""Arms whitened together: a block of 64 features and its copy stay in a second-level cache."""


@compiled_apart
def whiten_all(factor: Matrix, arms: Any) -> Matrix:
    """Columns R'^-1 x of all arms, shape (dim, n_arms); bit for bit those of `linalg.whiten`.

    Arms may be float32 or float64; they are read once and never copied as a whole.
    """
    v = np.empty((arms.shape[1], arms.shape[0]))
    whiten_into(factor, arms, v)
    return v


@compiled_apart
def whiten_into(factor: Matrix, arms: Any, v: Matrix) -> None:
    """`whiten_all` into an array of the caller, whose memory NumPy may have in large pages."""
    n, dim = arms.shape
    # A few unused columns keep the rows of the block from competing for the same cache lines.
    block = np.zeros((dim, WHITENING_BLOCK + 8))
    for start in range(0, n, WHITENING_BLOCK):
        count = min(WHITENING_BLOCK, n - start)
        for a in range(count):
            for k in range(dim):
                block[k, a] = arms[start + a, k]
        for i in range(0, dim - 1, 2):
            _eliminate_two(factor, block, i)
        if dim % 2 == 1:
            _eliminate(factor, block, dim - 1, 0)
        for i in range(dim):
            v[i, start : start + count] = block[i, :count]


@compiled_apart
def _eliminate_two(factor: Matrix, block: Matrix, i: int) -> None:
    """Rows i and i + 1 of the block become those of R'^-1 times it; the rows before are done.

    Four earlier rows at a time, subtracted one after the other: the rounding of the plain loop.
    """
    upper, lower = block[i], block[i + 1]
    done = i - i % 4
    for k in range(0, done, 4):
        f0, f1, f2, f3 = factor[k, i], factor[k + 1, i], factor[k + 2, i], factor[k + 3, i]
        g0, g1, g2, g3 = factor[k, i + 1], factor[k + 1, i + 1], factor[k + 2, i + 1], factor[k + 3, i + 1]
        b0, b1, b2, b3 = block[k], block[k + 1], block[k + 2], block[k + 3]
        for a in range(upper.size):
            upper[a] = (((upper[a] - f0 * b0[a]) - f1 * b1[a]) - f2 * b2[a]) - f3 * b3[a]
            lower[a] = (((lower[a] - g0 * b0[a]) - g1 * b1[a]) - g2 * b2[a]) - g3 * b3[a]
    _eliminate(factor, block, i, done)
    _eliminate(factor, block, i + 1, done)


@compiled_apart
def _eliminate(factor: Matrix, block: Matrix, i: int, done: int) -> None:
    """The rest of row i: earlier rows from number `done` on, then the division by the diagonal."""
    own = block[i]
    for k in range(done, i):
        entry, row = factor[k, i], block[k]
        for a in range(own.size):
            own[a] -= entry * row[a]
    inverse = 1.0 / factor[i, i]
    for a in range(own.size):
        own[a] *= inverse


@compiled_apart
def utilities_all(theta: Vector, arms: Any) -> Vector:
    """x . theta of all arms; bit for bit those of `linalg.utilities`."""
    u = np.empty(arms.shape[0])
    utilities_into(theta, arms, u)
    return u


@compiled_apart
def utilities_into(theta: Vector, arms: Any, u: Vector) -> None:
    """`utilities_all` into an array of the caller."""
    for a in range(arms.shape[0]):
        total = 0.0
        for k in range(theta.size):
            total += arms[a, k] * theta[k]
        u[a] = total
