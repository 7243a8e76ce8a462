"""What Sta'D and SupCoLSTIM share: layers with unit weights and a stretched width p = eta |x - y|."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist import radius as radii
from duelist.compiled import compiled, plain_int
from duelist.errors import InvalidInput
from duelist.kernels.linalg import width_of
from duelist.kernels.pairs import widest_pair
from duelist.kernels.scratch import Scratch
from duelist.policies._layers import keep_good_arms, layers_for, reach_layer, start_walk
from duelist.policies._ledger import difference_for
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy
from duelist.policies._rule import outdated, utilities_of, whitened
from duelist.policies._state import Floats, Ints, Memory, State, most_rounds, with_layers

EXPLORE: Final = 0
EXPLOIT: Final = 1
WAIT: Final = 2  # for the estimate of the layer


class Walk(NamedTuple):
    """Where the walk through the layers ended, why, and with which arms."""

    end: int
    layer: int
    first: int
    second: int
    eta: float
    remaining: Ints
    u: Floats
    v: Floats


@compiled
def stretch(config: RadiusConfig, state: State, n_arms: int) -> float:
    """eta of the present round."""
    horizon = radii.effective_horizon(config.horizon, state.rounds[0])
    if config.kind == radii.THEORY:
        return config.factor * radii.stagewise(n_arms, horizon, state.kappa[0], config.delta)
    if config.kind == radii.SHAPE:
        return config.factor * radii.practical(1, horizon)
    return config.factor


@compiled
def walk(config: RadiusConfig, state: State, scratch: Scratch, arms: Floats) -> Walk:
    """Go down the layers until a pair is to be explored or all p <= 1/sqrt(T)."""
    eta = stretch(config, state, arms.shape[0])
    finest = 1.0 / math.sqrt(radii.effective_horizon(config.horizon, state.rounds[0]))
    last = state.theta.shape[0] - 1
    layer, count = start_walk(scratch, arms, eta)
    while True:
        remaining = scratch.remaining[:count]
        v = whitened(state, scratch, layer, arms, remaining)
        i, j, square = widest_pair(v, scratch.near, scratch)
        p = eta * math.sqrt(square)
        threshold = 2.0 ** -(layer + 1)
        exploit = p <= finest or (layer == last and p <= threshold)
        if p > threshold and not exploit:
            return Walk(EXPLORE, layer, remaining[i], remaining[j], eta, remaining, scratch.u[:0], v)
        if outdated(state, layer):
            return Walk(WAIT, layer, 0, 0, eta, remaining, scratch.u[:0], v)
        u = utilities_of(state, scratch, layer, arms, remaining)
        if exploit:
            return Walk(EXPLOIT, layer, remaining[i], remaining[j], eta, remaining, u, v)
        count = keep_good_arms(u, remaining, threshold)
        layer += 1
        reach_layer(scratch, layer, count)


@dataclass(kw_only=True, eq=False, repr=False)
class StagewisePolicy(RadiusPolicy):
    """Layers s = 1 .. ceil(log2 sqrt(T)), each with its own data, precision and estimate."""

    practical_multiplier: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius == "experiment":
            raise InvalidInput(
                "radius 'experiment' is not defined for layered policies; take 'practical', 'theory', or a number"
            )

    def place(self, difference: ArrayLike) -> tuple[int, float]:
        """The first layer in which eta |z| > 2^-s, with eta for the two arms of the duel; (-1, 0): it is known well."""
        z, state = difference_for(self, difference), self._fitted()
        eta = stretch(self._config, state, plain_int(2))
        for layer, factor in enumerate(state.factor):
            if eta * width_of(factor, z) > 0.5 ** (layer + 1):
                return layer, 1.0
        return -1, 0.0

    def make_memory(self, words: NDArray[np.uint64], arms: Floats) -> Memory:
        """One estimator a layer, all with the same ridge."""
        base = super().make_memory(words, arms)
        return self._deepened(base, 1)

    def make_room(self, memory: Memory, rounds: int, rows: int | None = None) -> Memory:
        """Room for more outcomes and, with an unknown horizon, for the layers they may reach."""
        if self.horizon is None:
            memory = self._deepened(memory, most_rounds(memory) + rounds)
        return super().make_room(memory, rounds, rows)

    def _deepened(self, memory: Memory, t: int) -> Memory:
        horizon = float(self.horizon or radii.effective_horizon(0, t))
        layers = int(layers_for(1.0 / math.sqrt(max(horizon, 2.0))))
        if layers <= memory.layout.layers:
            return memory
        first = np.array([memory.state(run).ridge[:1] for run in range(len(memory.core))])
        ridge = np.repeat(first, layers, axis=1)
        return with_layers(memory, ridge, ridge, np.zeros_like(ridge))

    @property
    def layer_counts_(self) -> list[int]:
        """Duels learned in each layer (their weights summed and rounded)."""
        return [round(c) for c in self._fitted().learned]
