"""Arms that stand far from most others in a feature: a price of 99999 where the others cost some hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats

ROUNDING: Final = 2.0**-40
"""Parts of the largest number of a feature that are nothing but rounding."""
OUTLIER_RATIO: Final = 256.0
"""How far, in squared distances that half of the arms have from the middle one, an arm is that is not usual."""
MIN_DIFFERING: Final = 4
"""Arms off the middle one that show what is usual; of fewer, one has to be farther off."""
_OF_THREE: Final = 2.0**12
_OF_TWO: Final = 2.0**15
MAX_VARIANCE_RATIO: Final = 8.0
"""How much larger the variance of a feature may be with the others than without."""
_NAMED: Final = 3


def find_outliers(x: Floats) -> NDArray[np.bool_]:
    """Which arms are far from all usual ones in a feature.

    >>> find_outliers(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 999.0])).tolist()
    [False, False, False, False, False, True]
    """
    off, differs = np.square(x - lower_median(x)), differs_from_median(x)
    distances = np.sort(off[differs])
    count = len(distances)
    if count < 2:
        return np.zeros(len(x), bool)
    few = _OF_TWO if count == 2 else _OF_THREE  # some of a few arms are near each other by chance
    usual = min(
        (OUTLIER_RATIO if count >= MIN_DIFFERING else few) * distances[count // 2], few * distances[(count - 1) // 2]
    )
    return np.asarray(off > usual)


def lower_median(x: Floats) -> Floats:
    """The middle value of every feature, the lower one of two."""
    return np.asarray(np.sort(x, axis=0)[(len(x) - 1) // 2])


def differs_from_median(x: Floats) -> NDArray[np.bool_]:
    """Which arms differ from the middle one in a feature, by more than the rounding of usual numbers."""
    return np.asarray(np.abs(x - lower_median(x)) > ROUNDING * np.sort(np.abs(x))[len(x) // 2])


def inflates_variance(x: Floats, far: NDArray[np.bool_]) -> bool:
    """Whether the spread of a feature is the doing of the arms that are far off, so that all others seem nearly equal in it."""
    return bool(x.var() > MAX_VARIANCE_RATIO * x[~far].var())


def describe_outliers(feature: str, x: Floats, far: NDArray[np.bool_], names: Sequence[object] | None = None) -> str:
    """Who stands far off, and where.

    >>> describe_outliers("price", np.array([3.0, 999.0]), np.array([False, True]), ["pen", "car"])
    'price is far from that of most arms where it is 999 in arm car'
    """
    arms = np.flatnonzero(far).tolist()
    named = [f"{x[a]:.10g} in arm {a if names is None else names[a]}" for a in arms[:_NAMED]]
    more = [f"{len(arms) - _NAMED} more"] if len(arms) > _NAMED else []
    return f"{feature} is far from that of most arms where it is {' and '.join([*named, *more])}"
