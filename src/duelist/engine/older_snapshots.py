"""Snapshots of older releases. Of version 2, which the releases with Numba made: the same knowledge, laid out for other code.

There, the rows of all layers lay in one pool, chained by layer. A policy that is restored from one goes on with the duels it would
have asked, up to rounding: exponentials had other last bits.

And of version 3, which was laid out as today's. Its one-pass estimators had kept none of their first votes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duelist.engine.native_policy import NativePolicy

NUMBA_VERSION: Final = 2
OLDER_VERSIONS: Final = (NUMBA_VERSION, 3)


def converted(policy: NativePolicy, old: dict[str, NDArray[Any]], version: int) -> dict[str, NDArray[Any]]:
    """The arrays of the engine's state from those of a snapshot of an older version."""
    arrays = _of_numba(policy, old) if version == NUMBA_VERSION else old
    dim = arrays["theta"].shape[1]
    return arrays | {"first_votes": np.array([not arrays["learned"].any()], np.int64), "size_reach": np.zeros(dim)}


def _of_numba(policy: NativePolicy, old: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    layers, dim = old["theta"].shape
    count = int(old["n_rows"][0])
    if not 0 <= count <= old["mass"].size or old["z"].shape != (dim, old["mass"].size):
        raise ValueError(f"there are {count} rows with room for {old['mass'].size}")
    layer, place = old["layer"][:count], old["place"][:count]
    if ((layer < 0) | (layer >= layers)).any():
        raise ValueError("layer points outside the layers")
    order = np.lexsort((place, layer))  # the rows of every layer, oldest first
    first = float(getattr(policy, "first_layer", 0))
    ridge = float(old["ridge"][0]) * 4.0**first  # layer l of VACDB has 4^-l of it
    kappa, units, bound = (float(old[name][0]) for name in ("kappa", "units", "bound"))
    if not ridge > 0.0:
        raise ValueError(f"ridge is {ridge}")
    prior = units if hasattr(policy, "first_layer") else ridge
    return {
        "words": old["words"],
        "scalars": np.array([kappa, units, bound, ridge, prior]),
        "rounds": old["rounds"],
        **{name: old[name] for name in ("ridge", "radius", "learned", "residual", "theta", "factor", "curvature")},
        **_one_size(old, dim, prior / ridge),
        "solved": np.zeros_like(old["dirty"]) if policy.online_ else old["dirty"],
        "stale": old["stale"],
        "stamp": old["stamp"],
        "n_rows": np.bincount(layer, minlength=layers).astype(np.int64),
        "z": np.ascontiguousarray(old["z"][:, order].T),
        "mass": old["mass"][order],
        "wins": old["wins"][order],
    }


def _one_size(old: dict[str, NDArray[Any]], dim: int, prior: float) -> dict[str, NDArray[Any]]:
    """One ridge for all features, for good, as it was then."""
    return {
        "prior": prior * old["ridge"],
        "sizes": np.ones(dim),
        "size_sum": np.zeros(dim),
        "size_largest": np.zeros(dim),
        "size_unknown": np.zeros(dim, np.int64),
        "size_stretch": np.array([0.0, 4.0, 0.0]),
    }
