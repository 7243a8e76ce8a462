"""Arms that no other arm rules out, among very many: the set of `all_pairs.undominated`.

Arm j rules out arm i if u_i - u_j + r |v_i - v_j| < 0. This is an order by a cone, so that an arm
ruled out need not be tried as a rival: whom it rules out, its own rival rules out as well. Rivals come by falling
u, in blocks that grow, and the arms they rule out leave. Rounding could break the chain; an arm therefore only
leaves where it is ruled out by three times the rounding error, and otherwise stays as a rival.

A block of pairs is filtered by the sign of N_ij = r^2 |v_i - v_j|^2 - (u_i - u_j)^2, negative if one arm rules
out the other: a product as in `filters`, with lowered instead of raised diagonal terms. Leaving features out
makes N smaller and loses no pair; sixteen features nearly always tell as much as all.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart, plain_int
from duelist.kernels import all_pairs
from duelist.kernels.fields import (
    Field,
    field_of,
    picked_columns,
    rounding_noise,
    sample_mean,
    squared_widths,
    upper_bounds,
)
from duelist.kernels.filters import CHUNK, ROWS, UNDERFLOW, allowance, fill_left, pack_features, tile_width
from duelist.kernels.order import descending, largest_size, picked

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEATURES: Final = 16
_FIRST_RIVALS: Final = 4
_CROWDED: Final = 8
_FREE, _RULED_OUT, _GONE = 0, 1, 2


class Contest(NamedTuple):
    """Radius, rounding error of a comparison, fate of every arm, and what changes on the way.

    `pace` holds the rivals of the next block and the features its filter looks at; `tally` the pairs
    examined, the chunks of the last block, and how many of these were computed exactly.
    """

    radius: float
    noise: float
    fate: NDArray[np.int8]
    pace: Ints
    tally: Ints


@compiled_apart
def undominated(u: Vector, v: Matrix, radius: float, kept: Ints, lipschitz: float = math.inf) -> int:
    """Arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j: listed in `kept`, counted.

    The answer of `all_pairs.undominated`. If it is known that |u_i - u_j| <= lipschitz |v_i - v_j| for all arms (for
    u = w . v it is |w|), and this does not exceed the radius, no arm is ruled out and none is looked at.
    """
    count, _ = search_undominated(u, v, radius, kept, lipschitz, np.float32, np.int32, 1.0)
    return count


@compiled_apart
def search_undominated(
    u: Vector, v: Matrix, radius: float, kept: Ints, lipschitz: float, real: Any, integer: Any, slack: float
) -> tuple[int, int]:
    """`undominated`, and how many pairs were examined.

    `real` and `integer` are the float type of the filter and the integer type of its size; `slack` times the
    proven allowance for rounding is used (1; other values are for tests).
    """
    dim, n = v.shape
    if lipschitz * (1.0 + (dim + 8) * 2.0**-52) <= radius:
        for i in range(n):
            kept[i] = i
        return n, 0
    centre = sample_mean(v)
    everyone = np.arange(n)
    _, far = upper_bounds(u, v, radius, centre, everyone)
    noise = rounding_noise(dim, largest_size(u), radius, far)
    if not math.isfinite(4.0 * far * far) or not math.isfinite(4.0 * noise):
        return all_pairs.undominated(u, v, radius, kept), n * (n - 1) // 2
    pace = np.array([_FIRST_RIVALS, min(dim, _FEATURES)])
    contest = Contest(radius, noise, np.zeros(n, np.int8), pace, np.array([n - 1, 0, 0]))
    everyone_by_number = Field(everyone, u, v, u)
    rule_out(everyone_by_number, contest, all_pairs.argmax(u), plain_int(0), n, np.empty(n))
    field = rest(everyone_by_number, contest.fate, plain_int(0))
    field = field_of(u, v, field.u, field.arm, descending(field.u))
    while field.arm.size > 1:
        reached = meet(field, contest, centre, far, real, integer, slack)
        field = rest(field, contest.fate, reached)
    count = 0
    for i in range(n):
        if contest.fate[i] == _FREE:
            kept[count] = i
            count += 1
    return count, contest.tally[0]


@compiled_apart
def meet(field: Field, contest: Contest, centre: Vector, far: float, real: Any, integer: Any, slack: float) -> int:
    """Arms in falling order of u as rivals of all later ones, block by block; how many were rivals.

    Stops early where enough arms left that the others should close ranks, or where more features are needed.
    """
    n, features = field.arm.size, contest.pace[1]
    scale = contest.radius * far + abs(field.u[0] - field.u[n - 1])
    if scale == 0.0:
        scale = 1.0
    factors = np.empty((n, features + 3), real)
    pack_cone(field, contest, centre, scale, slack * allowance(features, real), factors)
    left, tile = np.empty((ROWS, features + 3), real), tile_width(features)
    product = np.empty(ROWS * tile, real)
    signs = product.view(integer)
    start = plain_int(0)
    while start < n:
        count = min(contest.pace[0], n - start)
        contest.pace[0] = min(4 * contest.pace[0], ROWS)
        contest.tally[1], contest.tally[2] = 0, 0
        fill_left(factors, start, left[:count], 2.0)
        for column in range(start, n, tile):
            width = min(tile, n - column)
            size = count * width
            np.dot(left[:count], factors[column : column + width].T, product[:size].reshape(count, width))
            scan_cone(field, contest, signs[:size].reshape(count, width), start, column)
        start += count
        if _CROWDED * contest.tally[2] > contest.tally[1] and features < field.v.shape[0]:
            contest.pace[1] = min(2 * features, field.v.shape[0])
            break
        if _CROWDED * gone(field, contest.fate, start) > n - start:
            break
    return start


@compiled_apart
def pack_cone(field: Field, contest: Contest, centre: Vector, scale: float, slack: float, factors: Any) -> None:
    """Rows (r (v - c), h, a, 1) / scale with h = u - (largest + smallest u) / 2 and a = r^2 |v - c|^2 - h^2, lowered.

    Rounding can hide an order from a comparison by the noise: (r |v_i - v_j|)^2 < (|u_i - u_j| + noise)^2, where
    |u_i - u_j| <= |h_i| + |h_j|.
    """
    n, features = field.arm.size, factors.shape[1] - 3
    square = np.empty(n)
    pack_features(field, centre, contest.radius, scale, factors, square)
    middle, noise = 0.5 * (field.u[0] + field.u[n - 1]), contest.noise / scale
    for i in range(n):
        h = (field.u[i] - middle) / scale
        lowered = slack * (square[i] + h * h) + 2.0 * noise * abs(h) + noise * noise + UNDERFLOW
        factors[i, features] = h
        factors[i, features + 1] = square[i] - h * h - lowered


@compiled_apart
def scan_cone(field: Field, contest: Contest, signs: Any, row: int, column: int) -> None:
    """Compare exactly where a sign bit is set; rivals are the rows from `row`, arms the columns from `column` on."""
    square = np.empty(CHUNK)
    rivals, arms = signs.shape
    for i in range(rivals):
        contest.tally[0] += max(0, column + arms - max(column, row + i + 1))
        if contest.fate[field.arm[row + i]] == _GONE:
            continue
        for start in range(0, arms, CHUNK):
            chunk = signs[i, start : start + CHUNK]
            any_of_them = chunk[0]
            for j in range(1, chunk.size):
                any_of_them |= chunk[j]
            contest.tally[1] += 1
            first, stop = max(column + start, row + i + 1), column + start + chunk.size
            if any_of_them < 0 and first < stop:
                contest.tally[2] += 1
                rule_out(field, contest, row + i, first, stop, square)


@compiled_apart
def rule_out(field: Field, contest: Contest, rival: int, start: int, stop: int, square: Vector) -> None:
    """The fate of the arms start .. stop - 1 after meeting the rival."""
    near = squared_widths(field.v, rival, start, stop, square)
    own = field.u[rival]
    for j in range(near.size):
        lead = field.u[start + j] - own + contest.radius * math.sqrt(near[j])
        if lead < 0.0:
            arm = field.arm[start + j]
            if lead < -3.0 * contest.noise:
                contest.fate[arm] = _GONE
            elif contest.fate[arm] == _FREE:
                contest.fate[arm] = _RULED_OUT


@compiled_apart
def gone(field: Field, fate: NDArray[np.int8], start: int) -> int:
    """How many arms of the field from position `start` on have left."""
    count = 0
    for i in range(start, field.arm.size):
        if fate[field.arm[i]] == _GONE:
            count += 1
    return count


@compiled_apart
def rest(field: Field, fate: NDArray[np.int8], start: int) -> Field:
    """The arms from position `start` on that have not left, in their order."""
    left = np.empty(field.arm.size - start - gone(field, fate, start), np.int64)
    count = 0
    for i in range(start, field.arm.size):
        if fate[field.arm[i]] != _GONE:
            left[count] = i
            count += 1
    return Field(picked(field.arm, left), picked(field.u, left), picked_columns(field.v, left), picked(field.key, left))
