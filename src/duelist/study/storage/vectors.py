"""Feature vectors as bytes, which databases and archives hold.

The first byte is the precision: `s` for single, `d` for double. The numbers follow row by row, little-endian.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32] | NDArray[np.float64]
_PRECISIONS: Final[dict[bytes, np.dtype[Any]]] = {b"s": np.dtype("<f4"), b"d": np.dtype("<f8")}


def packed(vectors: Vectors) -> bytes:
    """Pack vectors (count, dim) into bytes."""
    letter = b"s" if vectors.dtype == np.float32 else b"d"
    return letter + np.ascontiguousarray(vectors, _PRECISIONS[letter]).tobytes()


def unpacked(body: bytes, count: int) -> Vectors:
    """Return the `count` vectors that `packed` wrote; raise ValueError for anything else."""
    letter = bytes(body[:1])
    if letter not in _PRECISIONS:
        raise ValueError(f"features begin with {letter!r}, which is no precision")
    numbers: NDArray[Any] = np.frombuffer(body, _PRECISIONS[letter], offset=1)
    return numbers.reshape(count, -1)
