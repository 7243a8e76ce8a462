"""Rank-one updates, triangular solves, whitening.

A precision Sigma is kept only as its upper triangular factor R (Sigma = R'R, the transpose of
the usual Cholesky factor). Adding w zz' updates R in O(dim^2) by rotations, which is backward
stable: no inverse, no drift to watch, and every width is a plain distance between whitened
arms, |R'^-1 x - R'^-1 y|. Upper rather than lower, because every loop below then walks along
rows of R, which lie together in memory: at 4,096 dimensions the update is 10 times faster so.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def dot(a: Vector, b: Vector) -> float:
    """a . b over the length of a, in eight lanes.

    Lanes are added at the end. Written out, the order of additions is the same on every
    processor, while the compiler still turns lanes into vector instructions.
    """
    n = a.size
    whole = n - n % 8
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 8):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@compiled
def cholesky_update(factor: Matrix, z: Vector, weight: float, rest: Vector) -> None:
    """R with R'R = Sigma becomes R with R'R = Sigma + weight zz', in place; `rest` is room for dim numbers."""
    dim = z.size
    root = math.sqrt(weight)
    for k in range(dim):
        rest[k] = root * z[k]
    for k in range(dim):
        entry = rest[k]
        if entry == 0.0:
            continue
        diagonal = factor[k, k]
        radius = math.sqrt(diagonal * diagonal + entry * entry)
        cosine = radius / diagonal
        secant = diagonal / radius
        sine = entry / diagonal
        row = factor[k, k + 1 :]
        later = rest[k + 1 :]
        for i in range(row.size):
            row[i] = (row[i] + sine * later[i]) * secant
            later[i] = cosine * later[i] - sine * row[i]
        factor[k, k] = radius


@compiled_apart
def cholesky(matrix: Matrix) -> bool:
    """Upper factor R with R'R = matrix, in place, from the upper triangle; what lies below it is left alone.

    False if the matrix is not positive definite.
    """
    dim = matrix.shape[0]
    for k in range(dim):
        diagonal = matrix[k, k]
        if not diagonal > 0.0:
            return False
        diagonal = math.sqrt(diagonal)
        matrix[k, k] = diagonal
        row = matrix[k]
        for i in range(k + 1, dim):
            row[i] /= diagonal
        for j in range(k + 1, dim):
            share = row[j]
            below = matrix[j, j:]
            right = row[j:]
            for i in range(below.size):
                below[i] -= share * right[i]
    return True


@compiled
def solve_lower(factor: Matrix, b: Vector) -> None:
    """b becomes R'^-1 b."""
    for k in range(b.size):
        entry = b[k] / factor[k, k]
        b[k] = entry
        row = factor[k, k + 1 :]
        later = b[k + 1 :]
        for i in range(row.size):
            later[i] -= entry * row[i]


@compiled
def solve_upper(factor: Matrix, b: Vector) -> None:
    """b becomes R^-1 b."""
    for k in range(b.size - 1, -1, -1):
        b[k] = (b[k] - dot(factor[k, k + 1 :], b[k + 1 :])) / factor[k, k]


@compiled
def width_of(factor: Matrix, z: Vector) -> float:
    """The width |z|_{Sigma^-1}."""
    v = z.copy()
    solve_lower(factor, v)
    return math.sqrt(dot(v, v))


@compiled_apart
def whiten(factor: Matrix, v: Matrix) -> None:
    """Columns x of v (dim, n) become R'^-1 x. Each step is one long vector operation."""
    dim, n = v.shape
    for k in range(dim):
        row = v[k]
        inverse = 1.0 / factor[k, k]
        for a in range(n):
            row[a] *= inverse
        for i in range(k + 1, dim):
            entry = factor[k, i]
            if entry != 0.0:
                later = v[i]
                for a in range(n):
                    later[a] -= entry * row[a]


@compiled_apart
def whiten_few(factor: Matrix, v: Matrix, room: Matrix) -> None:
    """`whiten`, bit for bit, for fewer columns than dimensions; `room` (n, dim) is overwritten.

    Each arm lies in a row of its own, so that the long vector operations run along the dimensions.
    """
    dim, n = v.shape
    for a in range(n):
        for k in range(dim):
            room[a, k] = v[k, a]
    for k in range(dim):
        inverse = 1.0 / factor[k, k]
        row = factor[k, k + 1 :]
        for a in range(n):
            entry = room[a, k] * inverse
            room[a, k] = entry
            later = room[a, k + 1 :]
            for i in range(row.size):
                later[i] -= row[i] * entry
    for k in range(dim):
        for a in range(n):
            v[k, a] = room[a, k]


@compiled_apart
def as_columns(arms: Matrix, v: Matrix) -> None:
    """v (dim, n) becomes the arms (n, dim), one a column."""
    dim, n = v.shape
    for k in range(dim):
        row = v[k]
        for a in range(n):
            row[a] = arms[a, k]


@compiled_apart
def chosen_as_columns(arms: Matrix, chosen: NDArray[np.int64], v: Matrix) -> None:
    """v (dim, n) becomes the arms listed in `chosen`, one a column."""
    dim, n = v.shape
    for k in range(dim):
        row = v[k]
        for a in range(n):
            row[a] = arms[chosen[a], k]


@compiled_apart
def utilities(theta: Vector, v: Matrix, u: Vector) -> None:
    """u becomes x . theta of the arms in the columns of v, before they are whitened."""
    n = u.size
    for a in range(n):
        u[a] = 0.0
    for k in range(theta.size):
        entry = theta[k]
        row = v[k]
        for a in range(n):
            u[a] += entry * row[a]
