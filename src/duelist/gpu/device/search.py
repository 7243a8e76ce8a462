"""The arms that can be in the best pair: filter in low precision, second look in float64.

The caller scores what is left. Four steps, each of which only ever drops pairs that provably have a
smaller value than some other: a good pair sets a threshold T; arms and tiles whose reach stays under
T go; of the remaining tiles those that pass the filter of `sweep` stay; in these every value is bounded from
both sides in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from . import fused
from .arithmetic import Mode
from .problem import Problem, good_value
from .sweep import Tiling, most_in_tiles, operands, wanted_tiles

_EPSILON = 2.0**-52
_PLAIN_TILING = Tiling(128, 128)
_PLAIN_BLOCK = {"cuda": 8192, "cpu": 1024}
_GROUP = 16
_SECOND_LOOK = 2**26
"""Entries of float64 that a second look holds at a time."""


class Effort(NamedTuple):
    """What the search had to do."""

    pairs: int
    """Pairs in the tiles that were multiplied out."""
    tiles: int
    passed: int
    """Tiles, and those of them that passed the filter."""
    arms: int
    """Arms left for the caller to score."""


def candidates(
    problem: Problem, mode: Mode, *, pruned: bool = True, kernel: bool | None = None
) -> tuple[Tensor, Effort]:
    """Positions, in order, of all arms that can be in the best pair, and what it took.

    `kernel` asks for the fused kernel or for plain products; None takes the kernel where there is one.
    """
    n = len(problem.points)
    if not problem.certain:
        return torch.arange(n, device=problem.points.device), Effort(0, 0, 0, n)
    threshold = good_value(problem) - 2.0 * problem.noise
    order, tops = _order(problem, threshold, pruned)
    use_kernel = fused.available(problem.points.device, mode) if kernel is None else kernel
    shape = fused.SHAPES[mode.name] if use_kernel else None
    tiling = shape.tiling if shape else _PLAIN_TILING
    tiles = wanted_tiles(tops, len(order), threshold, tiling, _GROUP)
    whole = max(tiling)
    if shape:
        sides = operands(problem, order, threshold, mode, whole, shape.depth)
        most = fused.most_in_tiles(sides, tiles, shape, mode)
    else:
        sides = operands(problem, order, threshold, mode, whole, 1)
        most = most_in_tiles(sides, tiles, tiling, mode, _PLAIN_BLOCK.get(problem.points.device.type, 1024))
    passed = tiles[~(most < 0.0)]
    arms = _second_look(problem, order, passed, tiling, threshold)
    return arms, Effort(len(tiles) * tiling.rows * tiling.columns, len(tiles), len(passed), len(arms))


def _order(problem: Problem, threshold: Tensor, pruned: bool) -> tuple[Tensor, Tensor | None]:
    """The arms to search, and their reach, largest first, if that is used."""
    if not pruned:
        return torch.arange(len(problem.points), device=problem.points.device), None
    tops, order = problem.reach.sort(descending=True)
    kept = int((tops + tops[0] >= threshold).sum())
    return order[:kept], tops[:kept]


def _second_look(problem: Problem, order: Tensor, tiles: Tensor, tiling: Tiling, threshold: Tensor) -> Tensor:
    """Arms of all pairs in the tiles, self-duels included, whose value can be the largest, in float64."""
    whole = torch.arange(max(tiling) * -(-len(order) // max(tiling)), device=order.device)
    places = order[whole.clamp(max=len(order) - 1)]  # the last arm again and again fills up the last tile
    rows = places.view(-1, tiling.rows)
    columns = places.view(-1, tiling.columns)
    held = (tiling.rows + tiling.columns) * problem.points.shape[1] + 4 * tiling.rows * tiling.columns
    batch = max(1, _SECOND_LOOK // held)

    batches = _batches(tiles, batch)
    floor, ceilings, high = threshold, [], None
    for some in batches:
        low, high = _bounds(problem, rows[some[:, 0]], columns[some[:, 1]])
        floor = torch.maximum(floor, low.max())
        ceilings.append(high.amax((1, 2)))
    floor = floor - 2.0 * problem.noise

    possible = 2.0 * problem.utilities >= floor
    if len(batches) > 1:
        batches = _batches(tiles[torch.cat(ceilings) >= floor], batch)
        high = None
    for some in batches:
        row, column = rows[some[:, 0]], columns[some[:, 1]]
        stays = (_bounds(problem, row, column)[1] if high is None else high) >= floor
        possible[row[stays.any(2)]] = True
        possible[column[stays.any(1)]] = True
    return possible.nonzero()[:, 0]


def _batches(tiles: Tensor, size: int) -> list[Tensor]:
    return [tiles[start : start + size] for start in range(0, len(tiles), size)]


def _bounds(problem: Problem, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds on u_i + u_j + |p_i - p_j| from below and above, for batches of rows and columns of arms."""
    points, squares, utilities = problem.points, problem.squares, problem.utilities
    product = torch.bmm(points[rows], points[columns].transpose(1, 2))
    sizes = squares[rows][:, :, None] + squares[columns][:, None, :]
    totals = utilities[rows][:, :, None] + utilities[columns][:, None, :]
    between = sizes - 2.0 * product
    doubt = 4.0 * (points.shape[1] + 8) * _EPSILON * sizes
    low, high = ((between + sign * doubt).clamp_(min=0.0).sqrt_() + totals for sign in (-1.0, 1.0))
    return low, high
