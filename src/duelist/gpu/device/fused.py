"""The filter in one kernel: the product of a tile stays in registers, one number of it is written.

Needs Triton, which comes with PyTorch for CUDA. Without it `sweep.most_in_tiles` does the same.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .arithmetic import Mode
from .sweep import Operands, Tiling

try:
    import triton
    import triton.language as tl
except ImportError:  # PyTorch for processors comes without
    triton = tl = None


class Shape(NamedTuple):
    """How a kernel cuts its work."""

    tiling: Tiling
    depth: int
    warps: int
    precision: str = "tf32"
    """Triton's name for how float32 operands are multiplied."""


SHAPES = {
    "tf32": Shape(Tiling(128, 256), 32, 8),
    "bfloat16": Shape(Tiling(128, 256), 64, 8),
    "float32": Shape(Tiling(128, 128), 32, 8, "tf32x3"),
}
"""Chosen by `benchmarks/gpu.py --shapes`."""


def available(device: torch.device, mode: Mode) -> bool:
    """Whether there is Triton, and a GPU with matrix units for TF32 and bfloat16."""
    if triton is None or device.type != "cuda" or mode.name not in SHAPES:
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def most_in_tiles(sides: Operands, tiles: Tensor, shape: Shape, mode: Mode) -> Tensor:
    """For every tile the largest left-hand side of the test of `sweep`."""
    points = sides.points.bfloat16() if mode.name == "bfloat16" else sides.points
    most = torch.empty(len(tiles), dtype=torch.float32, device=points.device)
    if not len(tiles):
        return most
    _most_in_tile[(len(tiles),)](
        points,
        sides.offsets,
        sides.lifts,
        tiles.to(torch.int32).contiguous(),
        most,
        points.shape[1],
        ROWS=shape.tiling.rows,
        COLUMNS=shape.tiling.columns,
        DEPTH=shape.depth,
        num_warps=shape.warps,
        PRECISION=shape.precision,
        num_stages=min(4, max(2, points.shape[1] // shape.depth)),
    )
    return most


if triton is not None:  # Triton compiles the text of these functions and knows no annotations but its own

    @triton.jit
    def _most_in_tile(
        points, offsets, lifts, tiles, most, dim,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """most = max over the tile of a_i + a_j - 2 (<p_i, p_j> + y_i y_j)."""
        tile = tl.program_id(0)
        row = tl.load(tiles + 2 * tile) * ROWS + tl.arange(0, ROWS)
        column = tl.load(tiles + 2 * tile + 1) * COLUMNS + tl.arange(0, COLUMNS)
        along = tl.arange(0, DEPTH)
        left = points + row.to(tl.int64)[:, None] * dim + along[None, :]
        right = points + column.to(tl.int64)[None, :] * dim + along[:, None]
        product = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for _ in range(0, dim, DEPTH):
            product = tl.dot(tl.load(left), tl.load(right), product, input_precision=PRECISION)
            left += DEPTH
            right += DEPTH
        both = tl.load(offsets + row)[:, None] * tl.load(offsets + column)[None, :]
        excess = tl.load(lifts + row)[:, None] + tl.load(lifts + column)[None, :] - 2.0 * (product + both)
        tl.store(most + tile, tl.max(excess))
