"""What a policy knows: estimators with their data, for many runs at once.

Every array has a leading axis of runs; a live policy is one run. A run has one estimator
per layer (policies without layers have one), and each estimator keeps

    factor   lower Cholesky factor of its precision Sigma,
    theta    its estimate, solved only when read (`dirty` says the data have moved on),
    rows     its distinct differences z, with mass W = sum w^2 and wins O = sum w^2 o.

Rows of all layers of a run share one pool; a layer's rows form a chain through `next_row`.
A difference seen again in the same layer adds to its row, so a fixed set of K arms needs at
most K(K-1)/2 rows a layer however long it is played. z and -z share a row: the difference is
stored with its first nonzero entry positive, and the outcome is turned with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, plain_int
from duelist.kernels.linalg import cholesky_update
from duelist.kernels.mle import OUT_OF_ITERATIONS, newton

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_ROW = -1
_FIRST_CAPACITY = 64
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing
_SHIFT = np.uint64(29)
_HALF = np.uint64(32)
_LOW_BITS = np.uint64(0x7FFFFFFFFFFFFFFF)

TOLERANCE = 1e-12
"""Newton decrement at which an estimate counts as solved, one last step included."""
MAX_ITERATIONS = 200


class State(NamedTuple):
    """See the module. Shapes: R runs, E estimators a run, d dimensions, C rows of capacity."""

    words: NDArray[np.uint64]  # (R, 4) random generator
    rounds: Ints  # (R,) duels asked
    kappa: Floats  # (R,) smallest slope of the link
    units: Floats  # (R,) squared size of a feature, which practical priors are multiples of
    ridge: Floats  # (R, E) ridge of each estimate
    factor: Floats  # (R, E, d, d)
    theta: Floats  # (R, E, d)
    radius: Floats  # (R, E) for policies whose radius belongs to the estimate
    dirty: NDArray[np.bool_]  # (R, E)
    learned: Floats  # (R, E) duels learned from, each counted with its weight
    stamp: Ints  # (R, E) round of the last update
    head: Ints  # (R, E) newest row of each chain
    n_rows: Ints  # (R,)
    z: Floats  # (R, d, C)
    mass: Floats  # (R, C)
    wins: Floats  # (R, C)
    layer: Ints  # (R, C)
    next_row: Ints  # (R, C)
    table: Ints  # (R, 2C) open-addressing hash table: row + 1, or 0 where empty


class Pending(NamedTuple):
    """What was decided at ask and is needed at tell."""

    first: int
    second: int
    difference: Floats
    layer: int
    share: float


def empty_state(
    words: NDArray[np.uint64], kappa: Floats, units: Floats, ridge: Floats, prior: Floats, radius: Floats, dim: int
) -> State:
    """A state that has seen nothing: precision `prior` I and estimate 0 in every layer.

    `words` (R, 4), `kappa` and `units` (R,); `ridge`, `prior` and `radius` (R, E).
    """
    runs, estimators = ridge.shape
    factor = np.zeros((runs, estimators, dim, dim))
    factor[..., np.arange(dim), np.arange(dim)] = np.sqrt(prior)[..., None]
    capacity = _FIRST_CAPACITY
    return State(
        words=words.copy(),
        rounds=np.zeros(runs, np.int64),
        kappa=kappa.copy(),
        units=units.copy(),
        ridge=ridge.copy(),
        factor=factor,
        theta=np.zeros((runs, estimators, dim)),
        radius=radius.copy(),
        dirty=np.zeros((runs, estimators), np.bool_),
        learned=np.zeros((runs, estimators)),
        stamp=np.zeros((runs, estimators), np.int64),
        head=np.full((runs, estimators), _NO_ROW, np.int64),
        n_rows=np.zeros(runs, np.int64),
        z=np.zeros((runs, dim, capacity)),
        mass=np.zeros((runs, capacity)),
        wins=np.zeros((runs, capacity)),
        layer=np.zeros((runs, capacity), np.int64),
        next_row=np.full((runs, capacity), _NO_ROW, np.int64),
        table=np.zeros((runs, 2 * capacity), np.int64),
    )


def with_room(state: State, rows: int) -> State:
    """The same state with capacity for `rows` more rows in every run."""
    needed = int(state.n_rows.max()) + rows
    capacity = state.mass.shape[1]
    if needed <= capacity:
        return state
    while capacity < needed:
        capacity *= 2

    def stretched(array: NDArray[Any]) -> NDArray[Any]:
        wider = np.zeros((*array.shape[:-1], capacity), array.dtype)
        wider[..., : array.shape[-1]] = array
        return wider

    names = ("z", "mass", "wins", "layer", "next_row")
    wider: dict[str, Any] = {name: stretched(getattr(state, name)) for name in names}
    state = state._replace(table=np.zeros((state.table.shape[0], 2 * capacity), np.int64), **wider)
    _rebuild_table(state)
    return state


def with_layers(state: State, ridge: Floats, prior: Floats, radius: Floats) -> State:
    """The same state with more estimators, the new ones empty; arrays as in `empty_state`."""
    known = state.ridge.shape[1]
    fresh = empty_state(
        state.words, state.kappa, state.units, ridge[:, known:], prior[:, known:], radius[:, known:], state.z.shape[1]
    )
    names = ("ridge", "factor", "theta", "radius", "dirty", "learned", "stamp", "head")
    joined: dict[str, Any] = {n: np.concatenate([getattr(state, n), getattr(fresh, n)], axis=1) for n in names}
    return state._replace(**joined)


@compiled
def _slot(z: Floats, layer: int, table_size: int) -> int:
    """Where the search for (layer, z) starts in the table."""
    bits = z.view(np.uint64)
    h = np.uint64(layer + 1) * _MULTIPLIER
    for k in range(bits.size):
        h = (h ^ bits[k]) * _MULTIPLIER
        h ^= h >> _SHIFT
    # Round numbers differ only in high bits, and products move bits up: bring them down again.
    h ^= h >> _HALF
    h *= _MULTIPLIER
    h ^= h >> _SHIFT
    return int(h & _LOW_BITS) & (table_size - 1)


@compiled
def _rebuild_table(state: State) -> None:
    size = state.table.shape[1]
    for run in range(state.n_rows.size):
        for row in range(state.n_rows[run]):
            slot = _slot(state.z[run, :, row].copy(), state.layer[run, row], size)
            while state.table[run, slot] != 0:
                slot = (slot + 1) & (size - 1)
            state.table[run, slot] = row + 1


@compiled
def _row_of(state: State, run: int, layer: int, z: Floats) -> int:
    """The row of z in that layer, made if it is new."""
    size = state.table.shape[1]
    slot = _slot(z, layer, size)
    while state.table[run, slot] != 0:
        row = state.table[run, slot] - 1
        if state.layer[run, row] == layer:
            same = True
            for k in range(z.size):
                if state.z[run, k, row] != z[k]:
                    same = False
                    break
            if same:
                return row
        slot = (slot + 1) & (size - 1)
    row = state.n_rows[run]
    state.n_rows[run] = row + 1
    state.table[run, slot] = row + 1
    for k in range(z.size):
        state.z[run, k, row] = z[k]
    state.mass[run, row] = 0.0
    state.wins[run, row] = 0.0
    state.layer[run, row] = layer
    state.next_row[run, row] = state.head[run, layer]
    state.head[run, layer] = row
    return row


@compiled
def learn(state: State, run: int, layer: int, difference: Floats, outcome: float, share: float, weight: float) -> bool:
    """One outcome into one estimator; whether it taught anything. `share` is the policy's w^2, `weight` the caller's.

    A self-duel (zero difference) carries no information and changes nothing. There must be
    room for one more row.
    """
    z = difference.copy()
    sign = 0.0
    for k in range(z.size):
        if z[k] != 0.0:
            sign = 1.0 if z[k] > 0.0 else -1.0
            break
    if sign == 0.0:
        return False
    for k in range(z.size):
        z[k] = sign * z[k] + 0.0  # never -0.0, so that equal rows have equal bits
    if sign < 0.0:
        outcome = 1.0 - outcome
    row = _row_of(state, run, layer, z)
    mass = share * weight
    state.mass[run, row] += mass
    state.wins[run, row] += mass * outcome
    cholesky_update(state.factor[run, layer], z, mass)
    state.learned[run, layer] += weight
    state.stamp[run, layer] = state.rounds[run]
    state.dirty[run, layer] = True
    return True


@compiled
def layer_rows(state: State, run: int, layer: int) -> tuple[Floats, Floats, Floats]:
    """The layer's rows, mass and wins, oldest first."""
    dim = state.z.shape[1]
    n = 0
    row = state.head[run, layer]
    while row != _NO_ROW:
        n += 1
        row = state.next_row[run, row]
    z = np.empty((dim, n))
    mass = np.empty(n)
    wins = np.empty(n)
    row = state.head[run, layer]
    while row != _NO_ROW:
        n -= 1
        for k in range(dim):
            z[k, n] = state.z[run, k, row]
        mass[n] = state.mass[run, row]
        wins[n] = state.wins[run, row]
        row = state.next_row[run, row]
    return z, mass, wins


@compiled
def solve(state: State, run: int, layer: int, link: int) -> None:
    """Bring the estimate of one layer up to date with its data."""
    if not state.dirty[run, layer]:
        return
    theta = state.theta[run, layer]
    ridge = state.ridge[run, layer]
    if state.theta.shape[1] == 1:  # a single chain is the whole pool, in order
        n = state.n_rows[run]
        mass, wins = state.mass[run, :n], state.wins[run, :n]
        status, _ = newton(state.z[run], mass, wins, ridge, link, theta, TOLERANCE, MAX_ITERATIONS)
    else:
        z, mass, wins = layer_rows(state, run, layer)
        status, _ = newton(z, mass, wins, ridge, link, theta, TOLERANCE, MAX_ITERATIONS)
    state.dirty[run, layer] = status == OUT_OF_ITERATIONS  # then the next read goes on from here


@compiled
def solve_only(state: State, run: int, link: int) -> None:
    """Bring the estimate of a policy without layers up to date."""
    solve(state, run, plain_int(0), link)
