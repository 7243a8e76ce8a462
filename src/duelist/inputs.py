"""Turning what people give into arrays, or an error that names the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput


def floats(name: str, value: Any, wanted: str) -> NDArray[np.float64]:
    """`value` as a fresh array of floats; `wanted` says what to give instead."""
    try:
        if value is None:  # NumPy would make it NaN
            raise TypeError("nothing given")
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        shown = repr(value)
        raise InvalidInput(
            f"{name} is {shown if len(shown) < 80 else shown[:77] + '...'} ({error}); give {wanted}"
        ) from None


def finite_floats(name: str, value: Any, wanted: str) -> NDArray[np.float64]:
    """`value` as a fresh array of finite floats; the error names the first entry that is not."""
    array = floats(name, value, wanted)
    if not np.isfinite(array).all():
        at = [int(k) for k in np.argwhere(~np.isfinite(array))[0]]
        where = f"{name}[{', '.join(map(str, at))}]" if at else name
        raise InvalidInput(f"{where} is {array[tuple(at)]}; give {wanted}")
    return array
