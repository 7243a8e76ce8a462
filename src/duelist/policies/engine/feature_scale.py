"""Feature scale in a stopping decision: for features without one yet, and with outliers.

Policies learn the scale of a feature, its variance over the first arms, in the engine (`native/model/feature_scale.hpp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.model.outliers import (
    MIN_DIFFERING,
    ROUNDING,
    describe_outliers,
    differs_from_median,
    find_outliers,
    inflates_variance,
    lower_median,
)

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy

_FOREIGN_RATIO: Final = 64.0
"""A scale above this multiple of a feature's variance among the arms comes from other arms."""
_ADVICE: Final = (
    "outliers are ignored here: if such a number is a placeholder, leave the arm out; if it is right, rescale the "
    "feature, for example by its logarithm"
)


class DecisionScale(NamedTuple):
    """Ridge and scale of each feature for a stopping decision, and the outliers (n_arms, dim)."""

    ridge: Floats
    scale: Floats
    outliers: NDArray[np.bool_]
    warning: str
    """Names the outliers; empty without any."""
    differs: bool
    """Whether the scale is not the one that the policy has learned with."""


def decision_scale(policy: FittedPolicy, arms: Floats) -> DecisionScale:
    """Return the feature scale for a stopping decision about these arms.

    If the scale of a feature comes from outliers, or from arms unlike these, it says nothing about these arms: their effects would be
    shrunk to nothing and attributed to other features. Their own variance replaces it. A feature in which no compared arms differed
    has the variance among these arms, too; votes carry no information about it.
    """
    arrays, ridge = policy._fitted().state.arrays(), policy.pooled_ridge_
    scale, outliers, notes, differs = arrays["scale"].copy(), np.zeros(arms.shape, bool), [], False
    adapts = arrays["scale_window"][2] != 0.0  # not with a given ridge, nor a published one
    for k, x in enumerate(arms.T if adapts else ()):
        if arrays["scale_unknown"][k]:
            own, caused = _variance(x), False
            off = np.zeros(len(x), bool)
        else:
            off = find_outliers(x)
            own, caused = _own_variance(x, off, scale[k])
            differs |= own is not None
        if own is None:
            continue
        ridge[k] *= own / scale[k]
        scale[k] = own
        outliers[:, k] = off & caused
        notes += [describe_outliers(f"feature {k}", x, off)] if caused else []
    return DecisionScale(ridge, scale, outliers, "; ".join([*notes, _ADVICE] if notes else []), differs)


def _variance(x: Floats) -> float | None:
    """Return the variance of a feature, or None if arms differ only by rounding."""
    variance = float(x.var())
    return variance if variance > (ROUNDING * np.abs(x).max()) ** 2 else None


def _own_variance(x: Floats, off: NDArray[np.bool_], scale: float) -> tuple[float | None, bool]:
    """Return the variance that replaces the scale of a feature, None to keep it, and whether outliers are the cause.

    Outliers are found whatever the scale is: one that joined late, or that was never compared, has no part in it.
    """
    own = _variance(x[~off])
    if own is not None and inflates_variance(x, off):
        return min(own, scale), True
    enough_arms = differs_from_median(x).sum() >= MIN_DIFFERING  # two or three may happen to be close
    if own is None or not own < scale / _FOREIGN_RATIO or not enough_arms:
        return None, False
    return own, False


def with_outlier_effects(arms: Floats, scale: DecisionScale) -> tuple[Floats, Floats]:
    """Return the arms with a separate feature for each outlier, and the ridge of all features.

    The outlying value is replaced by the median. Without that, a placeholder (a price of 99999) would make the effect of the price vanish
    for all arms, and votes on that arm would count as votes on the price. Identical arms share their feature.
    """
    off = np.flatnonzero(scale.outliers.any(axis=1))
    if not len(off):
        return arms, scale.ridge
    usual = np.where(scale.outliers, lower_median(arms), arms)
    prior_variance = float((np.square(usual - usual.mean(axis=0)) / scale.ridge).sum(axis=1).mean())  # of a utility
    groups = np.unique(arms[off], axis=0, return_inverse=True)[1].reshape(-1)
    effects = np.zeros((len(arms), int(groups.max()) + 1))
    effects[off, groups] = 1.0
    return np.hstack([usual, effects]), np.concatenate([scale.ridge, np.full(effects.shape[1], 1.0 / prior_variance)])


def differences_without_outliers(z: Floats, arms: Floats, scale: DecisionScale) -> NDArray[np.bool_]:
    """Return which differences can be between arms that are neither outliers nor unlike these arms."""
    limit = np.sqrt(2.0 * _FOREIGN_RATIO * scale.scale)
    for k in np.flatnonzero(scale.outliers.any(axis=0)):
        off = scale.outliers[:, k]
        closest = np.abs(arms[off, k][:, None] - arms[~off, k]).min()
        limit[k] = np.nextafter(closest, 0.0)
    return np.asarray((np.abs(z) <= limit).all(axis=1))
