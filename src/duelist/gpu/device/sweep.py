"""The filter over all pairs: one matrix product, reduced to one number per tile.

Let T be the value of some pair and y = u - T / 2. A pair reaches T exactly if |p_i - p_j| >= -(y_i + y_j). An arm may
be
paired with itself, so T >= 2 max u and the right-hand side is never negative. Squaring both sides gives, with w = (p,
y)
and a = |p|^2 - y^2, the test

    a_i + a_j - 2 <w_i, w_j> >= 0.

It needs no root, and only the product depends on both arms. The error of the product is at most
c |w_i||w_j| <= c (|w_i|^2 + |w_j|^2) / 2, which splits over the two arms: adding (c / 2) |w|^2 to a makes sure that
the
test misses no pair. All vectors are first divided by the length of the longest w.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .arithmetic import MODES, Mode, matmul_precision, rounded
from .whitening import TINY, WhitenedArms

_NEVER = -1e30
"""Value of a for arms that pad the last tile, so that no pair with them passes."""


class Tiling(NamedTuple):
    """The numbers of rows and columns per tile of pairs."""

    rows: int
    columns: int


class Operands(NamedTuple):
    """The inputs of the test, in search order and padded to whole tiles."""

    points: Tensor
    """(n, dim padded to `depth`): rounded p."""
    offsets: Tensor
    """(n,): y, float32."""
    lifts: Tensor
    """(n,): a plus its error bound, float32."""


def operands(whitened: WhitenedArms, order: Tensor, threshold: Tensor, mode: Mode, whole: int, depth: int) -> Operands:
    """Compute the inputs for the arms in `order`, padded to multiples of `whole` rows and `depth` columns."""
    n, dim = len(order), whitened.points.shape[1]
    device = whitened.points.device
    squares = whitened.squares[order]
    offset = whitened.utilities[order] - threshold / 2
    sizes = squares + offset.square()
    longest = sizes.max().sqrt()
    scale = torch.where(longest > TINY, 1.0 / longest, 1.0)
    # Squares hide offsets that are positive by up to `noise`; the last term is for underflow.
    hidden = 4.0 * whitened.noise.square()
    lifts = (squares - offset.square() + error(dim, mode) * sizes + hidden) * scale.square() + 1e-30

    filled = _round_up(n, whole)
    points = torch.zeros((filled, _round_up(dim, depth)), dtype=torch.float32, device=device)
    points[:n, :dim] = rounded(whitened.points[order] * scale, mode)
    offsets = torch.zeros(filled, dtype=torch.float32, device=device)
    offsets[:n] = offset * scale
    raised = torch.full((filled,), _NEVER, dtype=torch.float32, device=device)
    raised[:n] = lifts
    return Operands(points, offsets, raised)


def error(dim: int, mode: Mode) -> float:
    """c / 2: the factor of |w|^2 that bounds the error of the test.

    Rounded operands: 2 r + r^2 with the mode's rounding r. Sums: each test adds dim + 4 products whose magnitudes sum
    to less than |w_i|^2 + |w_j|^2, twice. The rest: rounding of a and y, and the final sum.
    """
    r = mode.rounding
    return 2.0 * r + r * r + 2.1 * (dim + 8) * mode.unit + 2.0**-19


def candidate_tiles(tops: Tensor | None, count: int, threshold: Tensor, tiling: Tiling, group: int) -> Tensor:
    """Tiles (row, column) with a pair i < j that may reach the threshold; all tiles with i < j if `tops` is None.

    `tops` holds the `reach` of each arm in search order, largest first. Tiles are ordered in groups of `group` rows,
    column
    by column, so that neighbours in the list read the same arms.
    """
    rows, columns = -(-count // tiling.rows), -(-count // tiling.columns)
    device = threshold.device
    row = torch.arange(_round_up(rows, group), device=device)
    column = torch.arange(columns, device=device)
    wanted = (row[:, None] * tiling.rows < (column + 1) * tiling.columns) & (row[:, None] < rows)
    if tops is not None:
        highest_row = tops[(row * tiling.rows).clamp(max=count - 1)]
        highest_column = tops[column * tiling.columns]
        wanted &= highest_row[:, None] + highest_column >= threshold
    lane, column, place = wanted.view(-1, group, columns).transpose(1, 2).nonzero(as_tuple=True)
    return torch.stack((lane * group + place, column), dim=1)


def max_per_tile(sides: Operands, tiles: Tensor, tiling: Tiling, mode: Mode, block: int) -> Tensor:
    """Compute the largest left-hand side of the test in each tile, by plain products of `block` arms at a time.

    The products include a_j and y as extra coordinates, so that only the minimum of each row of a tile is needed.
    """
    left, right = _sides(sides, mode)
    n = len(left)
    maxima = torch.full((n // tiling.rows, n // tiling.columns), -1.0, device=left.device)
    buffer = torch.empty(min(block, n) * min(block, n), dtype=torch.float32, device=left.device)
    with matmul_precision(mode):
        for row, column in _blocks(tiles, tiling, block, n):
            above, beside = left[row : row + block], right[column : column + block]
            shape = len(above), len(beside)
            product = _multiply(above, beside, buffer[: shape[0] * shape[1]].view(shape))
            least = product.view(shape[0], -1, tiling.columns).amin(2)
            excess = sides.lifts[row : row + block, None] * 0.5 - least
            top, side = row // tiling.rows, column // tiling.columns
            most = excess.view(-1, tiling.rows, excess.shape[1]).amax(1)
            maxima[top : top + most.shape[0], side : side + most.shape[1]] = most
    return 2.0 * maxima[tiles[:, 0], tiles[:, 1]]


def _multiply(rows: Tensor, columns: Tensor, out: Tensor) -> Tensor:
    return torch.mm(rows, columns.T, out=out)


def _sides(sides: Operands, mode: Mode) -> tuple[Tensor, Tensor]:
    """Rows (p, y, 1, 1) and columns (p, y, -a / 2), whose product is <w_i, w_j> - a_j / 2.

    In low precision, y and a are split into two parts. Matrix units that support bfloat16 also support TF32,
    which this path always uses.
    """
    y, a = _parts(sides.offsets, mode), _parts(sides.lifts * -0.5, mode)
    one = torch.ones_like(sides.lifts)
    # high x high, high x low, low x high; low x low is below 2^-22 of the product
    left = [*y, *y[:1] * (len(y) - 1), *[one] * len(a)]
    right = [*y[:1] * len(y), *y[1:], *a]
    spare = [torch.zeros_like(one)] * (-(len(left) + sides.points.shape[1]) % 8)
    rows, columns = (torch.cat((sides.points, torch.stack(side + spare, 1)), 1) for side in (left, right))
    return rows, columns


def _parts(x: Tensor, mode: Mode) -> list[Tensor]:
    """Split `x` into one or two numbers of the product's precision, which add up to it within 2^-22."""
    if mode.name == "float32":
        return [x]
    high = rounded(x, MODES["tf32"])
    return [high, rounded(x - high, MODES["tf32"])]


def _blocks(tiles: Tensor, tiling: Tiling, block: int, n: int) -> list[tuple[int, int]]:
    """First row and column of every block that contains one of the tiles."""
    across = -(-n // block)
    held = torch.zeros((across, across), dtype=torch.bool, device=tiles.device)
    held[tiles[:, 0] * tiling.rows // block, tiles[:, 1] * tiling.columns // block] = True
    return [(row * block, column * block) for row, column in held.nonzero().tolist()]


def _round_up(count: int, whole: int) -> int:
    return -(-count // whole) * whole
