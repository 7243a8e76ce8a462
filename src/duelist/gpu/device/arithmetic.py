"""The arithmetic of the filter: how operands are rounded, and bounds on the error of a product.

Operands are rounded here to numbers that matrix units represent exactly. The result then does not depend on how a
device rounds its operands, and a CPU computes with the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor


class Mode(NamedTuple):
    """A precision of matrix products on the device."""

    name: str
    rounding: float
    """Relative error of rounding an operand, |rounded - x| <= rounding |x|; twice that for a product."""
    unit: float
    """A sum of K products has an error of at most K unit times the sum of their magnitudes.

    Sums in float32 have 2^-24 per step. Matrix units add several products at once and may truncate instead of rounding,
    by at most 2^-23 of the largest for each product and for the sum; this allows for twice that.
    """


# Matrix units may compute float32 from three products, with each operand in two parts of 11 bits.
MODES = {
    "float32": Mode("float32", 2.0**-19, 2.0**-22),
    "tf32": Mode("tf32", 2.0**-11 + 2.0**-23, 2.0**-22),
    "bfloat16": Mode("bfloat16", 2.0**-9 + 2.0**-23, 2.0**-22),
}


def rounded(x: Tensor, mode: Mode) -> Tensor:
    """Round `x` to nearest, to a float32 with the precision of the mode."""
    if mode.name == "bfloat16":
        return x.float().bfloat16().float()
    single = x.to(torch.float32, copy=True)
    if mode.name == "tf32":
        # Clear the 13 lowest of the 23 stored bits; adding half of their range first rounds to nearest.
        bits = single.view(torch.int32)
        bits.add_(0x1000).bitwise_and_(~0x1FFF)
    return single


@contextmanager
def matmul_precision(mode: Mode) -> Iterator[None]:
    """Set the precision of float32 matrix products, and restore it afterwards."""
    settings = torch.backends.cuda.matmul
    name, value = ("fp32_precision", "ieee" if mode.name == "float32" else "tf32")
    if not hasattr(settings, name):  # before PyTorch 2.9
        name, value = "allow_tf32", mode.name != "float32"  # type: ignore[assignment]
    before = getattr(settings, name)
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, before)
