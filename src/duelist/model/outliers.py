"""Outliers in a feature: a price of 99999 where other arms cost a few hundred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats

ROUNDING: Final = 2.0**-40
"""Differences below this share of a feature's largest value are rounding errors."""
OUTLIER_RATIO: Final = 256.0
"""Outliers exceed the median squared distance from the median by this factor."""
MIN_DIFFERING: Final = 4
"""Arms off the median that `OUTLIER_RATIO` needs; fewer may happen to be close, so the factors below apply."""
_RATIO_OF_THREE: Final = 2.0**12
_RATIO_OF_TWO: Final = 2.0**15
MAX_VARIANCE_RATIO: Final = 8.0
"""Outliers matter if the variance of a feature with them exceeds that without them by this factor."""
_MAX_LISTED: Final = 3


def find_outliers(x: Floats) -> NDArray[np.bool_]:
    """Return which arms are outliers in a feature x (n_arms,).

    >>> find_outliers(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 999.0])).tolist()
    [False, False, False, False, False, True]
    """
    squares, differs = np.square(x - lower_median(x)), differs_from_median(x)
    distances = np.sort(squares[differs])
    count = len(distances)
    if count < 2:
        return np.zeros(len(x), bool)
    few = _RATIO_OF_TWO if count == 2 else _RATIO_OF_THREE
    limit = min(
        (OUTLIER_RATIO if count >= MIN_DIFFERING else few) * distances[count // 2], few * distances[(count - 1) // 2]
    )
    return np.asarray(squares > limit)


def lower_median(x: Floats) -> Floats:
    """Return the median of each feature, the lower of the two middle values for an even number of arms."""
    return np.asarray(np.sort(x, axis=0)[(len(x) - 1) // 2])


def differs_from_median(x: Floats) -> NDArray[np.bool_]:
    """Return which arms differ from the median in a feature by more than rounding."""
    return np.asarray(np.abs(x - lower_median(x)) > ROUNDING * np.sort(np.abs(x))[len(x) // 2])


def inflates_variance(x: Floats, outliers: NDArray[np.bool_]) -> bool:
    """Whether the outliers dominate the variance of a feature, so that all other arms seem nearly equal in it."""
    return bool(x.var() > MAX_VARIANCE_RATIO * x[~outliers].var())


def describe_outliers(
    feature: str, x: Floats, outliers: NDArray[np.bool_], names: Sequence[object] | None = None
) -> str:
    """Return a sentence that lists the outliers of a feature.

    >>> describe_outliers("price", np.array([3.0, 999.0]), np.array([False, True]), ["pen", "car"])
    'price has an outlier: 999 in arm car'
    """
    arms = np.flatnonzero(outliers).tolist()
    listed = [f"{x[a]:.10g} in arm {a if names is None else names[a]}" for a in arms[:_MAX_LISTED]]
    more = [f"{len(arms) - _MAX_LISTED} more"] if len(arms) > _MAX_LISTED else []
    return f"{feature} has {'an outlier' if len(arms) == 1 else 'outliers'}: {', '.join([*listed, *more])}"
