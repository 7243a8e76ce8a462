"""What a policy knows: estimators with their data.

A run has one estimator per layer (policies without layers have one), and each keeps

    factor     upper factor R of its precision, Sigma = R'R,
    theta      its estimate,
    curvature  upper factor of the curvature H that theta was found with (`kernels.tracking`),
    rows       its distinct differences z, with mass W = sum w^2 and wins O = sum w^2 o.

Rows of all layers of a run share one pool; a layer's rows form a chain through `next_row`.
A difference seen again in the same layer adds to its row, so a fixed set of K arms needs at
most K(K-1)/2 rows a layer however long it is played. z and -z share a row: the difference is
stored with its first nonzero entry positive, and the outcome is turned with it. The one-pass
estimator (`online`) keeps no rows at all.

A run is two blocks of memory, `core` (of fixed size) and `rows` (which grows), and a `State` is a view of
them, cut into arrays. A call into compiled code hands over two arrays instead of twenty, and
many runs are two matrices with a row each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart, written_in
from duelist.kernels.linalg import cholesky_update_both
from duelist.kernels.mle import OUT_OF_ITERATIONS
from duelist.kernels.scratch import NOTHING, Room, Scratch, aligned_zeros, scratch_of
from duelist.kernels.tracking import GUESS, TO_ROUNDING, keep_within, move_with, refine
from duelist.kernels.views import as_cube, as_matrix, borrowed
from duelist.links import mean, slope

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SOLVED: Final = 0
OUTDATED: Final = 1
UNFINISHED: Final = 2
_NO_ROW: Final = -1
_PAD: Final = 16
_FIRST_CAPACITY: Final = 64 + _PAD
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing
_SHIFT = np.uint64(29)
_HALF = np.uint64(32)
_LOW_BITS = np.uint64(0x7FFFFFFFFFFFFFFF)


class Layout(NamedTuple):
    """How the blocks of a run are cut: estimators, dimensions, capacity for rows (a power of two and `_PAD`).

    With a plain power of two, the same row of every feature would compete for one place in the cache.
    """

    layers: int
    dim: int
    capacity: int

    @property
    def core_size(self) -> int:
        """Numbers in `core`."""
        return _SCALARS + self.layers * (_LAYER_NUMBERS + self.dim + 2 * self.dim * self.dim)

    @property
    def rows_size(self) -> int:
        """Numbers in `rows`."""
        return self.capacity * (_ROW_NUMBERS + self.dim) + self.table_size

    @property
    def table_size(self) -> int:
        """Places in the hash table, a power of two."""
        return 2 * (self.capacity - _PAD)


class Memory(NamedTuple):
    """What many runs know: the blocks of each, one run a row."""

    layout: Layout
    core: Floats  # (runs, layout.core_size)
    rows: Floats  # (runs, layout.rows_size)

    def state(self, run: int = 0) -> State:
        """A view of one run."""
        return cut(self.core[run], self.rows[run], self.layout)


class Pending(NamedTuple):
    """What was decided at ask and is needed at tell."""

    first: int
    second: int
    difference: Floats
    layer: int
    share: float


class State(NamedTuple):
    """What one run knows; see the module. E estimators, d dimensions, C rows of capacity."""

    core: Floats  # the block that all but the rows lie in
    rows: Floats  # the block that the rows lie in
    layout: Layout
    words: NDArray[np.uint64]  # (4,) random generator
    rounds: Ints  # (1,) duels asked
    n_rows: Ints  # (1,)
    kappa: Floats  # (1,) smallest slope of the link
    units: Floats  # (1,) squared size of a feature, which practical priors are multiples of
    bound: Floats  # (1,) what |theta| is kept within by the one-pass estimator; infinite: nothing
    ridge: Floats  # (E,) ridge of each estimate
    radius: Floats  # (E,) for policies whose radius belongs to the estimate
    learned: Floats  # (E,) duels learned from, each counted with its weight
    residual: Floats  # (E,) sum of w^2 (o - mu)^2 as the one-pass estimator met them
    dirty: Ints  # (E,) `OUTDATED`: the data have moved on since theta was solved; `UNFINISHED`: the solver gave up
    stale: Ints  # (E,) 1: ... since the radius was computed
    stamp: Ints  # (E,) round of the last update
    head: Ints  # (E,) newest row of each chain
    chain: Ints  # (E,) rows of each chain
    theta: Floats  # (E, d)
    factor: Floats  # (E, d, d)
    curvature: Floats  # (E, d, d)
    z: Floats  # (d, C)
    mass: Floats  # (C,)
    wins: Floats  # (C,)
    layer: Ints  # (C,)
    place: Ints  # (C,) position of a row in its chain, oldest first
    next_row: Ints  # (C,)
    table: Ints  # (2C - 32,) open-addressing hash table: row + 1, or 0 where empty


_ROUNDS: Final = 4
_N_ROWS: Final = 5
_SCALARS: Final = 9
_LAYER_NUMBERS: Final = 9
_ROW_NUMBERS: Final = 5


def cut(core: Floats, rows: Floats, layout: Layout) -> State:
    """The blocks of one run, cut into arrays."""
    e, d, c = layout
    core, rows = borrowed(core), borrowed(rows)
    whole = core.view(np.int64)
    rows_whole = rows.view(np.int64)
    at = _SCALARS
    square = at + _LAYER_NUMBERS * e + e * d
    pool = c * d
    return State(
        core=core,
        rows=rows,
        layout=layout,
        words=core[:4].view(np.uint64),
        rounds=whole[_ROUNDS : _ROUNDS + 1],
        n_rows=whole[_N_ROWS : _N_ROWS + 1],
        kappa=core[6:7],
        units=core[7:8],
        bound=core[8:9],
        ridge=core[at : at + e],
        radius=core[at + e : at + 2 * e],
        learned=core[at + 2 * e : at + 3 * e],
        residual=core[at + 3 * e : at + 4 * e],
        dirty=whole[at + 4 * e : at + 5 * e],
        stale=whole[at + 5 * e : at + 6 * e],
        stamp=whole[at + 6 * e : at + 7 * e],
        head=whole[at + 7 * e : at + 8 * e],
        chain=whole[at + 8 * e : at + 9 * e],
        theta=as_matrix(core[at + 9 * e :], e, d),
        factor=as_cube(core[square:], e, d, d),
        curvature=as_cube(core[square + e * d * d :], e, d, d),
        z=as_matrix(rows, d, c),
        mass=rows[pool : pool + c],
        wins=rows[pool + c : pool + 2 * c],
        layer=rows_whole[pool + 2 * c : pool + 3 * c],
        place=rows_whole[pool + 3 * c : pool + 4 * c],
        next_row=rows_whole[pool + 4 * c : pool + 5 * c],
        table=rows_whole[pool + 5 * c : pool + 5 * c + 2 * (c - _PAD)],
    )


state_of = compiled(cut)
"""`cut` for compiled code, which borrows the blocks."""

ARRAYS: Final = State._fields[3:]
"""The names of the arrays that the blocks are cut into."""
POOLED: Final = ("z", "mass", "wins", "layer", "place", "next_row")
"""Arrays with one entry a row, along their last axis."""
PER_LAYER: Final = (
    "ridge", "radius", "learned", "residual", "dirty", "stale", "stamp", "head", "chain", "theta", "factor", "curvature",
)  # fmt: skip
"""Arrays with one entry an estimator, along their first axis."""


def memory_for(runs: int, layout: Layout) -> Memory:
    """Room for that many runs, all zero."""
    return Memory(layout, np.zeros((runs, layout.core_size)), aligned_zeros(runs, layout.rows_size))


def empty_memory(
    words: NDArray[np.uint64], kappa: Floats, units: Floats, ridge: Floats, prior: Floats, radius: Floats, dim: int
) -> Memory:
    """Runs that have seen nothing: precision `prior` I and estimate 0 in every layer.

    `words` (R, 4), `kappa` and `units` (R,); `ridge`, `prior` and `radius` (R, E).
    """
    runs, layers = ridge.shape
    layout = Layout(layers, dim, _FIRST_CAPACITY)
    memory = memory_for(runs, layout)
    diagonal = np.arange(dim)
    for run in range(runs):
        state = memory.state(run)
        state.words[:] = words[run]
        state.kappa[0], state.units[0], state.bound[0] = kappa[run], units[run], np.inf
        state.ridge[:], state.radius[:] = ridge[run], radius[run]
        state.head[:] = _NO_ROW
        state.factor[:, diagonal, diagonal] = np.sqrt(prior[run])[:, None]
        state.curvature[:, diagonal, diagonal] = np.sqrt(ridge[run])[:, None]
    return memory


def with_room(memory: Memory, rows: int) -> Memory:
    """The same memory with capacity for `rows` more rows in every run."""
    runs = len(memory.core)
    needed = int(memory.core.view(np.int64)[:, _N_ROWS].max()) + rows
    capacity = memory.layout.capacity
    if needed <= capacity:
        return memory
    while capacity < needed:
        capacity = 2 * capacity - _PAD
    layout = memory.layout._replace(capacity=capacity)
    grown = Memory(layout, memory.core, aligned_zeros(runs, layout.rows_size))
    _move_rows(memory.core, memory.rows, memory.layout, grown.rows, layout)
    return grown


def with_layers(memory: Memory, ridge: Floats, prior: Floats, radius: Floats) -> Memory:
    """The same memory with more estimators, the new ones empty; arrays as in `empty_memory`."""
    known, dim = memory.layout.layers, memory.layout.dim
    runs = range(len(memory.core))
    states = [memory.state(run) for run in runs]
    words, kappa, units = (np.array([getattr(s, n) for s in states]) for n in ("words", "kappa", "units"))
    fresh = empty_memory(words, kappa[:, 0], units[:, 0], ridge, prior, radius, dim)
    layout = memory.layout._replace(layers=ridge.shape[1])
    deeper = Memory(layout, fresh.core, memory.rows)
    for run in runs:
        new = deeper.state(run)
        for name in ("rounds", "n_rows", "bound"):
            getattr(new, name)[:] = getattr(states[run], name)
        for name in PER_LAYER:
            getattr(new, name)[:known] = getattr(states[run], name)
    return deeper


def most_rounds(memory: Memory) -> int:
    """Rounds played in the run that is furthest ahead."""
    return int(memory.core.view(np.int64)[:, _ROUNDS].max())


def joined(memories: list[Memory]) -> Memory:
    """Runs of one layout, in one memory."""
    core, rows = (np.concatenate([getattr(m, name) for m in memories]) for name in ("core", "rows"))
    return Memory(memories[0].layout, core, rows)


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


@compiled_apart
def _move_rows(core: Floats, rows: Floats, layout: Layout, new_rows: Floats, new_layout: Layout) -> None:
    """The rows of every run to a larger block; what no row has used stays untouched, and so takes no memory."""
    for run in range(core.shape[0]):
        old = state_of(core[run], rows[run], layout)
        new = state_of(core[run], new_rows[run], new_layout)
        n = old.n_rows[0]
        for k in range(layout.dim):
            new.z[k, :n] = old.z[k, :n]
        new.mass[:n] = old.mass[:n]
        new.wins[:n] = old.wins[:n]
        new.layer[:n] = old.layer[:n]
        new.place[:n] = old.place[:n]
        new.next_row[:n] = old.next_row[:n]
        _fill_table(new)


@compiled
def _fill_table(state: State) -> None:
    """The hash table of all rows, from an empty one."""
    size = state.table.size
    for row in range(state.n_rows[0]):
        slot = _slot(state.z[:, row].copy(), state.layer[row], size)
        while state.table[slot] != 0:
            slot = (slot + 1) & (size - 1)
        state.table[slot] = row + 1


@compiled
def _row_of(state: State, layer: int, z: Floats) -> int:
    """The row of z in that layer, made if it is new."""
    size = state.table.size
    slot = _slot(z, layer, size)
    while state.table[slot] != 0:
        row = state.table[slot] - 1
        if state.layer[row] == layer:
            same = True
            for k in range(z.size):
                if state.z[k, row] != z[k]:
                    same = False
                    break
            if same:
                return row
        slot = (slot + 1) & (size - 1)
    row = state.n_rows[0]
    state.n_rows[0] = row + 1
    state.table[slot] = row + 1
    for k in range(z.size):
        state.z[k, row] = z[k]
    state.mass[row] = 0.0
    state.wins[row] = 0.0
    state.layer[row] = layer
    state.place[row] = state.chain[layer]
    state.next_row[row] = state.head[layer]
    state.head[layer] = row
    state.chain[layer] += 1
    return row


@written_in
def learn(
    state: State,
    scratch: Scratch,
    link: int,
    online: bool,
    layer: int,
    difference: Floats,
    outcome: float,
    share: float,
    weight: float,
) -> bool:
    """`tell_once` of a state and a scratch."""
    return tell_once(
        state.core,
        state.rows,
        state.layout,
        scratch.block,
        scratch.room,
        link,
        online,
        layer,
        difference,
        outcome,
        share,
        weight,
    )


@compiled_apart
def tell_once(
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
) -> bool:
    """One outcome into one estimator; whether it taught anything. `share` is the policy's w^2, `weight` the caller's.

    A self-duel (zero difference) carries no information and changes nothing. There must be
    room for one more row.
    """
    state = state_of(core, rows, layout)
    scratch = scratch_of(block, room)
    z = scratch.turned
    sign = 0.0
    for k in range(z.size):
        if difference[k] != 0.0:
            sign = 1.0 if difference[k] > 0.0 else -1.0
            break
    if sign == 0.0:
        return False
    for k in range(z.size):
        z[k] = sign * difference[k] + 0.0  # never -0.0, so that equal rows have equal bits
    if sign < 0.0:
        outcome = 1.0 - outcome
    mass = share * weight
    wins = mass * outcome
    theta, factor, curvature = state.theta[layer], state.factor[layer], state.curvature[layer]
    margin = move_with(theta, curvature, z, mass, wins, link, TO_ROUNDING if online else GUESS, scratch)
    cholesky_update_both(factor, mass, curvature, mass * slope(link, margin), z, scratch.step, scratch.trial)
    if online:
        p = mean(link, keep_within(theta, curvature, z, state.bound[0], margin))
        state.residual[layer] += wins * (1.0 - p) * (1.0 - p) + (mass - wins) * p * p
    else:
        row = _row_of(state, layer, z)
        state.mass[row] += mass
        state.wins[row] += wins
        if scratch.gathered[0] == layer:
            _gather_row(state, scratch, row)
    state.learned[layer] += weight
    state.stamp[layer] = state.rounds[0]
    state.dirty[layer] = OUTDATED
    state.stale[layer] = 1
    scratch.last[0] = 0
    if scratch.walk[0] > layer:  # a walk through the layers must look at this one again
        scratch.walk[0] = NOTHING
    return True


@compiled
def _gather_row(state: State, scratch: Scratch, row: int) -> None:
    """Copy a row to its place among the gathered rows of its layer."""
    place = state.place[row]
    for k in range(state.z.shape[0]):
        scratch.z[k, place] = state.z[k, row]
    scratch.mass[place] = state.mass[row]
    scratch.wins[place] = state.wins[row]
    if place % _PAD == _PAD - 1 and place + 1 == state.chain[state.layer[row]]:  # the last row of its layer
        _pad(scratch, place + 1)


@compiled
def _pad(scratch: Scratch, start: int) -> None:
    """Rows of no mass and no difference after the last one, up to the next multiple of `_PAD`."""
    for s in range(start, min(start + _PAD, scratch.mass.size)):
        scratch.mass[s] = 0.0
        scratch.wins[s] = 0.0
        for k in range(scratch.z.shape[0]):
            scratch.z[k, s] = 0.0  # what another layer left here would count among the moves of margins


@compiled
def layer_rows(state: State, scratch: Scratch, layer: int) -> tuple[Floats, Floats, Floats]:
    """The layer's rows (as columns), mass and wins, oldest first; then rows without mass up to a multiple of 16.

    Loops over a multiple of 16 rows run in vector instructions to the end. There are more columns than mass is long.
    """
    n = state.chain[layer]
    padded = (n + _PAD - 1) // _PAD * _PAD
    if state.head.size == 1:  # a single chain is the whole pool, in order
        return state.z, state.mass[:padded], state.wins[:padded]
    if scratch.gathered[0] != layer:
        row = state.head[layer]
        while row != _NO_ROW:
            _gather_row(state, scratch, row)
            row = state.next_row[row]
        _pad(scratch, n)
        scratch.gathered[0] = layer
    return scratch.z, scratch.mass[:padded], scratch.wins[:padded]


@written_in
def solve(state: State, scratch: Scratch, layer: int, link: int, online: bool) -> None:
    """Bring the estimate of one layer up to date with its data; the one-pass estimator always is."""
    if state.dirty[layer] == SOLVED:
        return
    state.dirty[layer] = SOLVED
    if not online:
        solve_once(state.core, state.rows, state.layout, scratch.block, scratch.room, link, layer)


@compiled_apart
def solve_once(core: Floats, rows: Floats, layout: Layout, block: Floats, room: Room, link: int, layer: int) -> None:
    """Lead the exact estimate of one layer to the root over all its rows."""
    state = state_of(core, rows, layout)
    scratch = scratch_of(block, room)
    z, mass, wins = layer_rows(state, scratch, layer)
    status = refine(z, mass, wins, state.ridge[layer], link, state.theta[layer], state.curvature[layer], scratch)
    # Out of iterations, the next outcome or the next reader goes on from here.
    state.dirty[layer] = UNFINISHED if status == OUT_OF_ITERATIONS else SOLVED
