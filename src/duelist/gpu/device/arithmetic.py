"""The arithmetic of the filter: how operands are rounded, and how far a product can be off.

Operands are rounded here, by us, to numbers the matrix units take as they are. How a device
rounds its operands then does not matter, and a processor without such units computes with the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor


class Mode(NamedTuple):
    """One way to multiply matrices on the device."""

    name: str
    rounding: float
    """A product of two operands is off by at most 2 rounding of its size: |rounded - x| <= rounding |x|."""
    unit: float
    """A sum of K products is off by at most K unit times the sum of their sizes.

    Sums in float32 keep 2^-24 a step. Matrix units add several products at once and cut off bits where they
    should round, at most 2^-23 of the largest for each and for the sum; twice that is allowed for.
    """


# Float32 too may be put together from three products on matrix units, each operand in two parts of 11 bits.
MODES = {
    "float32": Mode("float32", 2.0**-19, 2.0**-22),
    "tf32": Mode("tf32", 2.0**-11 + 2.0**-23, 2.0**-22),
    "bfloat16": Mode("bfloat16", 2.0**-9 + 2.0**-23, 2.0**-22),
}


def mode_for(name: str) -> Mode:
    """The mode of that name; KeyError if there is none."""
    return MODES[name]


def rounded(x: Tensor, mode: Mode) -> Tensor:
    """`x` in float32 with no more bits than the mode's products keep; rounds to nearest."""
    if mode.name == "bfloat16":
        return x.float().bfloat16().float()
    single = x.to(torch.float32, copy=True)
    if mode.name == "tf32":
        # The 13 lowest of the 23 stored bits go; adding half of their range first rounds to nearest.
        bits = single.view(torch.int32)
        bits.add_(0x1000).bitwise_and_(~0x1FFF)
    return single


@contextmanager
def products_in(mode: Mode) -> Iterator[None]:
    """Float32 matrix products in this mode, whatever the caller's process has set; restored afterwards."""
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
