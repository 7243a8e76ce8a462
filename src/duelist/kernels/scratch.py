"""Room that a decision works in, made once and used in every round.

Asking the system for memory costs about 30 ns an array, and a round would ask for twenty. So
kernels work in a `Scratch`: one block of memory, cut into arrays. Nothing in it is knowledge: a
policy with a fresh scratch decides the same, to the bit, only slower the first time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart
from duelist.kernels.many import MANY_ARMS, search_address
from duelist.kernels.views import as_matrix, borrowed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOTHING = -1
_STRETCH = 1024
_LINE = 8
"""Numbers in a cache line."""


class Room(NamedTuple):
    """The sizes of a scratch: arms a round, dimensions, distinct differences."""

    arms: int
    dim: int
    rows: int


class Scratch(NamedTuple):
    """See the module. n arms, d dimensions, C rows; `flat` arrays are reshaped by their users."""

    search: Ints  # (1,) where the search over very many arms lies in memory
    random: NDArray[np.uint64]  # (4,) words for searches that draw nothing
    block: Floats  # all of it
    room: Room
    remaining: Ints  # (n,) arms still in play
    kept: Ints  # (n,) arms that some test kept
    u: Floats  # (n,) utilities
    v: Floats  # (n * d,) flat: whitened arms
    reach: Floats  # (n,) what an arm can add to a pair at most
    line: Floats  # (n,) one row of widths or values
    near: Floats  # (n * d,) flat: whitened arms that survived a test
    near_u: Floats  # (n,) their utilities
    seen: Floats  # (n * d,) flat: the arms of the last round
    seen_shape: Ints  # (2,) how many they were, and their dimension
    walk: Ints  # (2,) the layer that a walk through the layers can start from, and the arms remaining there
    walk_key: Floats  # (1,) the stretch of widths that `walk` is about
    last: Ints  # (4,) 1 if nothing was learned since the last decision; then its first, second and layer
    last_numbers: Floats  # (2,) the radius that the last decision was made with, and its share
    turned: Floats  # (d,) a difference with its first nonzero entry positive
    direction: Floats  # (d,)
    step: Floats  # (d,)
    trial: Floats  # (d,)
    shift: Floats  # (d,)
    margins: Floats  # (C,)
    residual: Floats  # (C,)
    slopes: Floats  # (C,)
    moves: Floats  # (C,)
    bends: Floats  # (C,)
    gathered: Ints  # (1,) the layer whose rows lie in z, mass and wins
    z: Floats  # (d, C)
    mass: Floats  # (C,)
    wins: Floats  # (C,)


def aligned_zeros(*shape: int) -> Floats:
    """Zeros that start with a cache line: a vector that lies across two lines is read at half the speed."""
    size = int(np.prod(shape))
    room = np.zeros(size + _LINE)
    start = -room.ctypes.data // room.itemsize % _LINE
    return room[start : start + size].reshape(shape)


def scratch_block(room: Room) -> Floats:
    """Memory for a scratch of that size, with nothing remembered in it."""
    n, d, c = room
    block = aligned_zeros(6 * n + 3 * n * d + 17 + 5 * d + _LINE + 7 * c + c * d)
    scratch = cut(block, room)
    scratch.seen_shape[0] = scratch.gathered[0] = NOTHING  # `forget`, without handing thirty arrays to compiled code
    if n >= MANY_ARMS:
        scratch.search[0] = search_address()
    return block


def cut(block: Floats, room: Room) -> Scratch:
    """The block cut into arrays."""
    n, d, c = room
    block = borrowed(block)
    whole = block.view(np.int64)
    flat = 6 * n
    small = flat + 3 * n * d
    rows = (small + 17 + 5 * d + _LINE - 1) // _LINE * _LINE
    return Scratch(
        search=whole[small + 12 : small + 13],
        random=block[small + 13 : small + 17].view(np.uint64),
        block=block,
        room=room,
        remaining=whole[:n],
        kept=whole[n : 2 * n],
        u=block[2 * n : 3 * n],
        v=block[flat : flat + n * d],
        reach=block[3 * n : 4 * n],
        line=block[4 * n : 5 * n],
        near=block[flat + n * d : flat + 2 * n * d],
        near_u=block[5 * n : 6 * n],
        seen=block[flat + 2 * n * d : flat + 3 * n * d],
        seen_shape=whole[small : small + 2],
        walk=whole[small + 2 : small + 4],
        walk_key=block[small + 4 : small + 5],
        last=whole[small + 6 : small + 10],
        last_numbers=block[small + 10 : small + 12],
        turned=block[small + 17 : small + 17 + d],
        direction=block[small + 17 + d : small + 17 + 2 * d],
        step=block[small + 17 + 2 * d : small + 17 + 3 * d],
        trial=block[small + 17 + 3 * d : small + 17 + 4 * d],
        shift=block[small + 17 + 4 * d : small + 17 + 5 * d],
        margins=block[rows : rows + c],
        residual=block[rows + c : rows + 2 * c],
        slopes=block[rows + 2 * c : rows + 3 * c],
        moves=block[rows + 3 * c : rows + 4 * c],
        bends=block[rows + 6 * c : rows + 7 * c],
        gathered=whole[small + 5 : small + 6],
        z=as_matrix(block[rows + 7 * c :], d, c),
        mass=block[rows + 4 * c : rows + 5 * c],
        wins=block[rows + 5 * c : rows + 6 * c],
    )


scratch_of = compiled(cut)
"""`cut` for compiled code, which borrows the block."""


@compiled
def forget(scratch: Scratch) -> None:
    """Remember no arms, no walk and no rows: before another run uses the scratch."""
    scratch.seen_shape[0] = NOTHING  # then no arms are the same, and the walk and the last decision go with them
    scratch.gathered[0] = NOTHING


@compiled
def same_arms(scratch: Scratch, arms: Floats) -> bool:
    """Whether these are the arms the scratch has seen last, bit for bit; if not, they are now."""
    n, dim = arms.shape
    given = as_matrix(arms, 1, n * dim)[0]
    seen = scratch.seen[: n * dim]
    shape = scratch.seen_shape
    if shape[0] == n and shape[1] == dim and _same_bits(seen.view(np.int64), given.view(np.int64)):
        return True
    shape[0] = n
    shape[1] = dim
    scratch.walk[0] = NOTHING
    scratch.last[0] = 0
    for k in range(seen.size):
        seen[k] = given[k]
    return False


@compiled_apart
def _same_bits(a: Ints, b: Ints) -> bool:
    for start in range(0, a.size, _STRETCH):
        different = np.int64(0)
        left = a[start : start + _STRETCH]
        right = b[start : start + _STRETCH]
        for k in range(left.size):  # no way out inside the loop, so that it becomes vector instructions
            different |= left[k] ^ right[k]
        if different != 0:
            return False
    return True


@compiled
def recall(scratch: Scratch, arms: Floats, radius: float) -> bool:
    """Whether the last decision was about these arms and this radius, and nothing was learned since.

    A rule that draws no random numbers then decides the same again, and can answer with `last_decision`.
    """
    same = same_arms(scratch, arms) and scratch.last[0] == 1 and scratch.last_numbers[0] == radius
    scratch.last_numbers[0] = radius
    if not same:
        scratch.last[0] = 0  # until this round is remembered
    return same


@compiled
def remember(scratch: Scratch, first: int, second: int, layer: int, share: float) -> tuple[int, int, int, float]:
    """The decision, which `recall` may find again in the next round."""
    last = scratch.last
    last[0], last[1], last[2], last[3] = 1, first, second, layer
    scratch.last_numbers[1] = share
    return first, second, layer, share


@compiled
def last_decision(scratch: Scratch) -> tuple[int, int, int, float]:
    """The decision of the last round."""
    return scratch.last[1], scratch.last[2], scratch.last[3], scratch.last_numbers[1]
