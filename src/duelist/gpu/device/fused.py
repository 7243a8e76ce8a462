"""The filter as one kernel, which keeps the product of a tile in registers and writes one number.

Needs Triton, which PyTorch for CUDA includes. Without it, `sweep.max_per_tile` computes the same.
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
except ImportError:  # PyTorch for CPUs does not include it
    triton = tl = None


class KernelConfig(NamedTuple):
    """The tile sizes and warps of a kernel."""

    tiling: Tiling
    depth: int
    warps: int
    precision: str = "tf32"
    """Triton's name for the precision of float32 products."""


KERNEL_CONFIGS = {
    "tf32": KernelConfig(Tiling(128, 256), 32, 8),
    "bfloat16": KernelConfig(Tiling(128, 256), 64, 8),
    "float32": KernelConfig(Tiling(128, 128), 32, 8, "tf32x3"),
}
"""The fastest in `benchmarks/speed/gpu.py --shapes`."""


def available(device: torch.device, mode: Mode) -> bool:
    """Return whether Triton and a GPU with TF32 and bfloat16 matrix units are available."""
    if triton is None or device.type != "cuda" or mode.name not in KERNEL_CONFIGS:
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def max_per_tile(sides: Operands, tiles: Tensor, config: KernelConfig, mode: Mode) -> Tensor:
    """Compute the largest left-hand side of the test of `sweep` in each tile."""
    points = sides.points.bfloat16() if mode.name == "bfloat16" else sides.points
    most = torch.empty(len(tiles), dtype=torch.float32, device=points.device)
    if not len(tiles):
        return most
    _max_per_tile[(len(tiles),)](
        points,
        sides.offsets,
        sides.lifts,
        tiles.to(torch.int32).contiguous(),
        most,
        points.shape[1],
        ROWS=config.tiling.rows,
        COLUMNS=config.tiling.columns,
        DEPTH=config.depth,
        num_warps=config.warps,
        PRECISION=config.precision,
        num_stages=min(4, max(2, points.shape[1] // config.depth)),
    )
    return most


if triton is not None:  # Triton compiles the source of these functions and accepts only its own annotations

    @triton.jit
    def _max_per_tile(
        points, offsets, lifts, tiles, most, dim,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        """most = max over the tile of a_i + a_j - 2 (<p_i, p_j> + y_i y_j)"""
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
