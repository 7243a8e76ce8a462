"""Array types, and checks that turn arguments into arrays and numbers or raise InvalidInput."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.core.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
"""State of a random generator: four 64-bit words."""

MAX_SUM_OF_SQUARES: Final = 1e300
"""Bound on the sum of squares of all features: beyond it some are infinite, NaN, or overflow when squared."""
MAX_ROUNDS: Final = 2**53
"""Beyond this, counts are no longer exact as floats."""
C_ORDER: Final = ("C", "ALIGNED", "ENSUREARRAY")
"""Requirements for `np.require` on arrays that the engine reads."""
_SHORT: Final = 80


def as_floats(name: str, value: Any, wanted: str) -> Floats:
    """Return `value` as a new array of floats; `wanted` completes the hint "Give ..."."""
    try:
        if value is None:  # NumPy would make it NaN
            raise TypeError("nothing given")
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        shown = repr(value)
        raise InvalidInput(
            f"{name} is {shown if len(shown) < _SHORT else shown[: _SHORT - 3] + '...'} ({error}).",
            f"Give {wanted}.",
            field=name,
        ) from None


def check_finite(name: str, value: Any, wanted: str) -> Floats:
    """Return `value` as a new array of finite floats; the error names the first entry that is not finite."""
    array = as_floats(name, value, wanted)
    if not np.isfinite(array).all():
        at = [int(k) for k in np.argwhere(~np.isfinite(array))[0]]
        where = f"{name}[{', '.join(map(str, at))}]" if at else name
        raise InvalidInput(f"{where} is {array[tuple(at)]}.", f"Give {wanted}.", field=name)
    return array


def is_number(value: Any) -> bool:
    """Whether `value` is a real number; bools are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether `value` is a whole number; bools are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int = 1, wanted: str | None = None) -> int:
    """Return `value` as an int of at least `least`."""
    if not is_integer(value) or value < least:
        raise InvalidInput(
            f"{name} is {value!r}.", f"Give {wanted or f'a whole number of at least {least}'}.", field=name
        )
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a positive finite float."""
    if not is_number(value) or not 0.0 < float(value) < np.inf:
        raise InvalidInput(f"{name} is {value!r}.", "Give a positive finite number.", field=name)
    return float(value)


def check_probability(name: str, value: Any, wanted: str = "a probability between 0 and 1") -> float:
    """Return `value` as a float strictly between 0 and 1."""
    if not is_number(value) or not 0.0 < float(value) < 1.0:
        raise InvalidInput(f"{name} is {value!r}.", f"Give {wanted}.", field=name)
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} is {value!r}.", "Give true or false.", field=name)
    return bool(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...], otherwise: str = "") -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{name} is {value!r}.", f"Choose one of {', '.join(choices)}{otherwise}.", field=name)
    return value


def check_horizon(horizon: Any) -> int:
    """Return a number of rounds; 0 if the horizon is None, that is, unknown."""
    if horizon is None:
        return 0
    rounds = check_integer(
        "horizon", horizon, 1, "the number of rounds (at least 1), or leave it out if it is not known"
    )
    if rounds > MAX_ROUNDS:
        raise InvalidInput(
            f"horizon is {horizon!r}.",
            "Give at most 2**53 rounds, or leave it out if it is not known.",
            field="horizon",
        )
    return rounds


def check_threads(threads: Any) -> int | None:
    """Return a number of threads, or None to use all cores."""
    if threads is None:
        return None
    return check_integer("threads", threads, 1, "a whole number of at least 1, or leave it out to use all cores")


def arms_as_floats(arms: ArrayLike, shape: str = "(n_arms, dim)") -> Floats:
    """Return `arms` as an array of floats of any shape; `shape` describes the expected one."""
    try:
        return np.require(arms, np.float64, C_ORDER)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"arms are not numbers in rows of one length ({error}).", f"Give an array of shape {shape}.", field="arms"
        ) from None


def check_arms(arms: ArrayLike, dim: int | None = None) -> Floats:
    """Return `arms` as finite floats (n_arms >= 1, dim >= 1); `dim` is the expected number of features, if known."""
    array = arms_as_floats(arms)
    if array.ndim != 2:
        raise InvalidInput(
            f"arms have shape {np.shape(arms)}.",
            "Give one feature vector per row, (n_arms, dim), or `ArmTable(n)` for arms without features.",
            code="invalid_input.arms_shape",
            field="arms",
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InvalidInput(f"arms have shape {array.shape}.", "Give at least one arm and one feature.", field="arms")
    check_dim(array.shape[1], dim)
    if not _squared_norm(array) <= MAX_SUM_OF_SQUARES:
        _raise_not_finite(array, "Replace missing and infinite features before asking.")
    return array


def check_contexts(arms: ArrayLike, dim: int | None = None) -> Floats:
    """Return `arms` as finite floats (contexts, candidates, dim)."""
    array = arms_as_floats(arms, "(contexts, candidates, dim), or a list of arrays (candidates, dim)")
    if array.ndim != 3 or 0 in array.shape:
        raise InvalidInput(
            f"arms have shape {array.shape}.", "Give finite features (contexts, candidates, dim).", field="arms"
        )
    check_dim(array.shape[2], dim)
    if not _squared_norm(array) <= MAX_SUM_OF_SQUARES:
        _raise_not_finite(array, "Give finite features (contexts, candidates, dim).")
    return array


def check_ragged_contexts(arms: Sequence[ArrayLike], dim: int | None = None) -> list[Floats]:
    """Return the arms (candidates, dim) of each context, where contexts differ in the number of candidates."""
    found: list[Floats] = []
    for k, each in enumerate(arms):
        try:
            found.append(check_arms(each, dim))
        except InvalidInput as error:
            raise error.replace(message=f"Context {k}: {error.message}") from error
        if found[k].shape[1] != found[0].shape[1]:
            raise InvalidInput(
                f"Context {k}: arms have {found[k].shape[1]} features, and those of context 0 have "
                f"{found[0].shape[1]}.",
                "Give every table the same features.",
            )
    return found


def is_ragged(arms: Any) -> bool:
    """Whether `arms` is a list of contexts with different numbers of candidates; tensors and data frames count as arrays."""
    if not isinstance(arms, (list, tuple)) or not all(map(_is_array_like, arms)):
        return False
    return len({len(each) for each in arms}) > 1


def _is_array_like(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    return hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0


def check_dim(given: int, known: int | None) -> None:
    """Check the number of features against the `known` one, if there is one."""
    if known is not None and given != known:
        raise InvalidInput(
            f"arms have {given} features, but this policy has learned with {known}.",
            "Give the same features every round, or start a new policy.",
            field="arms",
        )


def check_difference(difference: ArrayLike, dim: int) -> Floats:
    """Return the features of the first arm minus those of the second, `dim` finite floats."""
    z = check_finite("difference", difference, "the features of the first arm minus those of the second")
    if z.shape != (dim,):
        raise InvalidInput(
            f"difference has shape {z.shape}.", f"Give {dim} numbers, first arm minus second.", field="difference"
        )
    return z


def check_two_arms(arms: ArrayLike, dim: int) -> Floats:
    """Return the features of two arms (2, dim), or raise InvalidInput."""
    rows = check_arms(arms, dim)
    if len(rows) != 2:
        raise InvalidInput(f"arms have shape {rows.shape}.", "Give the features of the two arms, or their difference.")
    return rows


def check_pairs(name: str, pairs: Any, n_arms: int) -> Ints:
    """Return pairs of positions among `n_arms` arms as integers (pairs, 2)."""
    wanted = f"pairs of positions from 0 to {n_arms - 1}"
    try:
        given = np.array(pairs if isinstance(pairs, np.ndarray) else list(pairs))
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {pairs!r}.", f"Give {wanted}.", field=name) from None
    if given.size == 0:
        return np.empty((0, 2), np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InvalidInput(f"{name} has shape {given.shape} and type {given.dtype}.", f"Give {wanted}.", field=name)
    outside = ((given < 0) | (given >= n_arms)).any(axis=1)
    if outside.any():
        raise InvalidInput(
            f"{name} holds {tuple(given[int(np.argmax(outside))].tolist())}.", f"Give {wanted}.", field=name
        )
    return np.ascontiguousarray(given, np.int64)


def _squared_norm(array: Floats) -> float:
    """Return the sum of squares, which overflows without a warning.

    One pass tells whether every entry is finite and small.
    """
    flat = array.reshape(-1)
    return float(np.einsum("i,i->", flat, flat))


def _raise_not_finite(array: Floats, hint: str) -> None:
    if np.isfinite(array).all():
        raise InvalidInput(
            f"arms have features as large as {np.abs(array).max():.6g}, whose squares overflow.",
            "Rescale the features.",
            field="arms",
        )
    at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
    raise InvalidInput(f"arms[{', '.join(map(str, at))}] is {array[at]}.", hint, field="arms")
