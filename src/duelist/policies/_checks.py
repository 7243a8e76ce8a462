"""What people give a policy, checked: arms and hyperparameters, or an error that names the value and the way out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.errors import InvalidInput
from duelist.policies._rule import LARGEST_SQUARE

Floats = NDArray[np.float64]

_FEW: Final = 4096


def as_floats(arms: ArrayLike) -> Floats:
    """`arms` as an array of floats, of any shape."""
    try:
        return np.ascontiguousarray(arms, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"arms are not numbers ({error}); give an array of shape (n_arms, dim)") from None


def check_arms(arms: ArrayLike, dim: int | None = None) -> Floats:
    """`arms` as a finite float array (n_arms >= 1, dim >= 1); `dim` if one is known already."""
    array = as_floats(arms)
    if array.ndim != 2:
        raise InvalidInput(f"arms have shape {np.shape(arms)}; give one feature vector a row: (n_arms, dim)")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InvalidInput(f"arms have shape {array.shape}; give at least one arm and one feature")
    if dim is not None and array.shape[1] != dim:
        raise InvalidInput(
            f"arms have {array.shape[1]} features, but this policy has learned with {dim}; "
            "give the same features every round, or start a new policy"
        )
    # One pass proves every entry finite and small enough to square, at half the cost of looking at each.
    if not _square(array.reshape(-1)) <= LARGEST_SQUARE:
        if np.isfinite(array).all():
            raise InvalidInput(
                f"arms have features as large as {np.abs(array).max():.6g}, whose squares overflow; rescale the features"
            )
        arm, feature = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInput(f"arms[{arm}, {feature}] is {array[arm, feature]}; replace missing features before asking")
    return array


def _square(flat: Floats) -> float:
    """flat . flat, which may overflow without a warning."""
    # BLAS starts threads for long vectors, and on a busy machine waits milliseconds for them; `einsum` starts slower.
    return float(np.vdot(flat, flat) if flat.size < _FEW else np.einsum("i,i->", flat, flat))


def feature_variance(arms: Floats) -> Floats:
    """The mean variance of a feature over the arms of each run, (runs, n_arms, dim)."""
    spread = arms.var(axis=1).mean(axis=1)
    # A single arm, or equal arms, say nothing about units: fall back on one.
    return np.where(spread > 0.0, spread, 1.0)


def check_positive(name: str, value: float) -> float:
    """`value` if it is a positive finite number."""
    if not is_number(value) or not 0.0 < float(value) < np.inf:
        raise InvalidInput(f"{name} is {value!r}; give a positive finite number")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether `value` is a real number; True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_horizon(horizon: int | None) -> int:
    """A positive whole number of rounds, or 0 for None (unknown)."""
    if horizon is None:
        return 0
    if not isinstance(horizon, (int, np.integer)) or isinstance(horizon, bool) or horizon < 1:
        raise InvalidInput(
            f"horizon is {horizon!r}; give the number of rounds (at least 1), or None if it is not known"
        )
    return int(horizon)
