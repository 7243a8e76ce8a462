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
from duelist.kernels.lanes import LANES, lane_sums

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def dot(a: Vector, b: Vector) -> float:
    """a . b over the length of a, in eight lanes that are added at the end: the same bits on every processor."""
    n = a.size
    whole = n - n % LANES
    if whole == 0:
        total = 0.0
        for i in range(n):
            total += a[i] * b[i]
        return total
    s0, s1, s2, s3, s4, s5, s6, s7 = lane_sums(a, b, whole)
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@compiled
def cholesky_update(factor: Matrix, z: Vector, weight: float, rest: Vector) -> None:
    """R with R'R = Sigma becomes R with R'R = Sigma + weight zz', in place; `rest` is room for dim numbers."""
    root = math.sqrt(weight)
    for k in range(z.size):
        rest[k] = root * z[k]
    for k in range(z.size):
        _rotate(factor, rest, k)


@compiled
def cholesky_update_both(
    factor: Matrix, weight: float, other: Matrix, other_weight: float, z: Vector, rest: Vector, other_rest: Vector
) -> None:
    """`cholesky_update` of two factors with the same z.

    Each rotation waits for a root and a quotient of the one before it; two chains side by side take as long as one.
    """
    root, other_root = math.sqrt(weight), math.sqrt(other_weight)
    for k in range(z.size):
        rest[k] = root * z[k]
        other_rest[k] = other_root * z[k]
    for k in range(z.size):
        _rotate(factor, rest, k)
        _rotate(other, other_rest, k)


@compiled
def _rotate(factor: Matrix, rest: Vector, k: int) -> None:
    """Rotate what is left of z into row k of the factor."""
    entry, diagonal = rest[k], factor[k, k]
    if entry == 0.0:
        return
    radius = math.sqrt(diagonal * diagonal + entry * entry)
    cosine, secant, sine = radius / diagonal, diagonal / radius, entry / diagonal
    factor[k, k] = radius
    row, later = factor[k, k + 1 :], rest[k + 1 :]
    for i in range(row.size):
        row[i] = (row[i] + sine * later[i]) * secant
        later[i] = cosine * later[i] - sine * row[i]


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
    if b.size <= LANES:
        _solve_short_lower(factor, b)
        return
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
    if b.size <= LANES:
        _solve_short_upper(factor, b)
        return
    for k in range(b.size - 1, -1, -1):
        b[k] = (b[k] - dot(factor[k, k + 1 :], b[k + 1 :])) / factor[k, k]


# In few dimensions an entry waits for the one before it, and little else counts: that one is taken in last,
# and multiplied by a reciprocal, which waits for nothing.


@compiled
def _solve_short_lower(factor: Matrix, b: Vector) -> None:
    for k in range(b.size):
        rest = b[k]
        for i in range(k):
            rest -= factor[i, k] * b[i]
        b[k] = rest * (1.0 / factor[k, k])


@compiled
def _solve_short_upper(factor: Matrix, b: Vector) -> None:
    for k in range(b.size - 1, -1, -1):
        rest = b[k]
        for i in range(b.size - 1, k, -1):
            rest -= factor[k, i] * b[i]
        b[k] = rest * (1.0 / factor[k, k])


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

    Each arm lies in a row of its own, so that the long vector operations run along the dimensions; they take four
    features at a time, so that an arm is read and written a quarter as often.
    """
    dim, n = v.shape
    for a in range(n):
        for k in range(dim):
            room[a, k] = v[k, a]
    whole = dim - dim % 4
    for k in range(0, whole, 4):
        r0, r1, r2, r3 = factor[k, k + 4 :], factor[k + 1, k + 4 :], factor[k + 2, k + 4 :], factor[k + 3, k + 4 :]
        for a in range(n):
            _eliminate_one_by_one(factor, room[a], k, k + 4)
            x0, x1, x2, x3 = room[a, k], room[a, k + 1], room[a, k + 2], room[a, k + 3]
            later = room[a, k + 4 :]
            for i in range(later.size):
                later[i] = (((later[i] - r0[i] * x0) - r1[i] * x1) - r2[i] * x2) - r3[i] * x3
    for a in range(n):
        _eliminate_one_by_one(factor, room[a], whole, dim)
    for k in range(dim):
        for a in range(n):
            v[k, a] = room[a, k]


@compiled
def _eliminate_one_by_one(factor: Matrix, x: Vector, start: int, stop: int) -> None:
    """Entries start .. stop - 1 of R'^-1 x, where all earlier ones have been subtracted already."""
    for k in range(start, stop):
        x[k] *= 1.0 / factor[k, k]
        for i in range(k + 1, stop):
            x[i] -= factor[k, i] * x[k]


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
