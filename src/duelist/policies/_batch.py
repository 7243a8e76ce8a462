"""Many contexts at once: a prompt with its answers each, thousands of prompts in one call.

The policy's own rule decides every context from what the policy knows now; the contexts are dealt
to threads. Each thread works on a copy of what the policy knows, because rules solve estimates when
they first read them; a rule that draws random numbers plays the contexts in order, in one thread.

To choose k contexts, a duel in layer l with difference z and weight w^2 is worth

    log(1 + w^2 |z|^2_{Sigma_l^-1}),

the growth of log det Sigma_l that it brings. It shrinks once other duels are chosen, so the contexts are
chosen greedily, each for what it adds; greedy choice reaches at least 1 - 1/e of the best total
(Nemhauser, Wolsey and Fisher 1978), and since a worth only ever falls, few have to be looked at again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.compiled import compiled
from duelist.domain import Duel
from duelist.errors import InvalidInput
from duelist.inputs import finite_floats
from duelist.kernels.linalg import dot, solve_lower
from duelist.kernels.scratch import Room, scratch_block, scratch_of
from duelist.policies._rule import LARGEST_SQUARE, decided
from duelist.policies._state import Floats, Ints, Layout, state_of

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy

_GROUP: Final = 100
"""Contexts whose best is remembered, so that the best of ten thousand is found among a hundred."""


@dataclass(frozen=True)
class Batch:
    """Duels in contexts, as pairs (context, duel).

    `contexts` are positions in the arms that were given: all in order, or the k chosen ones, the first
    chosen first. `information` is what each duel adds, log(1 + w^2 |x - y|^2), to those before it where k was
    given, on its own otherwise; 0 where the policy would learn nothing.
    """

    contexts: Ints
    duels: list[Duel]
    information: Floats

    def __iter__(self) -> Iterator[tuple[int, Duel]]:
        return iter(zip(self.contexts.tolist(), self.duels, strict=True))

    def __len__(self) -> int:
        return len(self.duels)


@compiled
def decide_all(
    config: Any,
    core: Floats,
    rows: Floats,
    layout: Layout,
    block: Floats,
    room: Room,
    arms: Floats,
    start: int,
    stop: int,
    choice: Ints,
    share: Floats,
    lifted: Floats,
) -> None:
    """Contexts start .. stop - 1: first, second and layer into `choice`, w^2, and w R'^-1 z into `lifted`."""
    state = state_of(core, rows, layout)
    scratch = scratch_of(block, room)
    for c in range(start, stop):
        first, second, layer, w2 = decided(config, state, scratch, arms[c])
        choice[c, 0], choice[c, 1], choice[c, 2] = first, second, layer
        share[c] = w2
        z = lifted[c]
        if w2 > 0.0:
            root = math.sqrt(w2)
            for k in range(z.size):
                z[k] = root * (arms[c, first, k] - arms[c, second, k])
            solve_lower(state.factor[layer], z)
        else:
            for k in range(z.size):
                z[k] = 0.0


