"""The search over very many arms, called by its address.

Compiled code that calls another compiled function contains it: each policy would compile the search anew, some
twenty seconds of it, for a size that few people need. So it is compiled once, as a C function, when somebody brings
so many arms, and compiled code finds its address in its scratch (`Scratch.search`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.ccallback import CFunc
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from duelist.compiled import JIT_OPTIONS, compiled_apart, stamp
from duelist.kernels import views
from duelist.kernels.dominance import undominated
from duelist.kernels.search import best_pair, best_wide_pair, random_wide_pair, wider_pair, widest_pair
from duelist.kernels.views import carray

MANY_ARMS: Final = 256
"""From so many arms on the pruned search is faster than trying all pairs, whatever the dimension: measured for
dim 2 to 256, the two meet between 96 and 256 arms, and at 512 the pruned search is 1.4 to 5 times as fast."""

BEST, WIDEST, ANY_WIDER, BEST_WIDE, RANDOM_WIDE, UNDOMINATED = range(6)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

_pointer: Any = types.CPointer
_numbers, _wholes, _words = _pointer(types.float64), _pointer(types.int64), _pointer(types.uint64)
_arguments = (types.int64, _numbers, _numbers, types.int64, types.int64, types.float64, _wholes, _words, _numbers)


def _search_python(
    kind: int,
    u: Vector,
    v: Matrix,
    number: float,
    out: Ints,
    words: NDArray[np.uint64],
    found: Vector,
) -> None:
    """One of the searches; `number` is its radius or threshold, `found` takes first, second (or the count) and value."""
    first, second, value = 0, 0, 0.0
    if kind == BEST:
        first, second, value = best_pair(u, v, number)
    elif kind == WIDEST:
        first, second, value = widest_pair(v)
    elif kind == ANY_WIDER:
        first, second, value = wider_pair(v, number)
    elif kind == BEST_WIDE:
        first, second = best_wide_pair(u, v, number)
    elif kind == RANDOM_WIDE:
        first, second = random_wide_pair(v, number, words)
    else:
        first = undominated(u, v, number, out)
    found[0], found[1], found[2] = first, second, value


_search_arrays = compiled_apart(_search_python)


def _search(kind: int, u: Any, v: Any, dim: int, n: int, number: float, out: Any, words: Any, found: Any) -> None:
    """The same as a C function."""
    _search_arrays(kind, carray(u, n), carray(v, (dim, n)), number, carray(out, n), carray(words, 4), carray(found, 3))


@cache
def search_address() -> int:
    """Where the compiled search lies in memory; compiles it, or loads it from the cache on disk."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0
    function = CFunc(_search, (_arguments, types.void), {}, {"error_model": "numpy"})
    function.enable_caching()
    stamp(function)
    function.compile()
    _kept_alive.append(function)
    return int(function.address or 0)


_kept_alive: list[Any] = []


@intrinsic
def call_at(
    _context: Any,
    address: Any,
    kind: Any,
    u: Any,
    v: Any,
    dim: Any,
    n: Any,
    number: Any,
    out: Any,
    words: Any,
    found: Any,
) -> Any:
    """Call the search that lies at an address."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kinds = [argument.type for argument in arguments[1:]]
        function = builder.inttoptr(arguments[0], ir.FunctionType(ir.VoidType(), kinds).as_pointer())
        builder.call(function, arguments[1:])
        return _target.get_dummy_value()

    return types.void(types.int64, *_arguments), generate


_call: Any = call_at
_data: Any = views.data


def find(
    address: int, kind: int, u: Vector, v: Matrix, number: float, out: Ints, words: NDArray[np.uint64]
) -> tuple[int, int, float]:
    """The search of that kind: first, second and value; for `UNDOMINATED` the count, and the arms in `out`."""
    found = np.empty(3)
    n = v.shape[1]
    _search_python(kind, u[:n], v, number, out[:n], words, found)
    return int(found[0]), int(found[1]), float(found[2])


@overload(find, jit_options=JIT_OPTIONS)
def _find(address: Any, kind: Any, u: Any, v: Any, number: Any, out: Any, words: Any) -> Any:
    def call(address: Any, kind: Any, u: Any, v: Any, number: Any, out: Any, words: Any) -> Any:
        found = np.empty(3)
        dim, n = v.shape
        _call(address, kind, _data(u), _data(v), dim, n, number, _data(out), _data(words), _data(found))
        return int(found[0]), int(found[1]), found[2]

    return call
