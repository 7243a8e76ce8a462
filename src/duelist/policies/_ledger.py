"""A policy that is told from a log: what it would ask, and outcomes whoever asked for them.

Here nothing is pending inside the policy. Whoever keeps the log (a study on disk, with many raters) asks what the policy
would do, remembers the duels that are out, and has the outcomes learned in the order of the log. What
the policy knows is then a function of the log alone, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duelist.compiled import compiled
from duelist.errors import InvalidInput
from duelist.inputs import finite_floats
from duelist.kernels.linalg import cholesky_update, dot
from duelist.kernels.random import seed_words
from duelist.kernels.scratch import Room, forget, scratch_block, scratch_of
from duelist.kernels.scratch import cut as cut_scratch
from duelist.links import slope
from duelist.policies._checks import is_number
from duelist.policies._curvature import refresh_curvature
from duelist.policies._rule import live_code
from duelist.policies._state import Floats, Layout, cut, solve_once, state_of

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy


class Choice(NamedTuple):
    """A duel that a policy would ask, and what `learn` will want to know with its outcome."""

    first: int
    second: int
    layer: int
    share: float


@compiled
def count_pending(
    core: Floats,
    rows: Floats,
    layout: Layout,
    block: Floats,
    room: Room,
    link: int,
    layer: int,
    z: Floats,
    share: float,
) -> None:
    """Let a duel that is out count in the precision and in the curvature of its layer, at the present estimate."""
    state = state_of(core, rows, layout)
    scratch = scratch_of(block, room)
    cholesky_update(state.factor[layer], z, share, scratch.step)
    expected = share * slope(link, dot(z, state.theta[layer]))
    cholesky_update(state.curvature[layer], z, expected, scratch.step)


def consider(
    policy: CompiledPolicy,
    arms: Floats,
    pending: Sequence[tuple[ArrayLike, int, float]],
    seed: int | None,
    rounds: int | None,
) -> Choice:
    """See `CompiledPolicy.consider`."""
    _check_moment(seed, rounds)
    policy._prepare(arms[None], 1)
    (core, rows, layout), (_, room) = policy._ready()
    out = [_checked_pending(policy, *duel) for duel in pending]
    if policy._aside is None or policy._aside[1] != room:
        policy._aside = scratch_block(room), room
    aside = policy._aside
    forget(cut_scratch(*aside))
    blocks = core.copy(), rows, layout
    state = cut(*blocks)
    if seed is not None:
        state.words[:] = seed_words(seed)
    if rounds is not None:
        state.rounds[0] = rounds
    link, online = policy._config.link, policy._config.online
    if policy.local_curvature:
        # Solved before the duels that are out are counted: a solve makes the curvature anew.
        if state.dirty[0] and not online:
            solve_once(*blocks, *aside, link, 0)
        refresh_curvature(*blocks, *aside, link, online)
    for z, layer, share in out:
        if share > 0.0 and layer >= 0:
            count_pending(*blocks, *aside, link, layer, z, share)
    return Choice(*live_code(policy._config, blocks, aside).ask(arms, np.empty(layout.dim)))


def learn(policy: CompiledPolicy, z: Floats, outcome: float, weight: float, layer: int, share: float) -> None:
    """See `CompiledPolicy.learn`."""
    state = policy._fitted()
    layer, share = _checked_place(policy, layer, share)
    policy._next_id += 1
    state.rounds[0] += 1
    policy._make_room(ahead=1)  # as `consider` would, so that it leaves no trace either
    if share == 0.0 or layer < 0:
        return
    policy._absorb(layer, z, outcome, share, weight)
    if not policy.online_:
        policy.estimate(layer)  # now and not when next read, so that reading leaves no trace in the last bits


def difference_for(policy: CompiledPolicy, difference: ArrayLike) -> Floats:
    """The difference as numbers of the policy's dimension."""
    z = finite_floats("difference", difference, "the features of the first arm minus those of the second")
    if z.shape != (policy.dim_,):
        if policy.dim_ is None:
            policy._fitted()  # says that it has seen no arms
        raise InvalidInput(f"difference has shape {z.shape}; give {policy.dim_} numbers, first arm minus second")
    return z


def _checked_place(policy: CompiledPolicy, layer: int, share: float) -> tuple[int, float]:
    """A layer that the policy has (-1: none) and the share of an outcome in it."""
    whole = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
    if (
        not whole
        or not -1 <= layer < policy._fitted().theta.shape[0]
        or not is_number(share)
        or not 0.0 <= share < np.inf
    ):
        raise InvalidInput(f"layer is {layer!r}, share {share!r}; give those of the `Choice`, or no layer")
    return int(layer), float(share)


def _checked_pending(
    policy: CompiledPolicy, difference: ArrayLike, layer: int, share: float
) -> tuple[Floats, int, float]:
    return difference_for(policy, difference), *_checked_place(policy, layer, share)


def _check_moment(seed: int | None, rounds: int | None) -> None:
    for name, value in (("seed", seed), ("rounds", rounds)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if value is not None and not (whole and value >= 0):
            raise InvalidInput(f"{name} is {value!r}; give a whole number of at least 0, or None")
