"""The filter over all pairs: one matrix product, and one number kept of every tile of it.

Let T be a value that some pair reaches and y = u - T / 2. A pair reaches T exactly if
|p_i - p_j| >= -(y_i + y_j), and because an arm may meet itself, T >= 2 max u: the right-hand side is
never negative, both sides can be squared, and with w = (p, y) and a = |p|^2 - y^2 the test is

    a_i + a_j - 2 <w_i, w_j> >= 0.

No root, and the only thing that depends on both arms is a product. Its error is at most
c |w_i||w_j| <= c (|w_i|^2 + |w_j|^2) / 2, which again splits over the two arms, so a is raised by
(c / 2) |w|^2 and the test misses no pair. Everything is divided by the longest w first.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .arithmetic import MODES, Mode, products_in, rounded
from .problem import TINY, Problem

_NEVER = -1e30
"""Stands in for an arm that fills up the last tile: no pair with it passes."""


class Tiling(NamedTuple):
    """Pairs are reported by tiles of so many rows and columns."""

    rows: int
    columns: int


class Operands(NamedTuple):
    """The two sides of the test, arms in the order of the search, filled up to whole tiles."""

    points: Tensor
    """(n, dim filled up to `depth`): rounded p."""
    offsets: Tensor
    """(n,): y, float32."""
    lifts: Tensor
    """(n,): a, raised by the largest possible error, float32."""


def operands(problem: Problem, order: Tensor, threshold: Tensor, mode: Mode, whole: int, depth: int) -> Operands:
    """Rounded and raised operands of the arms in `order`: rows filled up to `whole`, columns to `depth`."""
    n, dim = len(order), problem.points.shape[1]
    device = problem.points.device
    squares = problem.squares[order]
    offset = problem.utilities[order] - threshold / 2
    sizes = squares + offset.square()
    longest = sizes.max().sqrt()
    scale = torch.where(longest > TINY, 1.0 / longest, 1.0)
    # An offset may be positive by up to `noise`; that much a square cannot show. The last term is for underflow.
    hidden = 4.0 * problem.noise.square()
    lifts = (squares - offset.square() + error(dim, mode) * sizes + hidden) * scale.square() + 1e-30

    filled = _filled(n, whole)
    points = torch.zeros((filled, _filled(dim, depth)), dtype=torch.float32, device=device)
    points[:n, :dim] = rounded(problem.points[order] * scale, mode)
    offsets = torch.zeros(filled, dtype=torch.float32, device=device)
    offsets[:n] = offset * scale
    raised = torch.full((filled,), _NEVER, dtype=torch.float32, device=device)
    raised[:n] = lifts
    return Operands(points, offsets, raised)


def error(dim: int, mode: Mode) -> float:
    """c / 2: what |w|^2 is multiplied by to bound the error of the test.

    Rounded operands: 2 r + r^2 with r the mode's rounding. Sums: every test adds dim + 4 products
    whose sizes add up to less than |w_i|^2 + |w_j|^2, twice. The rest: rounding of a and y, and adding up.
    """
    r = mode.rounding
    return 2.0 * r + r * r + 2.1 * (dim + 8) * mode.unit + 2.0**-19


def wanted_tiles(tops: Tensor | None, count: int, threshold: Tensor, tiling: Tiling, group: int) -> Tensor:
    """Tiles (row, column) with a pair i < j that may reach the threshold; without `tops`, all with i < j.

    `tops` is the reach of each arm in the order of the search, largest first. Tiles come in groups of `group`
    rows, column by column, so that neighbours in the list read the same arms.
    """
    rows, columns = -(-count // tiling.rows), -(-count // tiling.columns)
    device = threshold.device
    row = torch.arange(_filled(rows, group), device=device)
    column = torch.arange(columns, device=device)
    wanted = (row[:, None] * tiling.rows < (column + 1) * tiling.columns) & (row[:, None] < rows)
    if tops is not None:
        highest_row = tops[(row * tiling.rows).clamp(max=count - 1)]
        highest_column = tops[column * tiling.columns]
        wanted &= highest_row[:, None] + highest_column >= threshold
    lane, column, place = wanted.view(-1, group, columns).transpose(1, 2).nonzero(as_tuple=True)
    return torch.stack((lane * group + place, column), dim=1)


def most_in_tiles(sides: Operands, tiles: Tensor, tiling: Tiling, mode: Mode, block: int) -> Tensor:
    """For every tile the largest left-hand side of the test, by plain products of `block` arms at a time.

    The product carries a_j and y as further coordinates; its least entry in a row of a tile, against
    a_i, is all that is kept.
    """
    left, right = _sides(sides, mode)
    n = len(left)
    tallies = torch.full((n // tiling.rows, n // tiling.columns), -1.0, device=left.device)
    buffer = torch.empty(min(block, n) * min(block, n), dtype=torch.float32, device=left.device)
    with products_in(mode):
        for row, column in _blocks(tiles, tiling, block, n):
            above, beside = left[row : row + block], right[column : column + block]
            shape = len(above), len(beside)
            product = _multiply(above, beside, buffer[: shape[0] * shape[1]].view(shape))
            least = product.view(shape[0], -1, tiling.columns).amin(2)
            excess = sides.lifts[row : row + block, None] * 0.5 - least
            top, side = row // tiling.rows, column // tiling.columns
            most = excess.view(-1, tiling.rows, excess.shape[1]).amax(1)
            tallies[top : top + most.shape[0], side : side + most.shape[1]] = most
    return 2.0 * tallies[tiles[:, 0], tiles[:, 1]]


def _multiply(rows: Tensor, columns: Tensor, out: Tensor) -> Tensor:
    return torch.mm(rows, columns.T, out=out)


def _sides(sides: Operands, mode: Mode) -> tuple[Tensor, Tensor]:
    """Rows (p, y, 1, 1) and columns (p, y, -a / 2): their product is <w_i, w_j> - a_j / 2.

    Where products keep few bits, y and a come in two parts each. The matrix units that take bfloat16 also take
    the longer TF32, and this path always uses that.
    """
    y, a = _parts(sides.offsets, mode), _parts(sides.lifts * -0.5, mode)
    one = torch.ones_like(sides.lifts)
    # High times high, high times low, low times high; low times low is under 2^-22 of the product.
    left = [*y, *y[:1] * (len(y) - 1), *[one] * len(a)]
    right = [*y[:1] * len(y), *y[1:], *a]
    spare = [torch.zeros_like(one)] * (-(len(left) + sides.points.shape[1]) % 8)
    rows, columns = (torch.cat((sides.points, torch.stack(side + spare, 1)), 1) for side in (left, right))
    return rows, columns


def _parts(x: Tensor, mode: Mode) -> list[Tensor]:
    """One or two numbers of as many bits as products keep, that add up to `x` up to 2^-22 of it."""
    if mode.name == "float32":
        return [x]
    high = rounded(x, MODES["tf32"])
    return [high, rounded(x - high, MODES["tf32"])]


def _blocks(tiles: Tensor, tiling: Tiling, block: int, n: int) -> list[tuple[int, int]]:
    """First row and column of every block that holds one of the tiles."""
    across = -(-n // block)
    held = torch.zeros((across, across), dtype=torch.bool, device=tiles.device)
    held[tiles[:, 0] * tiling.rows // block, tiles[:, 1] * tiling.columns // block] = True
    return [(row * block, column * block) for row, column in held.nonzero().tolist()]


def _filled(count: int, whole: int) -> int:
    return -(-count // whole) * whole
