"""Exact searches over the pairs of very many arms: the answers of `pairs`, without looking at every pair.

Arms are columns of v (dim, n_arms), as in `pairs`. With r_i the distance of arm i from any centre,
u_i + u_j + radius |v_i - v_j| <= s_i + s_j for s_i = u_i + radius r_i. A good pair is found by climbing
among the arms of largest s; arms that no partner can lift to its value are dropped; the rest, sorted by s,
meet in blocks (`filters`) until s_i + s_j falls below the best value. Every bound allows for rounding and
values are computed by the expressions of `pairs`, so answers, ties included, are the same to the last bit.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart, plain_int
from duelist.kernels import all_pairs
from duelist.kernels.fields import (
    Field,
    field_of,
    one_point,
    rounding_noise,
    sample_mean,
    squared_width,
    squared_widths,
    upper_bounds,
)
from duelist.kernels.filters import (
    ANY_WIDER,
    BEST,
    BEST_WIDE,
    RANDOM_WIDE,
    ROWS,
    WIDEST,
    Aim,
    Found,
    add_utilities,
    allowance,
    fill_left,
    filter_bound,
    nothing_found,
    offer,
    pack_bound,
    pack_features,
    reach,
    scan,
    tile_width,
)
from duelist.kernels.order import all_equal, descending, largest, largest_size, picked
from duelist.kernels.random import below

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

_CLIMBERS: Final = 1024
_CLIMBS: Final = 32
_CLIMBERS_A_CLIMB: Final = 32
_CLIMB_STEPS: Final = 8
_FIRST_ROWS: Final = 16
_FIRST_DRAWS: Final = 64
_FAR_STEPS: Final = 4


@compiled_apart
def best_pair(u: Vector, v: Matrix, radius: float) -> tuple[int, int, float]:
    """argmax over i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum: as `all_pairs.best_pair`."""
    first, second, value, _ = search_best(u, v, radius, np.float32, np.int32, 1.0)
    return first, second, value


@compiled_apart
def widest_pair(v: Matrix) -> tuple[int, int, float]:
    """The pair with the largest width, and its squared width: as `all_pairs.widest_pair`."""
    first, second, square, _ = search_widest(v, np.float32, np.int32, 1.0)
    return first, second, square


@compiled_apart
def search_best(
    u: Vector, v: Matrix, radius: float, real: Any, integer: Any, slack: float
) -> tuple[int, int, float, int]:
    """`best_pair`, and how many pairs were examined.

    `real` and `integer` are the float type of the filter and the integer type of its size; `slack` times the
    proven allowance for rounding is used (1; other values are for tests).
    """
    top = all_pairs.argmax(u)
    found = nothing_found(top, u[top] + u[top])
    if not _search(u, v, plain_int(BEST), radius, found, real, integer, slack):
        first, second, value = all_pairs.best_pair(u, v, radius)
        return first, second, value, u.size * (u.size - 1) // 2
    return found.pair[0], found.pair[1], found.value[0], found.tally[1]


@compiled_apart
def search_widest(v: Matrix, real: Any, integer: Any, slack: float) -> tuple[int, int, float, int]:
    """`widest_pair`, and how many pairs were examined; the other arguments as in `search_best`."""
    found = nothing_found(plain_int(0), 0.0)
    n = v.shape[1]
    if not _search(np.zeros(n), v, plain_int(WIDEST), 1.0, found, real, integer, slack):
        first, second, square = all_pairs.widest_pair(v)
        return first, second, square, n * (n - 1) // 2
    return found.pair[0], found.pair[1], found.value[0], found.tally[1]


@compiled_apart
def _search(
    u: Vector, v: Matrix, goal: int, radius: float, found: Found, real: Any, integer: Any, slack: float
) -> bool:
    """Best or widest pair into `found`; False, and nothing done, where squared widths overflow."""
    n = u.size
    centre = sample_mean(v)
    everyone = np.arange(n)
    key, far = upper_bounds(u, v, radius, centre, everyone)
    aim = Aim(goal, radius, 0.0, rounding_noise(v.shape[0], largest_size(u), radius, far))
    if not math.isfinite(4.0 * far * far) or not math.isfinite(aim.noise):
        return False
    if far == 0.0 and one_point(v):
        return True  # no pair is worth more than the best arm against itself
    midpoint = climb(field_of(u, v, key, everyone, leaders(key)), aim, found)
    kept = reaching(key, reach(aim, found))
    key = picked(key, kept)
    order = descending(key)
    if kept.size > ROWS:  # where utilities matter, a centre between the arms of good pairs leaves far fewer pairs
        other_key, other_far = upper_bounds(u, v, radius, midpoint, kept)
        aim = Aim(goal, radius, 0.0, max(aim.noise, rounding_noise(v.shape[0], largest_size(u), radius, other_far)))
        bound, other_order = reach(aim, found), descending(other_key)
        if pairs_left(picked(other_key, other_order), bound) < pairs_left(picked(key, order), bound):
            left = reaching(other_key, bound).size  # the others come last in the order
            key, order, centre, far = other_key, other_order[:left], midpoint, other_far
    field = field_of(u, v, key, kept, order)
    sweep(field, aim, found, centre, far, np.zeros(4, np.uint64), real, integer, slack)
    return True


@compiled_apart
def best_wide_pair(u: Vector, v: Matrix, threshold: float) -> tuple[int, int]:
    """Among pairs wider than `threshold` the largest u_i + u_j, then the wider: as `all_pairs.best_wide_pair`."""
    first, second, _ = search_best_wide(u, v, threshold, np.float32, np.int32, 1.0)
    return first, second


@compiled_apart
def search_best_wide(
    u: Vector, v: Matrix, threshold: float, real: Any, integer: Any, slack: float
) -> tuple[int, int, int]:
    """`best_wide_pair`, and how many pairs were examined; the other arguments as in `search_best`.

    Arms meet by falling u, first the leading ones, so that the wide pairs found rule out most others.
    """
    n = u.size
    if all_equal(u):  # as before the first outcome: every sum is the same, and the widest pair wins
        i, j, square, examined = search_widest(v, real, integer, slack)
        return (i, j, examined) if square > threshold * threshold else (plain_int(0), plain_int(0), examined)
    centre, _, far, aim, kept = spread_arms(v, plain_int(BEST_WIDE), threshold)
    if not math.isfinite(4.0 * far * far):
        i, j = all_pairs.best_wide_pair(u, v, threshold)
        return i, j, n * (n - 1) // 2
    found = nothing_found(plain_int(0), -math.inf)
    i, j, square, examined = search_wider(v, threshold, real, integer, slack)
    found.tally[1] += examined
    if i == j:  # no width above the threshold: no square above its square, but for rounding
        i, j, square, examined = search_widest(v, real, integer, slack)
        found.tally[1] += examined
    if not square > threshold * threshold:
        return plain_int(0), plain_int(0), found.tally[1]
    offer(found, u[i] + u[j], square, i, j)
    own = picked(u, kept)
    chosen = leaders(own)
    while chosen.size > 1:
        field = field_of(u, v, picked(own, chosen), picked(kept, chosen), np.arange(chosen.size))
        sweep(field, aim, found, centre, far, np.zeros(4, np.uint64), real, integer, slack)
        rest = reaching(own, found.value[0])
        if rest.size <= chosen.size:  # the largest u, all of them met
            break
        chosen = picked(rest, descending(picked(own, rest)))
    return found.pair[0], found.pair[1], found.tally[1]


@compiled_apart
def random_wide_pair(v: Matrix, threshold: float, words: NDArray[np.uint64]) -> tuple[int, int]:
    """A pair drawn uniformly from those wider than `threshold`; (0, 0) if there are none."""
    first, second, _ = search_random_wide(v, threshold, words, np.float32, np.int32, 1.0)
    return first, second


@compiled_apart
def search_random_wide(
    v: Matrix, threshold: float, words: NDArray[np.uint64], real: Any, integer: Any, slack: float
) -> tuple[int, int, int]:
    """`random_wide_pair`, and how many pairs were examined; the other arguments as in `search_best`.

    Pairs are drawn until one is wide: among all arms, then among those that can be in a wide pair.
    Where wide pairs are too rare for that, one pass over what can be wide keeps the k-th with chance 1/k.
    """
    n = v.shape[1]
    limit = threshold * threshold
    i, j, tried = draw_wide(v, np.arange(n), limit, plain_int(_FIRST_DRAWS), words)
    if i != j:
        return i, j, tried
    centre, key, far, aim, kept = spread_arms(v, plain_int(RANDOM_WIDE), threshold)
    if not math.isfinite(4.0 * far * far):
        wide = all_pairs.count_wide_pairs(v, threshold)
        i, j = all_pairs.wide_pair_at(v, threshold, below(words, max(wide, 1)))
        return i, j, tried + n * (n - 1)
    i, j, more = draw_wide(v, kept, limit, kept.size, words)
    if i != j or kept.size < 2:
        return i, j, tried + more
    found = nothing_found(plain_int(0), 0.0)
    field = field_of(np.zeros(n), v, key, kept, descending(key))
    sweep(field, aim, found, centre, far, words, real, integer, slack)
    return found.pair[0], found.pair[1], tried + more + found.tally[1]


@compiled_apart
def draw_wide(v: Matrix, arm: Ints, limit: float, tries: int, words: NDArray[np.uint64]) -> tuple[int, int, int]:
    """The first wide pair among at most `tries` drawn from the given arms, and how many were; (0, 0) if none."""
    n = arm.size
    if n < 2:
        return 0, 0, 0
    for tried in range(tries):
        a = below(words, n)
        b = below(words, n - 1)
        i, j = arm[a], arm[b + 1 if b >= a else b]
        if squared_width(v, i, j) > limit:
            return min(i, j), max(i, j), tried + 1
    return 0, 0, tries


@compiled_apart
def wider_pair(v: Matrix, threshold: float) -> tuple[int, int, float]:
    """Some pair with |v_i - v_j|^2 > threshold^2 and its squared width; (0, 0, 0) if all widths are within it."""
    first, second, square, _ = search_wider(v, threshold, np.float32, np.int32, 1.0)
    return first, second, square


@compiled_apart
def all_within(v: Matrix, threshold: float) -> bool:
    """Whether no squared width exceeds that of `threshold`."""
    first, second, _ = wider_pair(v, threshold)
    return first == second


@compiled_apart
def search_wider(v: Matrix, threshold: float, real: Any, integer: Any, slack: float) -> tuple[int, int, float, int]:
    """`wider_pair`, and how many pairs were examined; the other arguments as in `search_best`.

    The arm farthest from the centre, and the one farthest from that, are wide apart if any are.
    """
    n = v.shape[1]
    if threshold < 0.0 and n > 1:
        return plain_int(0), plain_int(1), squared_width(v, plain_int(0), plain_int(1)), plain_int(1)
    centre, key, far, aim, kept = spread_arms(v, plain_int(ANY_WIDER), threshold)
    if not math.isfinite(4.0 * far * far):
        i, j, square = all_pairs.widest_pair(v)
        wide = square > threshold * threshold
        return (i, j, square, n * (n - 1) // 2) if wide else (plain_int(0), plain_int(0), 0.0, n * (n - 1) // 2)
    found = nothing_found(plain_int(0), 0.0)
    if kept.size > 1:
        value = np.empty(n)
        start = kept[all_pairs.argmax(key)]
        for _ in range(_FAR_STEPS):
            near = squared_widths(v, start, plain_int(0), n, value)
            partner = all_pairs.argmax(near)
            found.tally[1] += n - 1
            if partner != start and near[partner] > threshold * threshold:
                return min(start, partner), max(start, partner), near[partner], found.tally[1]
            start = partner
        field = field_of(np.zeros(n), v, key, kept, descending(key))
        sweep(field, aim, found, centre, far, np.zeros(4, np.uint64), real, integer, slack)
    return found.pair[0], found.pair[1], found.value[0], found.tally[1]


@compiled_apart
def spread_arms(v: Matrix, goal: int, threshold: float) -> tuple[Vector, Vector, float, Aim, Ints]:
    """A centre, the arms that can be in a pair wider than `threshold`, their distances, the largest, and the aim."""
    n = v.shape[1]
    centre = sample_mean(v)
    distance, far = upper_bounds(np.zeros(n), v, 1.0, centre, np.arange(n))
    aim = Aim(goal, 1.0, abs(threshold), rounding_noise(v.shape[0], 0.0, 1.0, far))
    kept = reaching(distance, abs(threshold) - aim.noise)
    return centre, picked(distance, kept), far, aim, kept


@compiled_apart
def sweep(
    field: Field,
    aim: Aim,
    found: Found,
    centre: Vector,
    far: float,
    words: NDArray[np.uint64],
    real: Any,
    integer: Any,
    slack: float,
) -> None:
    """All pairs of the field whose keys can reach the bound: filtered in blocks, examined, offered to `found`.

    `far` is the largest distance from `centre`.
    """
    dim, n = field.v.shape
    u = field.u if aim.goal == BEST else np.zeros(n)  # widths are filtered for their own sake
    scale = aim.radius * far + largest_size(u) + abs(filter_bound(aim, found))
    if scale == 0.0:
        scale = 1.0
    raised = slack * allowance(dim, real)
    factors, square = np.empty((n, dim + 3), real), np.empty(n)
    pack_features(field, centre, aim.radius, scale, factors, square)
    left, tile = np.empty((ROWS, dim + 3), real), tile_width(dim)
    product = np.empty(ROWS * tile, real)
    signs = product.view(integer)
    packed, start, rows = -math.inf, plain_int(0), _FIRST_ROWS
    while start + 1 < n and field.key[start] + field.key[start + 1] >= reach(aim, found):
        if filter_bound(aim, found) > packed:
            packed = filter_bound(aim, found)
            pack_bound(u, packed, scale, raised, aim, square, factors)
        count = min(rows, n - start)
        fill_left(factors, start, left[:count], -2.0)
        column = start
        while column < n:
            width = reachable(field.key, start, column, min(column + tile, n), reach(aim, found))
            if width == 0:
                break
            size = count * width
            np.dot(left[:count], factors[column : column + width].T, product[:size].reshape(count, width))
            scan(field, aim, found, signs[:size].reshape(count, width), start, column, words)
            column += width
        if aim.goal == ANY_WIDER and found.pair[0] != found.pair[1]:
            return
        start += count
        rows = min(2 * rows, ROWS)


@compiled_apart
def climb(field: Field, aim: Aim, found: Found) -> Vector:
    """Offer the pairs reached by going to the best partner, again and again, from the first arms of the field.

    Gives the mean midpoint of the first pairs of all climbs.
    """
    dim, n = field.v.shape
    starts = max(1, min(_CLIMBS, n // _CLIMBERS_A_CLIMB))
    midpoint, value = np.zeros(dim), np.empty(n)
    for start in range(starts):
        arm, height = plain_int(start), -math.inf
        for step in range(_CLIMB_STEPS):
            near = squared_widths(field.v, arm, plain_int(0), n, value)
            if aim.goal == BEST:
                add_utilities(field, aim.radius, arm, plain_int(0), near)
            partner = all_pairs.argmax(near)
            if step == 0:
                for k in range(dim):
                    midpoint[k] += 0.5 * (field.v[k, arm] + field.v[k, partner]) / starts
            if partner == arm or not near[partner] > height:
                break
            height = near[partner]
            offer(found, height, 0.0, field.arm[arm], field.arm[partner])
            arm = partner
        found.tally[1] += (step + 1) * (n - 1)
    return midpoint


@compiled_apart
def reaching(key: Vector, bound: float) -> Ints:
    """Positions i with key_i + max key >= bound, ascending."""
    top = key[all_pairs.argmax(key)]
    kept = np.empty(key.size, np.int64)
    count = 0
    for i in range(key.size):
        if key[i] + top >= bound:
            kept[count] = i
            count += 1
    return kept[:count].copy()


@compiled_apart
def pairs_left(key: Vector, bound: float) -> int:
    """How many pairs have key_i + key_j >= bound; keys fall."""
    count, partner = 0, key.size
    for i in range(key.size):
        while partner > 0 and key[i] + key[partner - 1] < bound:
            partner -= 1
        if partner <= i + 1:
            break
        count += partner - i - 1
    return count


@compiled_apart
def leaders(key: Vector) -> Ints:
    """Positions of the _CLIMBERS largest keys, largest first."""
    if key.size <= _CLIMBERS:
        return descending(key)
    chosen = largest(key, _CLIMBERS)
    return picked(chosen, descending(picked(key, chosen)))


@compiled_apart
def reachable(key: Vector, row: int, start: int, stop: int, bound: float) -> int:
    """How many of the positions start .. stop - 1, by falling key, have key_row + key >= bound."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if key[row] + key[middle] >= bound:
            low = middle + 1
        else:
            high = middle
    return low - start
