"""Pairs of whitened arms: the best, the widest, the wide ones; arms no other arm rules out.

Arms come as columns of v = L^-1 X', shape (dim, n_arms), so that the width of a pair is the
Euclidean distance of its columns. Each search walks the pairs i < j row by row: the squared
distances from arm i to all later arms are one vector operation, then one scan reads them.
Ties go to the first pair in that order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def squared_widths(v: Matrix, i: int, start: int, out: Vector) -> None:
    """out[j] = |v_i - v_j|^2 for j from `start` on."""
    dim, n = v.shape
    for j in range(start, n):
        out[j] = 0.0
    for k in range(dim):
        centre = v[k, i]
        for j in range(start, n):
            gap = v[k, j] - centre
            out[j] += gap * gap


@compiled
def best_pair(u: Vector, v: Matrix, radius: float) -> tuple[int, int, float]:
    """argmax over i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum.

    An arm may meet itself (width 0), so the search starts from the best single arm.
    """
    n = u.size
    first = 0
    for i in range(1, n):
        if u[i] > u[first]:
            first = i
    second = first
    best = u[first] + u[first]
    value = np.empty(n)
    for i in range(n - 1):
        squared_widths(v, i, i + 1, value)
        for j in range(i + 1, n):
            value[j] = u[i] + u[j] + radius * math.sqrt(value[j])
        for j in range(i + 1, n):
            if value[j] > best:
                first, second, best = i, j, value[j]
    return first, second, best


@compiled
def widest_pair(v: Matrix) -> tuple[int, int, float]:
    """The pair with the largest width, and its squared width; (0, 0, 0) for a single arm."""
    n = v.shape[1]
    first, second, best = 0, 0, 0.0
    square = np.empty(n)
    for i in range(n - 1):
        squared_widths(v, i, i + 1, square)
        for j in range(i + 1, n):
            if square[j] > best:
                first, second, best = i, j, square[j]
    return first, second, best


@compiled
def best_wide_pair(u: Vector, v: Matrix, threshold: float) -> tuple[int, int]:
    """Among pairs wider than `threshold`, the largest u_i + u_j; equal sums: the wider pair."""
    n = u.size
    limit = threshold * threshold
    first, second = 0, 0
    best, best_square = -math.inf, 0.0
    square = np.empty(n)
    for i in range(n - 1):
        squared_widths(v, i, i + 1, square)
        for j in range(i + 1, n):
            if square[j] > limit:
                value = u[i] + u[j]
                if value > best or (value == best and square[j] > best_square):
                    first, second, best, best_square = i, j, value, square[j]
    return first, second


@compiled
def count_wide_pairs(v: Matrix, threshold: float) -> int:
    """How many pairs are wider than `threshold`."""
    n = v.shape[1]
    limit = threshold * threshold
    count = 0
    square = np.empty(n)
    for i in range(n - 1):
        squared_widths(v, i, i + 1, square)
        for j in range(i + 1, n):
            if square[j] > limit:
                count += 1
    return count


@compiled
def wide_pair_at(v: Matrix, threshold: float, position: int) -> tuple[int, int]:
    """The wide pair number `position` (from 0) in row order."""
    n = v.shape[1]
    limit = threshold * threshold
    square = np.empty(n)
    for i in range(n - 1):
        squared_widths(v, i, i + 1, square)
        for j in range(i + 1, n):
            if square[j] > limit:
                if position == 0:
                    return i, j
                position -= 1
    return 0, 0


@compiled
def challenger(u: Vector, v: Matrix, champion: int, bonus: float) -> int:
    """argmax over j of u_j + bonus |v_j - v_champion|; the champion may meet itself."""
    n = u.size
    square = np.empty(n)
    squared_widths(v, champion, 0, square)
    best = champion
    best_value = u[champion]
    for j in range(n):
        value = u[j] + bonus * math.sqrt(square[j])
        if value > best_value:
            best, best_value = j, value
    return best


@compiled
def undominated(u: Vector, v: Matrix, radius: float, kept: NDArray[np.int64]) -> int:
    """Arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j: listed in `kept`, counted.

    The best arm is always among them. Rivals are met in order of falling u, and only those
    with u_j > u_i can rule i out, so a hopeless arm falls to one of the first.
    """
    n = u.size
    order = np.argsort(-u)
    dim = v.shape[0]
    count = 0
    for i in range(n):
        survives = True
        for rank in range(n):
            j = order[rank]
            if u[j] <= u[i]:
                break
            square = 0.0
            for k in range(dim):
                gap = v[k, i] - v[k, j]
                square += gap * gap
            if u[i] - u[j] + radius * math.sqrt(square) < 0.0:
                survives = False
                break
        if survives:
            kept[count] = i
            count += 1
    return count


@compiled
def argmax(values: Vector) -> int:
    """Position of the first largest value."""
    best = 0
    for i in range(1, values.size):
        if values[i] > values[best]:
            best = i
    return best
