"""The best pair when the bonus of a pair shrinks as it becomes known.

A pair of width w whose utilities differ by D is worth

    u_i + u_j + w sqrt(stretch (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),    L = log(1 + N mu'(D) w^2),

where 1 / (mu' w^2) is the number of comparisons of that pair that would teach as much as is known about it, so
L is the logarithm of the rounds N per comparison already made. The bonus grows with w and is at most the one
with the largest slope and the largest width; that bound says which pairs need the logarithms at all.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart, plain_int
from duelist.kernels.all_pairs import argmax, squared_widths
from duelist.kernels.many import MANY_ARMS
from duelist.kernels.pairs import best_pair
from duelist.kernels.scratch import Scratch
from duelist.links import slope

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_ROUNDING: Final = 1e-12
_CERTAINTY: Final = 0.2
"""The power of the slope by which a bonus is smaller where an outcome is nearly certain."""
_MOST_GUESSES: Final = 5


@compiled
def radius_of(square: float, gap: float, link: int, stretch: float, horizon: float) -> float:
    """The bonus of a pair of squared width `square` whose utilities differ by `gap`, divided by its width."""
    slope_there = slope(link, gap)
    rounds = math.log1p(horizon * slope_there * square)
    boundary = max(rounds - math.log1p(rounds), 0.0)
    return math.sqrt(stretch * (slope_there / slope(link, 0.0)) ** _CERTAINTY * boundary)


@compiled
def best_local_pair(
    u: Vector, v: Matrix, link: int, stretch: float, horizon: float, scratch: Scratch
) -> tuple[int, int]:
    """argmax over i <= j of the worth of a pair; equal ones: the first.

    From `MANY_ARMS` arms on, an approximation that prunes: see `_found_among_many`.
    """
    if u.size >= MANY_ARMS:
        return _found_among_many(u, v, link, stretch, horizon, scratch)
    return _best_of_few(u, v, link, stretch, horizon, scratch)


@compiled
def _best_of_few(u: Vector, v: Matrix, link: int, stretch: float, horizon: float, scratch: Scratch) -> tuple[int, int]:
    n = u.size
    top = argmax(u)
    reach, line = scratch.reach[:n], scratch.line[:n]
    squared_widths(v, top, plain_int(0), reach)
    most = radius_of(4.0 * reach[argmax(reach)], 0.0, link, stretch, horizon)
    first, second, best = top, top, 2.0 * u[top]
    for j in range(n):
        square = reach[j]
        if square > 0.0 and u[top] + u[j] + most * math.sqrt(square) > best:
            value = worth(u, top, j, square, link, stretch, horizon)
            if value > best:
                first, second, best = min(top, j), max(top, j), value
        reach[j] = u[j] + most * math.sqrt(square)
    farthest = reach[argmax(reach)]
    floor = best - farthest - _ROUNDING * (abs(best) + abs(farthest))
    for i in range(n):
        if reach[i] < floor or i == top:
            continue
        for k in range(squared_widths(v, i, i + 1, line)):
            square, j = line[k], i + 1 + k
            if u[i] + u[j] + most * math.sqrt(square) < best or square == 0.0 or j == top:
                continue
            value = worth(u, i, j, square, link, stretch, horizon)
            if value > best or (value == best and (i < first or (i == first and j < second))):
                first, second, best = i, j, value
    return first, second


@compiled
def worth(u: Vector, i: int, j: int, square: float, link: int, stretch: float, horizon: float) -> float:
    """What a pair of squared width `square` is worth."""
    return u[i] + u[j] + math.sqrt(square) * radius_of(square, u[i] - u[j], link, stretch, horizon)


@compiled_apart
def _found_among_many(
    u: Vector, v: Matrix, link: int, stretch: float, horizon: float, scratch: Scratch
) -> tuple[int, int]:
    """The best of some good pairs, by their true worth; not always the best of all.

    They are: all pairs of the arm with the largest utility; and the best pair for one radius (first that of the widest pair,
    which is too large for every other), then for the radius of that pair, and so on a few times. Each is found by a search that
    prunes.
    """
    n = u.size
    top = argmax(u)
    reach = scratch.reach[:n]
    squared_widths(v, top, plain_int(0), reach)
    radius = radius_of(4.0 * reach[argmax(reach)], 0.0, link, stretch, horizon)
    first, second, best = top, top, 2.0 * u[top]
    for j in range(n):
        value = worth(u, top, j, reach[j], link, stretch, horizon)
        if reach[j] > 0.0 and value > best:
            first, second, best = min(top, j), max(top, j), value
    i, j = top, top
    for _ in range(_MOST_GUESSES):
        if radius == 0.0:  # nothing is left to learn
            break
        before = i, j
        i, j, total = best_pair(u, v, radius, scratch)
        if i == j or (i, j) == before:
            break
        square = ((total - u[i] - u[j]) / radius) ** 2
        value = worth(u, i, j, square, link, stretch, horizon)
        if value > best:
            first, second, best = i, j, value
        radius = radius_of(square, u[i] - u[j], link, stretch, horizon)
    return first, second
