"""What layered policies share: the walk through layers of rising precision (SupLinUCB's idea).

A round starts in layer 1 with all arms. In a layer, with w the largest width of two remaining
arms (times `stretch`): w <= finest: exploit; w <= 2^-layer: drop arms and go one layer
deeper; otherwise explore a pair wider than 2^-layer. Since 2^-layers <= finest, the walk ends.
"""

from __future__ import annotations

import math

import numpy as np

from duelist.compiled import compiled, plain_int
from duelist.kernels.all_pairs import argmax
from duelist.kernels.scratch import NOTHING, Scratch, same_arms
from duelist.policies._state import Floats, Ints


@compiled
def layers_for(finest: float) -> int:
    """L = ceil(log2(1 / finest)), at least 1."""
    return max(1, math.ceil(math.log2(1.0 / finest) - 1e-12))


@compiled
def keep_good_arms(u: Floats, remaining: Ints, slack: float) -> int:
    """Keep the arms with u >= max u - slack, in place; how many are left."""
    floor = u[argmax(u)] - slack
    left = 0
    for a in range(u.size):
        if u[a] >= floor:
            remaining[left] = remaining[a]
            left += 1
    return left


@compiled
def start_walk(scratch: Scratch, arms: Floats, stretch: float) -> tuple[int, int]:
    """The layer to start from and how many arms remain there, listed in scratch.remaining.

    A walk that meets the arms and the stretch of the walk before it would repeat it down to the first layer
    that has learned since, so it starts from the deepest layer reached above that one. `learn` sees to the
    rest: an outcome in a layer above makes the next walk start anew.
    """
    if same_arms(scratch, arms) and scratch.walk[0] != NOTHING and scratch.walk_key[0] == stretch:
        return scratch.walk[0], scratch.walk[1]
    n = arms.shape[0]
    for a in range(n):
        scratch.remaining[a] = a
    scratch.walk_key[0] = stretch
    reach_layer(scratch, plain_int(0), n)
    return scratch.walk[0], scratch.walk[1]


@compiled
def reach_layer(scratch: Scratch, layer: int, count: int) -> None:
    """Remember that the walk came to this layer with so many arms remaining."""
    scratch.walk[0] = layer
    scratch.walk[1] = count


def powers_of_half(first: int, layers: int) -> Floats:
    """2^-first, 2^-(first + 1), ..., as many as there are layers."""
    return np.asarray(0.5 ** np.arange(first, first + layers, dtype=np.float64))
