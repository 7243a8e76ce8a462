"""Views that cost nothing.

Numba counts references to the memory of every array, with atomic instructions, each time a slice is cut or a
tuple of arrays is handed over. Kernels that cut some fifty views a round spend half their time counting.
A borrowed view counts nothing: whoever lends it keeps the memory alive for as long as the kernel runs,
as every entry point does with the arrays it was called with.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

Array = NDArray[Any]
carray: Any = numba.carray  # type: ignore[attr-defined]
_pointer: Any = types.CPointer


@intrinsic
def data(_context: Any, array: Any) -> Any:
    """The address of an array's first entry."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _pointer(array.dtype)(array), generate


_address: Any = data


def borrowed(array: Array) -> Array:
    """The same contiguous array, without counting references to it."""
    return array


def as_matrix(flat: Array, rows: int, columns: int) -> Array:
    """The first entries of a flat array as a matrix (rows, columns), without counting references."""
    return flat[: rows * columns].reshape((rows, columns))


def as_cube(flat: Array, layers: int, rows: int, columns: int) -> Array:
    """The first entries of a flat array as (layers, rows, columns), without counting references."""
    return flat[: layers * rows * columns].reshape((layers, rows, columns))


@overload(borrowed)
def _borrowed(array: Any) -> Any:
    def view(array: Any) -> Any:
        return carray(_address(array), array.shape)

    return view


@overload(as_matrix)
def _as_matrix(flat: Any, rows: Any, columns: Any) -> Any:
    def view(flat: Any, rows: Any, columns: Any) -> Any:
        return carray(_address(flat), (rows, columns))

    return view


@overload(as_cube)
def _as_cube(flat: Any, layers: Any, rows: Any, columns: Any) -> Any:
    def view(flat: Any, layers: Any, rows: Any, columns: Any) -> Any:
        return carray(_address(flat), (layers, rows, columns))

    return view
