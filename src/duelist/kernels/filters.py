"""Which pairs of a block can matter: the sign of one matrix product, then exact values.

A pair can reach the bound b if u_i + u_j + r |v_i - v_j| >= b. With h = u - b/2 <= 0 that is

    Q_ij = r^2 |v_i - v_j|^2 - (h_i + h_j)^2 >= 0,

and Q_ij = a_i + a_j - 2 (r^2 v_i . v_j + h_i h_j) with a = r^2 |v|^2 - h^2 is a product of
dim + 3 numbers a pair: (-2 r v_i, -2 h_i, 1, a_i) . (r v_j, h_j, a_j, 1). BLAS computes it for
a block of pairs, most quickly in float32, and the scan looks only at sign bits.

No pair is lost to rounding. With e half an ulp of the product's type, sigma = r^2 |v|^2 + h^2 and
K = dim + 3, rounding the factors and adding K products in any order moves Q_ij by less than
(2.1 K + 4) e (sigma_i + sigma_j), since 2 |x . y| <= |x|^2 + |y|^2. The error belongs to the arms one
by one, so a_i is simply raised by (3 K + 16) e sigma_i. What passes is computed again in float64,
with the very expressions of `pairs`, which alone decide.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart
from duelist.kernels.fields import Field, squared_widths
from duelist.kernels.random import below

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

BEST, WIDEST, BEST_WIDE, ANY_WIDER, RANDOM_WIDE = 0, 1, 2, 3, 4

ROWS: Final = 64
CHUNK: Final = 64
"""A chunk of columns with one promising pair is computed exactly, all of it."""

ONE_THREAD: Final = 2**18
"""Multiplications in one product. OpenBLAS would give more to several threads, and then a call waits for a
core that is busy with something else: 16 ms where the product takes 0.5 ms."""

UNDERFLOW: Final = 1e-30  # far above what float32 products lose below 1e-38, far below any rounding of 1


class Aim(NamedTuple):
    """What is searched: a goal, its radius, its threshold on widths, and the rounding error of a value."""

    goal: int
    radius: float
    threshold: float
    noise: float


class Found(NamedTuple):
    """The incumbent, in arrays so that it can change: (first, second), (value, squared width), (wide, examined)."""

    pair: Ints
    value: Vector
    tally: Ints


@compiled_apart
def nothing_found(first: int, value: float) -> Found:
    """An arm against itself, which only a larger value replaces."""
    return Found(np.array([first, first]), np.array([value, 0.0]), np.zeros(2, np.int64))


@compiled_apart
def reach(aim: Aim, found: Found) -> float:
    """What key_i + key_j must reach for the pair (i, j) to matter still."""
    if aim.goal == BEST:
        return found.value[0] - aim.noise
    if aim.goal == WIDEST:
        return math.sqrt(found.value[0]) - aim.noise
    if aim.goal == BEST_WIDE:
        return found.value[0]  # sums of keys are the very values compared: no rounding between them
    return aim.threshold - aim.noise


@compiled_apart
def filter_bound(aim: Aim, found: Found) -> float:
    """The bound b of the filter: a value, or for wide pairs the width they must exceed."""
    if aim.goal == BEST or aim.goal == WIDEST:
        return reach(aim, found)
    return aim.threshold - aim.noise


@compiled_apart
def pack_features(field: Field, centre: Vector, radius: float, scale: float, factors: Any, square: Vector) -> None:
    """Factors (r (v - c) / scale, 0, 0, 1) as rows, and the squared length of their first part.

    As many features as the factors have room for.
    """
    dim, n = factors.shape[1] - 3, field.arm.size
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        square[start:stop] = 0.0
        for k in range(dim):
            for i in range(start, stop):
                x = radius * (field.v[k, i] - centre[k]) / scale
                factors[i, k] = x
                square[i] += x * x
        factors[start:stop, dim + 2] = 1.0


@compiled_apart
def pack_bound(u: Vector, bound: float, scale: float, slack: float, aim: Aim, square: Vector, factors: Any) -> None:
    """Set h and a, raised against rounding, in every row of the factors."""
    dim = factors.shape[1] - 3
    # h_i + h_j may be above 0 by the noise; then Q_ij >= -noise^2, and such a pair must pass too.
    least = UNDERFLOW + (aim.noise / scale) ** 2
    for i in range(u.size):
        h = (u[i] - 0.5 * bound) / scale
        factors[i, dim] = h
        factors[i, dim + 1] = square[i] - h * h + slack * (square[i] + h * h) + least


@compiled_apart
def fill_left(factors: Any, start: int, left: Any, times: float) -> None:
    """The other side of the product for the rows from `start` on, with h multiplied by `times`."""
    dim = factors.shape[1] - 3
    for i in range(left.shape[0]):
        for k in range(dim):
            left[i, k] = -2.0 * factors[start + i, k]
        left[i, dim] = times * factors[start + i, dim]
        left[i, dim + 1] = 1.0
        left[i, dim + 2] = factors[start + i, dim + 1]


@compiled_apart
def tile_width(dim: int) -> int:
    """Columns of a product of ROWS rows: a multiple of 8, small enough for one thread."""
    return max(8, min(512, ONE_THREAD // (ROWS * (dim + 3)) // 8 * 8))


@compiled_apart
def allowance(dim: int, real: Any) -> float:
    """(3 K + 16) e for products of K = dim + 3 numbers of type `real`."""
    return (3.0 * (dim + 3) + 16.0) * 0.5 * np.finfo(real).eps


@compiled_apart
def scan(field: Field, aim: Aim, found: Found, signs: Any, row: int, column: int, words: NDArray[np.uint64]) -> None:
    """Examine the chunks of a product in which some sign bit is clear; rows from `row`, columns from `column` on."""
    square = np.empty(CHUNK)
    rows, columns = signs.shape
    for i in range(rows):
        for start in range(0, columns, CHUNK):
            if field.key[row + i] + field.key[column + start] < reach(aim, found):
                break  # keys fall along the row
            chunk = signs[i, start : start + CHUNK]
            all_of_them = chunk[0]
            for j in range(1, chunk.size):
                all_of_them &= chunk[j]
            if all_of_them >= 0:
                first = column + start
                examine(field, aim, found, row + i, first, first + chunk.size, square, words)
        found.tally[1] += max(0, column + columns - max(column, row + i + 1))


@compiled_apart
def examine(
    field: Field, aim: Aim, found: Found, row: int, start: int, stop: int, square: Vector, words: NDArray[np.uint64]
) -> None:
    """Exact values of the pairs of arm `row` with the arms start .. stop - 1 that come after it."""
    start = max(start, row + 1)
    if start >= stop:
        return
    near = squared_widths(field.v, row, start, stop, square)
    if aim.goal == BEST:
        add_utilities(field, aim.radius, row, start, near)
    limit = aim.threshold * aim.threshold
    for j in range(near.size):
        first, second = field.arm[row], field.arm[start + j]
        if aim.goal == BEST or aim.goal == WIDEST:
            if near[j] >= found.value[0]:
                offer(found, near[j], 0.0, first, second)
        elif aim.goal == BEST_WIDE:
            if near[j] > limit:
                offer(found, field.u[row] + field.u[start + j], near[j], first, second)
        elif aim.goal == ANY_WIDER:
            if near[j] > limit:
                offer(found, near[j], 0.0, first, second)
        elif near[j] > limit:
            found.tally[0] += 1
            if below(words, found.tally[0]) == 0:  # the k-th wide pair is chosen with chance 1/k
                take(found, near[j], 0.0, first, second)


@compiled_apart
def add_utilities(field: Field, radius: float, row: int, start: int, near: Vector) -> None:
    """From squared widths to u_row + u_j + r |v_row - v_j|, j from `start` on."""
    own, u = field.u[row], field.u[start:]
    for j in range(near.size):
        near[j] = own + u[j] + radius * math.sqrt(near[j])


@compiled_apart
def offer(found: Found, value: float, square: float, i: int, j: int) -> None:
    """Replace the incumbent by a pair of larger value; at equal value, wider; equally wide, first in row order."""
    if value < found.value[0] or (value == found.value[0] and square < found.value[1]):
        return
    first, second = min(i, j), max(i, j)
    if value == found.value[0] and square == found.value[1]:
        if found.pair[0] == found.pair[1]:
            return  # an arm against itself
        if first > found.pair[0] or (first == found.pair[0] and second > found.pair[1]):
            return
    take(found, value, square, first, second)


@compiled_apart
def take(found: Found, value: float, square: float, i: int, j: int) -> None:
    """Make (i, j) the incumbent."""
    found.pair[0], found.pair[1] = min(i, j), max(i, j)
    found.value[0], found.value[1] = value, square
