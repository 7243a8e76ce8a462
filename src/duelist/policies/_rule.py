"""How a policy's rule reaches compiled code.

A policy file writes its rule once, as a plain function for one run,

    decide(config, state, scratch, arms) -> (first, second, layer, share)

where `config` is a NamedTuple of numbers, `layer` the estimator that will learn the outcome
and `share` the weight w^2 it enters with (0: learn nothing). A rule that wants to read an estimate whose
data have moved on returns `estimate_first(layer)` and is called again when it is solved; so rules do
not contain the solver, and compile in seconds. The decorator `rule(Config)` makes
it the meaning of `decide` for that type of config, so that the loops of the package (one live
run, many contexts, or 128 simulated runs) are written once and compiled for each policy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload

from duelist.compiled import JIT_OPTIONS, compiled, direct, plain_int, written_in
from duelist.kernels.linalg import as_columns, chosen_as_columns, dot, utilities, whiten, whiten_few
from duelist.kernels.many import MANY_ARMS
from duelist.kernels.scratch import Room, Scratch, scratch_of
from duelist.kernels.views import as_matrix, borrowed
from duelist.kernels.whitening import utilities_into, whiten_into
from duelist.policies._state import OUTDATED, Floats, Ints, Layout, State, solve, state_of, tell_once

Decision = tuple[int, int, int, float]
Rule = Callable[[Any, State, Scratch, Floats], Decision]

_RULES: dict[type, Rule] = {}
_UNDECIDED: Final = -1
REFUSED: Final = -2
"""What `ask_once` answers to arms that it cannot take."""
LARGEST_SQUARE: Final = 1e300
"""The sum of squares of all features: what exceeds it is not finite, or overflows when it is squared."""
_INLINED: Any = {**JIT_OPTIONS, "forceinline": True}


def decide(config: NamedTuple, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """The decision of one round; compiled code finds the rule by the type of `config`."""
    return _RULES[type(config)](config, state, scratch, arms)  # plain Python: with NUMBA_DISABLE_JIT=1, for a debugger


def rule(config_class: type) -> Callable[[Rule], Rule]:
    """Make the decorated function the rule for `config_class`."""

    def register(function: Rule) -> Rule:
        _RULES[config_class] = function

        @overload(decide, strict=False, jit_options=_INLINED)
        def dispatch(config: Any, state: Any, scratch: Any, arms: Any) -> Rule | None:
            return function if getattr(config, "instance_class", None) is config_class else None

        return function

    return register


@compiled
def estimate_first(layer: int) -> Decision:
    """What a rule returns to have the estimate of a layer solved before it goes on."""
    return _UNDECIDED, _UNDECIDED, layer, 0.0


@compiled
def outdated(state: State, layer: int) -> bool:
    """Whether the data of a layer have moved on since its estimate was solved."""
    return state.dirty[layer] == OUTDATED


@written_in
def decided(config: Any, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """The decision of the rule, with the estimates it asks for on the way."""
    while True:
        first, second, layer, share = decide(config, state, scratch, arms)
        if first != _UNDECIDED:
            return first, second, layer, share
        solve(state, scratch, layer, config.link, config.online)


@compiled
def ask_once(
    config: Any,
    core: Floats,
    rows: Floats,
    layout: Layout,
    block: Floats,
    room: Room,
    arms: Floats,
    difference: Floats,
) -> Decision:
    """One round of a live policy: counts the round, decides, and writes down the difference of the two arms.

    Arms that do not fit, or are not finite, are `REFUSED`, and nothing is counted.
    """
    shown = borrowed(arms)
    n, dim = shown.shape
    flat = as_matrix(shown, 1, n * dim)[0]
    if n == 0 or n > room.arms or dim != layout.dim or not dot(flat, flat) <= LARGEST_SQUARE:
        return REFUSED, REFUSED, plain_int(0), 0.0
    state = state_of(core, rows, layout)
    state.rounds[0] += 1
    decision = decided(config, state, scratch_of(block, room), shown)
    for k in range(shown.shape[1]):
        difference[k] = shown[decision[0], k] - shown[decision[1], k]
    return decision


@compiled
def tell_live(
    core: Floats,
    rows: Floats,
    layout: Layout,
    block: Floats,
    room: Room,
    link: int,
    online: bool,
    layer: int,
    difference: Floats,
    outcome: float,
    share: float,
    weight: float,
) -> int:
    """`tell_once`; returns how many more distinct differences there is room for."""
    tell_once(core, rows, layout, block, room, link, online, layer, difference, outcome, share, weight)
    return layout.capacity - state_of(core, rows, layout).n_rows[0]


class LiveCode(NamedTuple):
    """What a live policy calls: `ask_once` and `tell_live`, with all arguments that stay the same from round to round."""

    ask: Callable[[Floats, Floats], Decision]
    """arms, room for a difference -> decision"""
    tell: Callable[[int, Floats, float, float, float], int]
    """layer, difference, outcome, share, weight -> rows left"""


_LIVE: dict[type, tuple[Callable[..., Decision], Callable[..., int]]] = {}


def live_code(config: Any, blocks: tuple[Floats, Floats, Layout], room: tuple[Floats, Room]) -> LiveCode:
    """The code of the policy with this type of config for this place, compiled or loaded when first wanted."""
    if type(config) not in _LIVE:
        arms, difference = np.empty((1, 1)), np.empty(1)
        _LIVE[type(config)] = (
            direct(ask_once, config, *blocks, *room, arms, difference),
            direct(tell_live, *blocks, *room, 0, False, 0, difference, 1.0, 1.0, 1.0),
        )
    ask, tell = _LIVE[type(config)]
    return LiveCode(partial(ask, config, *blocks, *room), partial(tell, *blocks, *room, config.link, config.online))


@compiled
def look_at_all(state: State, scratch: Scratch, arms: Floats) -> tuple[Floats, Floats]:
    """Utilities u (n_arms,) and whitened columns v (dim, n_arms) of all arms, for a policy without layers."""
    return look_through(state.factor[0], state, scratch, arms)


@compiled
def look_through(factor: Floats, state: State, scratch: Scratch, arms: Floats) -> tuple[Floats, Floats]:
    """`look_at_all` with widths by another factor than that of the precision."""
    n, dim = arms.shape
    u = scratch.u[:n]
    v = as_matrix(scratch.v, dim, n)
    if n >= MANY_ARMS:
        utilities_into(state.theta[0], arms, u)
        whiten_into(factor, arms, v)
        return u, v
    as_columns(arms, v)
    utilities(state.theta[0], v, u)
    whiten_columns(factor, v, scratch)
    return u, v


@compiled
def whiten_columns(factor: Floats, v: Floats, scratch: Scratch) -> None:
    """Columns x of v become R'^-1 x, by the way that suits their number."""
    dim, n = v.shape
    if 2 * n <= dim:
        whiten_few(factor, v, as_matrix(scratch.near, n, dim))
    else:
        whiten(factor, v)


@compiled
def whitened(state: State, scratch: Scratch, layer: int, arms: Floats, chosen: Ints) -> Floats:
    """Columns (dim, n) of the arms listed in `chosen`, whitened by one layer's precision."""
    n, dim = chosen.size, arms.shape[1]
    v = as_matrix(scratch.v, dim, n)
    if n == arms.shape[0] and n >= MANY_ARMS:
        whiten_into(state.factor[layer], arms, v)
        return v
    chosen_as_columns(arms, chosen, v)
    whiten_columns(state.factor[layer], v, scratch)
    return v


@compiled
def utilities_of(state: State, scratch: Scratch, layer: int, arms: Floats, chosen: Ints) -> Floats:
    """x . theta of the arms listed in `chosen`, with one layer's estimate as it stands."""
    theta = state.theta[layer]
    u = scratch.u[: chosen.size]
    for a in range(u.size):
        arm = arms[chosen[a]]
        total = 0.0
        for k in range(theta.size):
            total += arm[k] * theta[k]
        u[a] = total
    return u