@compiled
def choose(lifted: Floats, layer: Ints, k: int, chosen: Ints, information: Floats) -> None:
    """The k contexts of most information, greedily; equal ones: the first. Overwrites `lifted`.

    After a duel with lifted difference p is chosen, every other a of its layer becomes
    a - (1 - 1/sqrt(1 + |p|^2)) (a.p / |p|^2) p, its lifted difference under the larger precision. This is done only
    to a context that would be chosen next, for all duels chosen since it was last looked at.
    """
    n = lifted.shape[0]
    worth = np.empty(n)
    seen = np.zeros(n, np.int64)
    square = np.empty(k)
    for c in range(n):
        worth[c] = dot(lifted[c], lifted[c])
    best = np.empty((n + _GROUP - 1) // _GROUP, np.int64)
    for group in range(best.size):
        best[group] = _best_of_group(worth, group)
    for done in range(k):
        while True:
            c = _best_of_all(worth, best)
            if seen[c] == done:
                break
            for past in range(seen[c], done):
                p = chosen[past]
                if layer[p] == layer[c]:
                    _discount(lifted[c], lifted[p], square[past])
            seen[c] = done
            worth[c] = dot(lifted[c], lifted[c])
            best[c // _GROUP] = _best_of_group(worth, c // _GROUP)
        chosen[done] = c
        square[done] = worth[c]
        information[done] = math.log1p(worth[c])
        worth[c] = -1.0
        seen[c] = k
        best[c // _GROUP] = _best_of_group(worth, c // _GROUP)


@compiled
def _best_of_group(worth: Floats, group: int) -> int:
    """The first context of largest worth in a group."""
    best = group * _GROUP
    for c in range(best + 1, min(best + _GROUP, worth.size)):
        if worth[c] > worth[best]:
            best = c
    return best


@compiled
def _best_of_all(worth: Floats, best: Ints) -> int:
    """The first context of largest worth, given that of every group."""
    top = best[0]
    for group in range(1, best.size):
        if worth[best[group]] > worth[top]:
            top = best[group]
    return top


@compiled
def _discount(a: Floats, p: Floats, square: float) -> None:
    """See `choose`; `square` is |p|^2."""
    if square == 0.0:
        return
    size = (1.0 - 1.0 / math.sqrt(1.0 + square)) * dot(a, p) / square
    for i in range(a.size):
        a[i] -= size * p[i]


def ask_batch(policy: CompiledPolicy, arms: ArrayLike, k: int | None, threads: int | None) -> Batch:
    """See `CompiledPolicy.ask_batch`."""
    shown = _check_contexts(arms, policy.dim_)
    n = len(shown)
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    if k is not None and not (whole and 1 <= k <= n):
        raise InvalidInput(f"k is {k!r}; give a number of contexts from 1 to {n}, or None for all of them")
    if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of at least 1, or None for all cores")
    policy._prepare(shown, n)
    choice, share, lifted = _decided(policy, shown, int(threads or os.cpu_count() or 1))
    if k is None:
        contexts = np.arange(n)
        information = np.log1p(np.einsum("cd,cd->c", lifted, lifted))
    else:
        contexts, information = np.empty(k, np.int64), np.empty(k)
        choose(lifted, np.ascontiguousarray(choice[:, 2]), k, contexts, information)
    policy._fitted().rounds[0] += len(contexts)
    return Batch(contexts, _hand_out(policy, shown, contexts, choice, share), information)


def _decided(policy: CompiledPolicy, shown: Floats, threads: int) -> tuple[Ints, Floats, Floats]:
    n, candidates, dim = shown.shape
    choice, share, lifted = np.empty((n, 3), np.int64), np.empty(n), np.empty((n, dim))
    assert policy._blocks is not None  # noqa: S101  (for the type checker)
    core, rows, layout = policy._blocks
    room = Room(candidates, dim, layout.capacity)
    if policy.uses_randomness:
        threads = 1
    bounds = np.linspace(0, n, threads + 1).astype(int)

    def task(start: int, stop: int) -> None:
        mine = core if policy.uses_randomness else core.copy()
        decide_all(
            policy._config, mine, rows, layout, scratch_block(room), room, shown, start, stop, choice, share, lifted
        )

    # All contexts of a batch are decided in the same round.
    policy._fitted().rounds[0] += 1
    try:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(task, a, b) for a, b in pairwise(bounds)]:
                done.result()
    finally:
        policy._fitted().rounds[0] -= 1
    return choice, share, lifted


def _hand_out(policy: CompiledPolicy, shown: Floats, contexts: Ints, choice: Ints, share: Floats) -> list[Duel]:
    first, second, layer = choice[contexts].T
    differences = shown[contexts, first] - shown[contexts, second]
    settings = zip(first.tolist(), second.tolist(), layer.tolist(), share[contexts].tolist(), differences, strict=True)
    return [policy._asked(i, j, place, w2, z.copy()) for i, j, place, w2, z in settings]


def _check_contexts(arms: ArrayLike, dim: int | None) -> NDArray[np.float64]:
    """`arms` as finite floats (contexts, candidates, dim)."""
    wanted = "finite features (contexts, candidates, dim)"
    try:
        shown = np.ascontiguousarray(arms, np.float64)
    except (TypeError, ValueError, OverflowError):
        shown = finite_floats("arms", arms, wanted)  # says what is wrong with them
    # One pass proves every entry finite and small enough to square, without a copy.
    tame = np.vdot(shown, shown) <= LARGEST_SQUARE
    if not tame:
        finite_floats("arms", arms, wanted)
    if shown.ndim != 3 or 0 in shown.shape:
        raise InvalidInput(f"arms have shape {shown.shape}; give finite features (contexts, candidates, dim)")
    if dim is not None and shown.shape[2] != dim:
        raise InvalidInput(
            f"arms have {shown.shape[2]} features, but this policy has learned with {dim}; "
            "give the same features every round, or start a new policy"
        )
    if not tame:
        raise InvalidInput(
            f"arms have features as large as {np.abs(shown).max():.6g}, whose squares overflow; rescale the features"
        )
    return shown
