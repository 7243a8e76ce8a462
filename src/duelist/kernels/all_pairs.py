"""Searches that try every pair: what the faster ones must agree with, and what they end in.

Arms come as columns of v = R'^-1 X', shape (dim, n_arms), so that the width of a pair is the
Euclidean distance of its columns. Each search walks the pairs i < j row by row: the squared
distances from arm i to all later arms are one vector operation, then one scan reads them.
Ties go to the first pair in that order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled_apart
def squared_widths(v: Matrix, i: int, start: int, out: Vector) -> int:
    """out[k] = |v_i - v_{start + k}|^2 for all arms from `start` on; how many they are."""
    dim = v.shape[0]
    count = v.shape[1] - start
    # Slices counted from 0 let the compiler use vector instructions; v[k, start + j] would not.
    near = out[:count]
    for j in range(count):
        near[j] = 0.0
    for k in range(dim):
        centre = v[k, i]
        row = v[k, start:]
        for j in range(count):
            gap = row[j] - centre
            near[j] += gap * gap
    return count


@compiled
def best_pair(u: Vector, v: Matrix, radius: float) -> tuple[int, int, float]:
    """argmax over i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum.

    An arm may meet itself (width 0), so the search starts from the best single arm.
    """
    return best_of_all_pairs(u, v, radius, np.empty(u.size))


@compiled_apart
def best_of_all_pairs(u: Vector, v: Matrix, radius: float, line: Vector) -> tuple[int, int, float]:
    """`best_pair`; `line` is room for a number an arm."""
    n = u.size
    first = argmax(u)
    second = first
    best = u[first] + u[first]
    for i in range(n - 1):
        count = squared_widths(v, i, i + 1, line)
        own = u[i]
        later = u[i + 1 :]
        value = line[:count]
        for j in range(count):
            value[j] = own + later[j] + radius * math.sqrt(value[j])
        for j in range(count):
            if value[j] > best:
                first, second, best = i, i + 1 + j, value[j]
    return first, second, best


@compiled
def widest_pair(v: Matrix) -> tuple[int, int, float]:
    """The pair with the largest width, and its squared width; (0, 0, 0) for a single arm."""
    return widest_of_all_pairs(v, np.empty(v.shape[1]))


@compiled_apart
def widest_of_all_pairs(v: Matrix, line: Vector) -> tuple[int, int, float]:
    """`widest_pair`; `line` is room for a number an arm."""
    n = v.shape[1]
    first, second, best = 0, 0, 0.0
    for i in range(n - 1):
        count = squared_widths(v, i, i + 1, line)
        for j in range(count):
            if line[j] > best:
                first, second, best = i, i + 1 + j, line[j]
    return first, second, best


@compiled_apart
def best_wide_pair(u: Vector, v: Matrix, threshold: float) -> tuple[int, int]:
    """Among pairs wider than `threshold`, the largest u_i + u_j; equal sums: the wider pair."""
    n = u.size
    limit = threshold * threshold
    first, second = 0, 0
    best, best_square = -math.inf, 0.0
    square = np.empty(n)
    for i in range(n - 1):
        count = squared_widths(v, i, i + 1, square)
        later = u[i + 1 :]
        for j in range(count):
            if square[j] > limit:
                value = u[i] + later[j]
                if value > best or (value == best and square[j] > best_square):
                    first, second, best, best_square = i, i + 1 + j, value, square[j]
    return first, second


@compiled_apart
def count_wide_pairs(v: Matrix, threshold: float) -> int:
    """How many pairs are wider than `threshold`."""
    n = v.shape[1]
    limit = threshold * threshold
    wide = 0
    square = np.empty(n)
    for i in range(n - 1):
        count = squared_widths(v, i, i + 1, square)
        for j in range(count):
            if square[j] > limit:
                wide += 1
    return wide


@compiled_apart
def wide_pair_at(v: Matrix, threshold: float, position: int) -> tuple[int, int]:
    """The wide pair number `position` (from 0) in row order."""
    n = v.shape[1]
    limit = threshold * threshold
    square = np.empty(n)
    for i in range(n - 1):
        count = squared_widths(v, i, i + 1, square)
        for j in range(count):
            if square[j] > limit:
                if position == 0:
                    return i, i + 1 + j
                position -= 1
    return 0, 0


@compiled_apart
def undominated(u: Vector, v: Matrix, radius: float, kept: Ints) -> int:
    """Arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j: listed in `kept`, counted.

    Only arms with a larger u can rule i out, and the best arm of all most often does, so it is
    met first.
    """
    n = u.size
    best = argmax(u)
    count = 0
    for i in range(n):
        if rules_out(u, v, radius, best, i):
            continue
        survives = True
        for j in range(n):
            if u[j] > u[i] and rules_out(u, v, radius, j, i):
                survives = False
                break
        if survives:
            kept[count] = i
            count += 1
    return count


@compiled
def rules_out(u: Vector, v: Matrix, radius: float, rival: int, arm: int) -> bool:
    """Whether u_arm - u_rival + radius |v_arm - v_rival| < 0."""
    square = 0.0
    for k in range(v.shape[0]):
        gap = v[k, arm] - v[k, rival]
        square += gap * gap
    return u[arm] - u[rival] + radius * math.sqrt(square) < 0.0


@compiled
def argmax(values: Vector) -> int:
    """Position of the first largest value."""
    best, top = 0, values[0]
    for i in range(1, values.size):
        if values[i] > top:
            best, top = i, values[i]
    return best
