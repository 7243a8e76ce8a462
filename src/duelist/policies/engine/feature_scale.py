"""How large features are in a verdict on arms: where nobody knows yet, and where some arms stand far off."""

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

_FOREIGN: Final = 64.0
"""How much larger than its variance the size of a feature may be: beyond that it comes from other arms."""
_ADVICE: Final = (
    "that number is not believed here: if it stands for none, leave the arm out; if it is true, give the feature another scale, "
    "its logarithm, say"
)


class Usual(NamedTuple):
    """What a verdict on arms takes for the ridge and the squared size of every feature, and which numbers stand far off (n_arms, dim)."""

    ridge: Floats
    sizes: Floats
    far: NDArray[np.bool_]
    said: str
    """Who stands far off; empty: nobody."""
    differs: bool
    """Whether these are not the sizes that the policy has learned in."""


def usual_sizes(policy: FittedPolicy, arms: Floats) -> Usual:
    """The size of a feature is its variance over the first arms. Where that is the doing of one arm, or a few, it says nothing of the
    others: their effects would be shrunk away, and credited to other features. Their own variance takes its place then. A feature in which
    nobody differed whom votes are on has the variance among these arms: nothing was learned of it.
    """
    arrays, ridge = policy._fitted().state.arrays(), policy.pooled_ridge_
    sizes, far, said, differs = arrays["sizes"].copy(), np.zeros(arms.shape, bool), [], False
    follows = arrays["size_stretch"][2] != 0.0  # not a ridge that was given, nor a published one
    for k, x in enumerate(arms.T if follows else ()):
        if arrays["size_unknown"][k]:
            usual, odd = _spread(x), False
            off = np.zeros(len(x), bool)
        else:
            off = find_outliers(x)
            usual, odd = _usual_spread(x, off, sizes[k])
            differs |= usual is not None
        if usual is None:
            continue
        ridge[k] *= usual / sizes[k]
        sizes[k] = usual
        far[:, k] = off & odd
        said += [describe_outliers(f"feature {k}", x, off)] if odd else []
    return Usual(ridge, sizes, far, "; ".join([*said, _ADVICE] if said else []), differs)


def _spread(x: Floats) -> float | None:
    """The variance of a feature among arms; None where they differ in nothing but rounding."""
    variance = float(x.var())
    return variance if variance > (ROUNDING * np.abs(x).max()) ** 2 else None


def _usual_spread(x: Floats, off: NDArray[np.bool_], size: float) -> tuple[float | None, bool]:
    """The variance without arms far off, where these make the difference or the size comes from other arms; and whether these do.

    An arm stands off whatever the size is, which it has no part in if it joined late or nobody was asked about it.
    """
    usual = _spread(x[~off])
    if usual is not None and inflates_variance(x, off):
        return min(usual, size), True
    shows_what_is_usual = (
        differs_from_median(x).sum() >= MIN_DIFFERING
    )  # two or three arms may be near each other by chance
    if usual is None or not usual < size / _FOREIGN or not shows_what_is_usual:
        return None, False
    return usual, False


def with_terms_for_those_far_off(arms: Floats, usual: Usual) -> tuple[Floats, Floats]:
    """Arms with the middle value in the place of one far off, and a feature of their own for those who had it; the ridge of all features.

    A number that stands for none (a price of 99999) says nothing of the arm, and votes on it say nothing of the price: taken at its
    word, it would make the effect of the price vanish for all others. Arms that are the same share their own feature.
    """
    off = np.flatnonzero(usual.far.any(axis=1))
    if not len(off):
        return arms, usual.ridge
    tamed = np.where(usual.far, lower_median(arms), arms)
    variance = float(
        (np.square(tamed - tamed.mean(axis=0)) / usual.ridge).sum(axis=1).mean()
    )  # of a utility, before any vote
    who = np.unique(arms[off], axis=0, return_inverse=True)[1].reshape(-1)
    own = np.zeros((len(arms), int(who.max()) + 1))
    own[off, who] = 1.0
    return np.hstack([tamed, own]), np.concatenate([usual.ridge, np.full(own.shape[1], 1.0 / variance)])


def differences_among_usual(z: Floats, arms: Floats, usual: Usual) -> NDArray[np.bool_]:
    """Which differences may be those of arms that do not stand far off, nor of quite another kind."""
    most = np.sqrt(2.0 * _FOREIGN * usual.sizes)
    for k in np.flatnonzero(usual.far.any(axis=0)):
        off = usual.far[:, k]
        least = np.abs(arms[off, k][:, None] - arms[~off, k]).min()
        most[k] = np.nextafter(least, 0.0)
    return np.asarray((np.abs(z) <= most).all(axis=1))
