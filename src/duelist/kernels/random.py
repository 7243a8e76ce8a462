"""The random generator of compiled policies: NumPy's SFC64, bit for bit.

A generator is four unsigned 64-bit words, so it can live in an array of runs, be advanced
by compiled code, and be written into a snapshot. NumPy seeds it; `tests/kernels/test_random.py`
checks the stream against `numpy.random.SFC64`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled

_11 = np.uint64(11)
_3 = np.uint64(3)
_24 = np.uint64(24)
_40 = np.uint64(40)
_1 = np.uint64(1)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53


def seed_words(seed: int | np.random.SeedSequence | None) -> NDArray[np.uint64]:
    """Four words of generator state from a NumPy seed."""
    state = np.random.SFC64(seed).state["state"]["state"]
    return np.asarray(state, dtype=np.uint64)


@compiled
def next_word(words: NDArray[np.uint64]) -> np.uint64:
    """The next 64 random bits; advances `words` in place."""
    a, b, c, counter = words[0], words[1], words[2], words[3]
    out = a + b + counter
    words[0] = b ^ (b >> _11)
    words[1] = c + (c << _3)
    words[2] = ((c << _24) | (c >> _40)) + out
    words[3] = counter + _1
    return out


@compiled
def uniform(words: NDArray[np.uint64]) -> float:
    """A float in [0, 1) with 53 random bits, as NumPy's `Generator.random`."""
    return float(next_word(words) >> _11) * _TO_UNIT


@compiled
def below(words: NDArray[np.uint64], n: int) -> int:
    """An integer in [0, n). The bias, under n / 2^53, is far below what runs can show."""
    return min(int(uniform(words) * n), n - 1)


@compiled
def gumbel(words: NDArray[np.uint64]) -> float:
    """Standard Gumbel by inversion: -log(-log U), U in (0, 1)."""
    u = uniform(words)
    while u == 0.0:
        u = uniform(words)
    return -math.log(-math.log(u))


@compiled
def normal(words: NDArray[np.uint64]) -> float:
    """Standard normal by the Box-Muller transform (the sine half is not kept)."""
    u = 1.0 - uniform(words)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * uniform(words))
