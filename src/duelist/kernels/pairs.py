"""Pairs of whitened arms: the best, the widest, the wide ones; arms no other arm rules out.

Arms come as columns of v = R'^-1 X', shape (dim, n_arms), so that the width of a pair is the
Euclidean distance of its columns. The answers are those of `all_pairs`, to the bit: arms are dropped
only if a bound, with room for rounding, says that no pair with them can win, and those left are
walked in the same order with the same arithmetic. From `MANY_ARMS` arms on, `search` does the work.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart, plain_int
from duelist.kernels import many
from duelist.kernels.all_pairs import (
    argmax,
    best_of_all_pairs,
    count_wide_pairs,
    rules_out,
    squared_widths,
    wide_pair_at,
    widest_of_all_pairs,
)
from duelist.kernels.random import below
from duelist.kernels.scratch import Scratch
from duelist.kernels.views import as_matrix

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

MANY_ARMS: Final = many.MANY_ARMS
_ROUNDING: Final = 1e-12
"""Relative room for rounding in a bound: thousands of times what sums of some hundred terms can lose."""
_FEW: Final = 6
"""Arms up to which walking all pairs is quicker than pruning first."""


@compiled_apart
def columns(v: Matrix, kept: Ints, count: int, room: Vector) -> Matrix:
    """The columns of v listed in `kept`, copied to `room`."""
    dim = v.shape[0]
    chosen = as_matrix(room, dim, count)
    for k in range(dim):
        row, out = v[k], chosen[k]
        for a in range(count):
            out[a] = row[kept[a]]
    return chosen


@compiled
def best_pair(u: Vector, v: Matrix, radius: float, scratch: Scratch) -> tuple[int, int, float]:
    """argmax over i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum.

    An arm may meet itself (width 0), so the search starts from the best single arm.
    """
    n = u.size
    if n <= _FEW:
        return best_of_all_pairs(u, v, radius, scratch.line)
    if n >= MANY_ARMS:
        return many.find(scratch.search[0], plain_int(many.BEST), u, v, radius, scratch.kept, scratch.random)
    kept = scratch.kept[:n]
    count = _promising(u, v, radius, kept, scratch)
    near_u = scratch.near_u[:count]
    for a in range(count):
        near_u[a] = u[kept[a]]
    first, second, value = best_of_all_pairs(near_u, columns(v, kept, count, scratch.near), radius, scratch.line)
    return kept[first], kept[second], value


@compiled
def _promising(u: Vector, v: Matrix, radius: float, kept: Ints, scratch: Scratch) -> int:
    """Lists the arms that may be in the best pair, in order; how many they are.

    With c the arm of the largest u and s_i = u_i + radius |v_i - c|, a pair is worth at most s_i + s_j. The
    pairs of c, and of the arm that challenges it most, bound the maximum from below.
    """
    n = u.size
    top = argmax(u)
    reach, line = scratch.reach[:n], scratch.line[:n]
    squared_widths(v, top, plain_int(0), reach)
    for j in range(n):
        reach[j] = u[j] + radius * math.sqrt(reach[j])
    rival = argmax(reach)
    farthest = reach[rival]
    bound = u[top] + farthest
    squared_widths(v, rival, plain_int(0), line)
    own = u[rival]
    for j in range(n):
        line[j] = own + u[j] + radius * math.sqrt(line[j])
    for j in range(n):
        bound = max(bound, line[j])
    largest = max(abs(farthest), abs(bound))
    for j in range(n):
        largest = max(largest, abs(u[j]))
    floor = bound - farthest - _ROUNDING * largest
    count = 0
    for j in range(n):
        kept[count] = j
        count += reach[j] >= floor  # without a branch, which would be guessed wrong half the time
    return count


@compiled
def widest_pair(v: Matrix, room: Vector, scratch: Scratch) -> tuple[int, int, float]:
    """The pair with the largest width, and its squared width; (0, 0, 0) for a single arm.

    With a the arm farthest from the first one, b the arm farthest from a, and c halfway between them: a pair
    is at most |v_i - c| + |v_j - c| wide, and one is |a - b| wide. `room` is for dim numbers an arm.
    """
    dim, n = v.shape
    if n <= _FEW:
        return widest_of_all_pairs(v, scratch.line)
    if n >= MANY_ARMS:
        return many.find(scratch.search[0], plain_int(many.WIDEST), scratch.u, v, 0.0, scratch.kept, scratch.random)
    line, reach, kept = scratch.line[:n], scratch.reach[:n], scratch.kept[:n]
    squared_widths(v, plain_int(0), plain_int(0), line)
    a = argmax(line)
    squared_widths(v, a, plain_int(0), line)
    b = argmax(line)
    bound = math.sqrt(line[b])
    for j in range(n):
        reach[j] = 0.0
    for k in range(dim):
        row = v[k]
        centre = 0.5 * (row[a] + row[b])
        for j in range(n):
            gap = row[j] - centre
            reach[j] += gap * gap
    largest = math.sqrt(reach[argmax(reach)])
    floor = bound - largest - _ROUNDING * largest
    floor = floor * floor if floor > 0.0 else 0.0
    count = 0
    for j in range(n):
        kept[count] = j
        count += reach[j] >= floor
    first, second, square = widest_of_all_pairs(columns(v, kept, count, room), line)
    return kept[first], kept[second], square


@compiled
def all_within(v: Matrix, threshold: float, scratch: Scratch) -> bool:
    """Whether no pair is wider than `threshold`."""
    if v.shape[1] >= MANY_ARMS:
        kind = plain_int(many.ANY_WIDER)
        first, second, _ = many.find(scratch.search[0], kind, scratch.u, v, threshold, scratch.kept, scratch.random)
        return first == second
    line = scratch.line[: v.shape[1]]
    squared_widths(v, plain_int(0), plain_int(0), line)
    farthest = line[argmax(line)]
    if farthest > threshold * threshold:
        return False
    if 4.0 * farthest * (1.0 + _ROUNDING) <= threshold * threshold:
        return True
    return widest_pair(v, scratch.near, scratch)[2] <= threshold * threshold


@compiled
def best_wide_pair(u: Vector, v: Matrix, threshold: float, scratch: Scratch) -> tuple[int, int]:
    """Among pairs wider than `threshold`, the largest u_i + u_j; equal sums: the wider pair, then the first.

    (-1, -1) if no pair is so wide. Arms are taken by falling u, until what is left cannot reach the best sum.
    """
    n = u.size
    if n >= MANY_ARMS:
        kind = plain_int(many.BEST_WIDE)
        i, j, _ = many.find(scratch.search[0], kind, u, v, threshold, scratch.kept, scratch.random)
        return (i, j) if i != j else (-1, -1)
    limit = threshold * threshold
    left, line = scratch.near_u[:n], scratch.line[:n]
    for j in range(n):
        left[j] = u[j]
    first, second, best, best_square = -1, -1, -math.inf, 0.0
    i = argmax(left)
    for _ in range(n - 1):
        left[i] = -math.inf
        runner_up = argmax(left)
        if u[i] + u[runner_up] < best:
            break
        squared_widths(v, i, plain_int(0), line)
        for j in range(n):
            if line[j] > limit and left[j] > -math.inf:
                value = u[i] + u[j]
                if value < best:
                    continue
                low, high = min(i, j), max(i, j)
                wider = line[j] > best_square or (
                    line[j] == best_square and (low < first or (low == first and high < second))
                )
                if value > best or wider:
                    first, second, best, best_square = low, high, value, line[j]
        i = runner_up
    return first, second


@compiled
def random_wide_pair(v: Matrix, threshold: float, words: NDArray[np.uint64], scratch: Scratch) -> tuple[int, int]:
    """A pair drawn uniformly from those wider than `threshold`; (-1, -1) if there are none."""
    if v.shape[1] >= MANY_ARMS:
        kind = plain_int(many.RANDOM_WIDE)
        i, j, _ = many.find(scratch.search[0], kind, scratch.u, v, threshold, scratch.kept, words)
        return (i, j) if i != j else (-1, -1)
    wide = count_wide_pairs(v, threshold)
    if wide == 0:
        return -1, -1
    return wide_pair_at(v, threshold, below(words, wide))


@compiled_apart
def challenger(u: Vector, v: Matrix, champion: int, bonus: float, line: Vector) -> int:
    """argmax over j of u_j + bonus |v_j - v_champion|; the champion may meet itself."""
    n = u.size
    values = line[:n]
    squared_widths(v, champion, plain_int(0), values)
    for j in range(n):
        values[j] = u[j] + bonus * math.sqrt(values[j])
    best = champion
    best_value = u[champion]
    for j in range(n):
        if values[j] > best_value:
            best, best_value = j, values[j]
    return best


@compiled
def undominated(u: Vector, v: Matrix, radius: float, out: Ints, scratch: Scratch) -> int:
    """Arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j: listed in `out`, counted.

    The best arm rules most of them out, so it is met first. An arm that it rules out clearly need not be
    met by the others: whatever it rules out, the best arm does too.
    """
    n = u.size
    if n >= MANY_ARMS:
        return many.find(scratch.search[0], plain_int(many.UNDOMINATED), u, v, radius, out, scratch.random)[0]
    line, margin, rivals = scratch.line[:n], scratch.reach[:n], scratch.kept
    top = argmax(u)
    squared_widths(v, top, plain_int(0), line)
    largest = 0.0
    for j in range(n):
        line[j] = radius * math.sqrt(line[j])
        margin[j] = u[j] - u[top] + line[j]
    for j in range(n):
        largest = max(largest, abs(u[j]), line[j])
    slack = -_ROUNDING * largest
    n_rivals = 0
    for j in range(n):
        rivals[n_rivals] = j
        n_rivals += margin[j] >= slack
    count = 0
    for a in range(n_rivals):
        i = rivals[a]
        survives = margin[i] >= 0.0
        b = 0
        while survives and b < n_rivals:
            j = rivals[b]
            survives = not (u[j] > u[i] and rules_out(u, v, radius, j, i))
            b += 1
        if survives:
            out[count] = i
            count += 1
    return count
