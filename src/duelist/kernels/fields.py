"""Arms picked and put in order for a search, their distances from a centre, and what rounding can do to them."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart
from duelist.kernels.order import all_equal, picked

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

_HALF_ULP: Final = 2.0**-53
_SAMPLE: Final = 4096
_PASS: Final = 2048


class Field(NamedTuple):
    """Arms in the order of the search: no pair of value at least b has key_i + key_j < b."""

    arm: Ints
    u: Vector
    v: Matrix
    key: Vector


@compiled_apart
def field_of(u: Vector, v: Matrix, key: Vector, arm: Ints, order: Ints) -> Field:
    """The arms arm[order] with their keys key[order]."""
    who = picked(arm, order)
    return Field(who, picked(u, who), picked_columns(v, who), picked(key, order))


@compiled_apart
def picked_columns(v: Matrix, positions: Ints) -> Matrix:
    """v[:, positions]."""
    columns = np.empty((v.shape[0], positions.size))
    for k in range(v.shape[0]):
        row, target = v[k], columns[k]
        for i in range(positions.size):
            target[i] = row[positions[i]]
    return columns


@compiled_apart
def sample_mean(v: Matrix) -> Vector:
    """The mean of at most _SAMPLE arms, evenly spread; exact where all arms are equal."""
    dim, n = v.shape
    stride = (n + _SAMPLE - 1) // _SAMPLE
    mean = np.empty(dim)
    for k in range(dim):
        total, count = 0.0, 0
        for i in range(0, n, stride):
            total += v[k, i] - v[k, 0]
            count += 1
        mean[k] = v[k, 0] + total / count
    return mean


@compiled_apart
def one_point(v: Matrix) -> bool:
    """Whether all arms are equal."""
    same = True
    for k in range(v.shape[0]):
        same = same and all_equal(v[k])
    return same


@compiled_apart
def upper_bounds(u: Vector, v: Matrix, radius: float, centre: Vector, chosen: Ints) -> tuple[Vector, float]:
    """s_i = u_i + radius |v_i - centre| of the chosen arms, and their largest distance from the centre."""
    s = np.zeros(chosen.size)
    far = 0.0
    for start in range(0, chosen.size, _PASS):
        part, who = s[start : start + _PASS], chosen[start : start + _PASS]
        for k in range(v.shape[0]):
            row, middle = v[k], centre[k]
            for i in range(part.size):
                gap = row[who[i]] - middle
                part[i] += gap * gap
        for i in range(part.size):
            far = max(far, part[i])
            part[i] = u[who[i]] + radius * math.sqrt(part[i])
    return s, math.sqrt(far)


@compiled_apart
def squared_widths(v: Matrix, row: int, start: int, stop: int, out: Vector) -> Vector:
    """|v_row - v_j|^2 for start <= j < stop, summed feature by feature in order, at the front of `out`."""
    near = out[: stop - start]
    near[:] = 0.0
    for k in range(v.shape[0]):
        centre, others = v[k, row], v[k, start:stop]
        for j in range(near.size):
            gap = others[j] - centre
            near[j] += gap * gap
    return near


@compiled_apart
def squared_width(v: Matrix, i: int, j: int) -> float:
    """|v_i - v_j|^2, summed feature by feature in order."""
    total = 0.0
    for k in range(v.shape[0]):
        gap = v[k, j] - v[k, i]
        total += gap * gap
    return total


@compiled_apart
def rounding_noise(dim: int, largest_u: float, radius: float, largest_distance: float) -> float:
    """More than rounding can move a value, a key sum, or a distance from a centre times the radius.

    A squared width is a sum of dim terms, each with three roundings; the root halves its relative error;
    u_i + u_j + r |v_i - v_j| adds three more. No width exceeds twice the largest distance from a centre.
    """
    return (2.0 * dim + 32.0) * _HALF_ULP * 2.0 * (largest_u + radius * largest_distance) + radius * 1e-150
