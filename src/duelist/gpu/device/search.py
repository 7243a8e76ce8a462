"""The arms that can be in the best pair: a filter in low precision, refined in float64.

Each step drops only pairs that provably have a smaller value than another. A good pair sets a threshold T. Arms and
tiles whose upper bound is below T are pruned. The filter of `sweep` tests the remaining tiles. In those that pass,
all
values are bounded from both sides in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from . import fused
from .arithmetic import Mode
from .sweep import Tiling, candidate_tiles, max_per_tile, operands
from .whitening import WhitenedArms, initial_value

_EPSILON = 2.0**-52
_PLAIN_TILING = Tiling(128, 128)
_PLAIN_BLOCK = {"cuda": 8192, "cpu": 1024}
_GROUP = 16
_REFINE_CHUNK = 2**26
"""Entries of float64 that the refinement processes at a time."""


class SearchStatistics(NamedTuple):
    """The work of a search."""

    pairs: int
    """Pairs in the tiles whose products were computed."""
    tiles: int
    passed: int
    """Tiles tested, and tiles that passed the filter."""
    arms: int
    """Arms that the caller has to score."""


def candidates(
    whitened: WhitenedArms, mode: Mode, *, pruned: bool = True, kernel: bool | None = None
) -> tuple[Tensor, SearchStatistics]:
    """Return the sorted positions of all arms that can be in the best pair, and the work it took.

    `kernel` selects the fused kernel or plain products; by default the kernel is used if available.
    """
    n = len(whitened.points)
    if not whitened.certain:
        return torch.arange(n, device=whitened.points.device), SearchStatistics(0, 0, 0, n)
    threshold = initial_value(whitened) - 2.0 * whitened.noise
    order, tops = _order(whitened, threshold, pruned)
    use_kernel = fused.available(whitened.points.device, mode) if kernel is None else kernel
    config = fused.KERNEL_CONFIGS[mode.name] if use_kernel else None
    tiling = config.tiling if config else _PLAIN_TILING
    tiles = candidate_tiles(tops, len(order), threshold, tiling, _GROUP)
    whole = max(tiling)
    if config:
        sides = operands(whitened, order, threshold, mode, whole, config.depth)
        most = fused.max_per_tile(sides, tiles, config, mode)
    else:
        sides = operands(whitened, order, threshold, mode, whole, 1)
        most = max_per_tile(sides, tiles, tiling, mode, _PLAIN_BLOCK.get(whitened.points.device.type, 1024))
    passed = tiles[~(most < 0.0)]
    arms = _refine(whitened, order, passed, tiling, threshold)
    return arms, SearchStatistics(len(tiles) * tiling.rows * tiling.columns, len(tiles), len(passed), len(arms))


def _order(whitened: WhitenedArms, threshold: Tensor, pruned: bool) -> tuple[Tensor, Tensor | None]:
    """The arms to search and, if pruned, their `reach`, largest first."""
    if not pruned:
        return torch.arange(len(whitened.points), device=whitened.points.device), None
    tops, order = whitened.reach.sort(descending=True)
    kept = int((tops + tops[0] >= threshold).sum())
    return order[:kept], tops[:kept]


def _refine(whitened: WhitenedArms, order: Tensor, tiles: Tensor, tiling: Tiling, threshold: Tensor) -> Tensor:
    """The arms in the remaining pairs and self-pairs that can have the largest value, in float64."""
    whole = torch.arange(max(tiling) * -(-len(order) // max(tiling)), device=order.device)
    places = order[whole.clamp(max=len(order) - 1)]  # repeat the last arm to fill the last tile
    rows = places.view(-1, tiling.rows)
    columns = places.view(-1, tiling.columns)
    held = (tiling.rows + tiling.columns) * whitened.points.shape[1] + 4 * tiling.rows * tiling.columns
    batch = max(1, _REFINE_CHUNK // held)

    batches = _batches(tiles, batch)
    floor, ceilings, high = threshold, [], None
    for some in batches:
        low, high = _bounds(whitened, rows[some[:, 0]], columns[some[:, 1]])
        floor = torch.maximum(floor, low.max())
        ceilings.append(high.amax((1, 2)))
    floor = floor - 2.0 * whitened.noise

    possible = 2.0 * whitened.utilities >= floor
    if len(batches) > 1:
        batches = _batches(tiles[torch.cat(ceilings) >= floor], batch)
        high = None
    for some in batches:
        row, column = rows[some[:, 0]], columns[some[:, 1]]
        stays = (_bounds(whitened, row, column)[1] if high is None else high) >= floor
        possible[row[stays.any(2)]] = True
        possible[column[stays.any(1)]] = True
    return possible.nonzero()[:, 0]


def _batches(tiles: Tensor, size: int) -> list[Tensor]:
    return [tiles[start : start + size] for start in range(0, len(tiles), size)]


def _bounds(whitened: WhitenedArms, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds on u_i + u_j + |p_i - p_j| for batches of rows and columns of arms."""
    points, squares, utilities = whitened.points, whitened.squares, whitened.utilities
    product = torch.bmm(points[rows], points[columns].transpose(1, 2))
    sizes = squares[rows][:, :, None] + squares[columns][:, None, :]
    totals = utilities[rows][:, :, None] + utilities[columns][:, None, :]
    between = sizes - 2.0 * product
    doubt = 4.0 * (points.shape[1] + 8) * _EPSILON * sizes
    low, high = ((between + sign * doubt).clamp_(min=0.0).sqrt_() + totals for sign in (-1.0, 1.0))
    return low, high
