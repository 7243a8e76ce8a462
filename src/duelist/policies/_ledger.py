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
from duelist.policies._curvature import refresh_curvature
from duelist.policies._state import Floats, Layout, cut, state_of

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
    policy._prepare(arms[None], 1)
    (core, rows, layout), (_, room) = policy._ready()
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
    if policy.local_curvature:
        refresh_curvature(*blocks, *aside, policy._config.link, policy._config.online)
    for difference, layer, share in pending:
        if share > 0.0 and 0 <= layer < layout.layers:
            z = difference_for(policy, difference)
            count_pending(*blocks, *aside, policy._config.link, int(layer), z, float(share))
    return Choice(*policy._code.ask(policy._config, *blocks, *aside, arms, np.empty(layout.dim)))


def learn(policy: CompiledPolicy, z: Floats, outcome: float, weight: float, layer: int, share: float) -> None:
    """See `CompiledPolicy.learn`."""
    state = policy._fitted()
    if not -1 <= layer < state.theta.shape[0] or not 0.0 <= share < np.inf:
        raise InvalidInput(f"layer is {layer}, share {share}; give those of the `Choice`, or no layer")
    policy._next_id += 1
    state.rounds[0] += 1
    policy._make_room(ahead=1)  # as `consider` would, so that it leaves no trace either
    if share == 0.0 or layer < 0:
        return
    policy._free_rows -= 1
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
