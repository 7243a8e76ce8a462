"""Feature vectors as bytes, which databases and archives hold.

A letter says the precision: `s` for single, `d` for double; then the numbers, row by row, their low bytes first. Without a letter
they are from before there was one: single precision, to which they were rounded. Numbers have four or eight bytes, so that the length tells
whether there is a letter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32] | NDArray[np.float64]
_BYTES: Final = 4
_PRECISIONS: Final[dict[bytes, np.dtype[Any]]] = {b"s": np.dtype("<f4"), b"d": np.dtype("<f8")}


def packed(vectors: Vectors, rounded: bool = False) -> bytes:
    """Vectors (count, dim) as bytes; those that were `rounded` as they always were."""
    letter = b"s" if vectors.dtype == np.float32 else b"d"
    body = np.ascontiguousarray(vectors, _PRECISIONS[letter]).tobytes()
    return body if rounded else letter + body


def unpacked(body: bytes, count: int) -> tuple[Vectors, bool]:
    """The `count` vectors that `packed` wrote, and whether they were rounded; ValueError for anything else."""
    rounded = len(body) % _BYTES == 0
    letter = b"s" if rounded else bytes(body[:1])
    if letter not in _PRECISIONS:
        raise ValueError(f"features begin with {letter!r}, which is no precision")
    numbers: NDArray[Any] = np.frombuffer(body, _PRECISIONS[letter], offset=0 if rounded else 1)
    return numbers.reshape(count, -1), rounded
