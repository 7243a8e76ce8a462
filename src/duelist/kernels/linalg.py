"""Rank-one updates, triangular solves, whitening.

A precision Sigma is kept only as its lower Cholesky factor L (Sigma = L L'). Adding w zz'
updates L in O(dim^2) by rotations, which is backward stable: no inverse, no drift to watch,
and every width is a plain distance between whitened arms, |L^-1 x - L^-1 y|.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def cholesky_update(factor: Matrix, z: Vector, weight: float) -> None:
    """L with LL' = Sigma becomes L with LL' = Sigma + weight zz', in place."""
    dim = z.size
    root = math.sqrt(weight)
    rest = np.empty(dim)
    for k in range(dim):
        rest[k] = root * z[k]
    for k in range(dim):
        if rest[k] == 0.0:
            continue
        diagonal = factor[k, k]
        radius = math.hypot(diagonal, rest[k])
        cosine = radius / diagonal
        sine = rest[k] / diagonal
        factor[k, k] = radius
        for i in range(k + 1, dim):
            factor[i, k] = (factor[i, k] + sine * rest[i]) / cosine
            rest[i] = cosine * rest[i] - sine * factor[i, k]


@compiled
def cholesky(matrix: Matrix) -> bool:
    """Lower Cholesky factor, in place (the upper triangle is left alone). False if not positive definite."""
    dim = matrix.shape[0]
    for j in range(dim):
        diagonal = matrix[j, j]
        for k in range(j):
            diagonal -= matrix[j, k] * matrix[j, k]
        if not diagonal > 0.0:
            return False
        diagonal = math.sqrt(diagonal)
        matrix[j, j] = diagonal
        for i in range(j + 1, dim):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / diagonal
    return True


@compiled
def solve_lower(factor: Matrix, b: Vector) -> None:
    """b becomes L^-1 b."""
    for i in range(b.size):
        total = b[i]
        for k in range(i):
            total -= factor[i, k] * b[k]
        b[i] = total / factor[i, i]


@compiled
def solve_upper(factor: Matrix, b: Vector) -> None:
    """b becomes L'^-1 b."""
    for i in range(b.size - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, b.size):
            total -= factor[k, i] * b[k]
        b[i] = total / factor[i, i]


@compiled
def width_of(factor: Matrix, z: Vector) -> float:
    """The width |z|_{Sigma^-1}."""
    v = z.copy()
    solve_lower(factor, v)
    total = 0.0
    for k in range(v.size):
        total += v[k] * v[k]
    return math.sqrt(total)


@compiled
def whiten(factor: Matrix, arms: Matrix, chosen: NDArray[np.int64], count: int) -> Matrix:
    """Columns L^-1 x of the first `count` arms listed in `chosen`: shape (dim, count).

    Arms run along the last axis so that each step is one long vector operation.
    """
    dim = arms.shape[1]
    v = np.empty((dim, count))
    for k in range(dim):
        for a in range(count):
            v[k, a] = arms[chosen[a], k]
    for i in range(dim):
        for k in range(i):
            entry = factor[i, k]
            if entry != 0.0:
                for a in range(count):
                    v[i, a] -= entry * v[k, a]
        inverse = 1.0 / factor[i, i]
        for a in range(count):
            v[i, a] *= inverse
    return v


@compiled
def utilities(theta: Vector, arms: Matrix, chosen: NDArray[np.int64], count: int) -> Vector:
    """x . theta of the first `count` arms listed in `chosen`."""
    u = np.empty(count)
    for a in range(count):
        total = 0.0
        for k in range(theta.size):
            total += arms[chosen[a], k] * theta[k]
        u[a] = total
    return u
