"""What layered policies share: the walk through layers of rising precision (SupLinUCB's idea).

A round starts in layer 1 with all arms. In a layer, with w the largest width of two remaining
arms (times `stretch`): w <= finest: exploit; w <= 2^-layer: drop arms and go one layer
deeper; otherwise explore a pair wider than 2^-layer. Since 2^-layers <= finest, the walk ends.
"""

from __future__ import annotations

import math

import numpy as np

from duelist.compiled import compiled
from duelist.policies._state import Floats, Ints


@compiled
def layers_for(finest: float) -> int:
    """L = ceil(log2(1 / finest)), at least 1."""
    return max(1, math.ceil(math.log2(1.0 / finest) - 1e-12))


@compiled
def keep_good_arms(u: Floats, remaining: Ints, count: int, slack: float) -> int:
    """Keep the arms with u >= max u - slack, in place; how many are left."""
    floor = u.max() - slack
    left = 0
    for a in range(count):
        if u[a] >= floor:
            remaining[left] = remaining[a]
            left += 1
    return left


def powers_of_half(layers: int) -> Floats:
    """2^-1, 2^-2, ... 2^-layers."""
    return np.asarray(0.5 ** np.arange(1, layers + 1))
