"""What Sta'D and SupCoLSTIM share: layers with unit weights and a stretched width p = eta |x - y|."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist import radius as radii
from duelist.compiled import compiled, plain_int
from duelist.errors import InvalidInput
from duelist.kernels.linalg import utilities, whiten
from duelist.kernels.pairs import widest_pair
from duelist.policies._layers import keep_good_arms, layers_for
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy
from duelist.policies._rule import all_arms
from duelist.policies._state import Floats, Ints, State, solve, with_layers, with_room


class Walk(NamedTuple):
    """Where the walk through the layers ended, and with which arms."""

    exploit: bool
    layer: int
    first: int
    second: int
    eta: float
    remaining: Ints
    u: Floats
    v: Floats


@compiled
def stretch(config: RadiusConfig, state: State, run: int, n_arms: int) -> float:
    """eta of the present round."""
    horizon = radii.effective_horizon(config.horizon, state.rounds[run])
    if config.kind == radii.THEORY:
        return config.factor * radii.stagewise(n_arms, horizon, state.kappa[run], config.delta)
    if config.kind == radii.SHAPE:
        return config.factor * radii.practical(1, horizon)
    return config.factor


@compiled
def walk(config: RadiusConfig, state: State, run: int, arms: Floats) -> Walk:
    """Go down the layers until a pair is to be explored or all p <= 1/sqrt(T)."""
    n = arms.shape[0]
    remaining = all_arms(n)
    count = n
    eta = stretch(config, state, run, n)
    finest = 1.0 / math.sqrt(radii.effective_horizon(config.horizon, state.rounds[run]))
    last = state.theta.shape[1] - 1
    layer = plain_int(0)
    while True:
        v = whiten(state.factor[run, layer], arms, remaining, count)
        i, j, square = widest_pair(v)
        p = eta * math.sqrt(square)
        threshold = 2.0 ** -(layer + 1)
        exploit = p <= finest or (layer == last and p <= threshold)
        if p > threshold and not exploit:
            return Walk(False, layer, remaining[i], remaining[j], eta, remaining, np.empty(0), v)
        solve(state, run, layer, config.link)
        u = utilities(state.theta[run, layer], arms, remaining, count)
        if exploit:
            return Walk(True, layer, 0, 0, eta, remaining, u, v)
        count = keep_good_arms(u, remaining, count, threshold)
        layer += 1


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

    def make_state(self, words: NDArray[np.uint64], arms: Floats) -> State:
        """One estimator a layer, all with the same ridge."""
        base = super().make_state(words, arms)
        return self._deepened(base, 1)

    def make_room(self, state: State, rounds: int) -> State:
        """Room for more outcomes and, with an unknown horizon, for the layers they may reach."""
        if self.horizon is None:
            state = self._deepened(state, int(state.rounds.max()) + rounds)
        return with_room(state, rounds)

    def _deepened(self, state: State, t: int) -> State:
        horizon = float(self.horizon or radii.effective_horizon(0, t))
        layers = int(layers_for(1.0 / math.sqrt(max(horizon, 2.0))))
        if layers <= state.theta.shape[1]:
            return state
        ridge = np.repeat(state.ridge[:, :1], layers, axis=1)
        return with_layers(state, ridge, ridge, np.zeros_like(ridge))

    @property
    def layer_counts_(self) -> list[int]:
        """Duels learned in each layer (their weights summed and rounded)."""
        return [round(c) for c in self._fitted().learned[0]]
