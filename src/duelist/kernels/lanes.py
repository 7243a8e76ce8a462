"""Sums in eight lanes, as vector instructions.

The order of a sum is part of its result, so a compiler may not turn a plain sum into vector instructions, and
the pass that would see the eight lanes in code that spells them out is off in Numba. So they are asked for by name. LLVM
makes of a vector of eight what the processor has, with the same result on every one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

Vector = NDArray[np.float64]

LANES = 8
_codegen: Any = cgutils
_tuple_of: Any = types.UniTuple


def lane_sums(a: Vector, b: Vector, stop: int) -> Any:
    """a_k b_k + a_(k+8) b_(k+8) + ... below `stop`, a multiple of 8, for each k below 8."""
    products = (a[:stop] * b[:stop]).reshape(-1, LANES)
    total = np.zeros(LANES)
    for row in products:
        total += row
    return tuple(total)


@intrinsic
def _lane_sums(_context: Any, a: Any, b: Any, stop: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = ir.VectorType(ir.DoubleType(), LANES)
        first, second = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
        )
        end = arguments[2]
        total = _codegen.alloca_once_value(builder, ir.Constant(lanes, [0.0] * LANES))
        with _codegen.for_range_slice(builder, end.type(0), end, end.type(LANES), inc=True) as (i, _):
            x, y = (
                builder.load(builder.bitcast(builder.gep(start, [i]), lanes.as_pointer()), align=8)
                for start in (first, second)
            )
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, y)), total)
        sums = builder.load(total)
        parts = [builder.extract_element(sums, ir.IntType(32)(k)) for k in range(LANES)]
        return context.make_tuple(builder, signature.return_type, parts)

    return _tuple_of(types.float64, LANES)(a, b, types.intp), generate


_generated: Any = _lane_sums


@overload(lane_sums)
def _lane_sums_compiled(a: Any, b: Any, stop: Any) -> Any:
    def sums(a: Any, b: Any, stop: Any) -> Any:
        return _generated(a, b, stop)

    return sums
