"""Arrays and numbers that somebody damaged."""

import contextlib

import numpy as np

FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 1e-320, 1e160, 2.0**63, 0.5)
WHOLES = (0, 1, -1, 2, 7, 255, 256, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 2**64, 10**30)
KINDS = ("<f8", ">f8", "<f4", "<f2", "<i8", "<u8", "<i4", "<u1", "?", "<c16", "O", "S3", "<U2", "<M8[s]")


def number(rng):
    """Any float."""
    return FLOATS[rng.integers(len(FLOATS))]


def whole(rng):
    """Any whole number, those that no machine word holds among them."""
    return WHOLES[rng.integers(len(WHOLES))]


def anything(rng):
    """Something else altogether."""
    things = (None, "", "logistic", b"x", [], {}, (), 3, 2.5, object(), np.float64(1), np.zeros(0), True, {"a": 1}, int)
    return things[rng.integers(len(things))]


def _sprinkled(rng, array):
    array = np.array(array)
    if array.size and array.dtype.kind in "fiu":
        for _ in range(rng.integers(1, 4)):
            at = tuple(int(rng.integers(size)) for size in array.shape)
            with_it = number(rng) if array.dtype.kind == "f" else whole(rng)
            try:
                array[at] = with_it
            except (OverflowError, ValueError):
                array[at] = np.iinfo(array.dtype).max
    return array


def _filled(rng, array):
    if array.dtype.kind == "f":
        return np.full(array.shape, number(rng))
    return np.full(array.shape, np.iinfo(array.dtype).max, array.dtype) if array.dtype.kind in "iu" else array


def _as_another_kind(rng, array):
    try:
        return np.array(array).astype(KINDS[rng.integers(len(KINDS))])
    except (TypeError, ValueError, OverflowError):
        return array


def _cut(rng, array):
    axis = int(rng.integers(max(array.ndim, 1)))
    if array.ndim == 0:
        return array
    stop = int(rng.integers(array.shape[axis] + 1))
    return np.ascontiguousarray(np.take(array, np.arange(stop), axis=axis))


def _grown(rng, array):
    return np.concatenate([array, array], axis=int(rng.integers(array.ndim))) if array.ndim else array


def _reshaped(rng, array):
    shapes = ((-1,), (-1, 1), (1, -1), (1, 1, -1), (-1, 1, 1, 1))
    return array.reshape(shapes[rng.integers(len(shapes))])


def _strided(rng, array):
    """The same numbers, lying in memory in another way."""
    if array.ndim == 0 or array.dtype.kind not in "fiu":
        return array
    ways = (
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: a.T,
        lambda a: np.broadcast_to(a[:1], a.shape) if len(a) else a,
        lambda a: np.lib.stride_tricks.as_strided(a, a.shape, (0,) * a.ndim),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),  # not aligned
    )
    return ways[rng.integers(len(ways))](array)


def _locked(_rng, array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def _huge(_rng, array):
    """A shape of 2^57 numbers, which no memory holds, of one number repeated."""
    shape = ((2**57,), (2**29, 2**28), (2**19, 2**19, 2**19))[min(max(array.ndim, 1), 3) - 1]
    return np.lib.stride_tricks.as_strided(np.zeros(1), shape, (0,) * len(shape))


DAMAGES = (_sprinkled, _sprinkled, _filled, _as_another_kind, _cut, _grown, _reshaped, _strided, _locked, _huge)


def strained(rng, array):
    """An array of the same shape and kind, with numbers that are possible and far from likely."""
    array = np.array(array)
    for _ in range(rng.integers(1, 4)):
        if array.size and array.dtype.kind == "f":
            at = tuple(int(rng.integers(size)) for size in array.shape)
            whom = at if rng.random() < 0.7 else ...
            array[whom] *= 10.0 ** rng.uniform(-320, 307) if rng.random() < 0.5 else rng.choice([0.0, -1.0, 1e-9, 1e9])
            array[~np.isfinite(array)] = 1.7e308
        elif array.size:
            at, number = (
                tuple(int(rng.integers(size)) for size in array.shape),
                rng.choice([0, 1, 2, 3, 40, 2**20, 2**52]),
            )
            array[at] = np.array(number).astype(array.dtype)  # cut to what fits
    return array


def damaged(rng, value):
    """`value`, or something like it, or nothing like it."""
    if rng.random() < 0.05:
        return anything(rng)
    if isinstance(value, np.ndarray):
        if value.size > 10**6:
            return value  # damaged already
        with contextlib.suppress(RuntimeError):  # NumPy knows no way from some kinds to others
            return DAMAGES[rng.integers(len(DAMAGES))](rng, value)
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return whole(rng)
    if isinstance(value, float):
        return number(rng)
    return anything(rng)
