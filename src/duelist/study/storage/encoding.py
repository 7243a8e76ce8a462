"""How storages and archives encode times and feature vectors.

Times are whole microseconds since 1970 UTC. Vectors are bytes: the first says the precision, `s` for single and `d` for
double; the numbers follow row by row, little-endian.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import InvalidInput

Vectors = NDArray[np.float32] | NDArray[np.float64]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PRECISIONS: Final[dict[bytes, np.dtype[Any]]] = {b"s": np.dtype("<f4"), b"d": np.dtype("<f8")}


def to_microseconds(time: datetime) -> int:
    """Return a time as microseconds since 1970."""
    if time.tzinfo is None:
        raise InvalidInput(
            f"voted_at is {time}, without a time zone.", "Give a time with a time zone, such as UTC.", field="voted_at"
        )
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_microseconds(microseconds: int) -> datetime:
    """Return the UTC time that many microseconds after the start of 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def encode_vectors(vectors: Vectors) -> bytes:
    """Encode vectors (count, dim) as bytes."""
    letter = b"s" if vectors.dtype == np.float32 else b"d"
    return letter + np.ascontiguousarray(vectors, _PRECISIONS[letter]).tobytes()


def decode_vectors(body: bytes, count: int) -> Vectors:
    """Return the `count` vectors that `encode_vectors` wrote; raise ValueError for anything else."""
    letter = bytes(body[:1])
    if letter not in _PRECISIONS:
        raise ValueError(f"features begin with {letter!r}, which is no precision")
    numbers: NDArray[Any] = np.frombuffer(body, _PRECISIONS[letter], offset=1)
    return numbers.reshape(count, -1)
