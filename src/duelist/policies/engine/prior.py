"""What a native policy knows before the first vote."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Prior(NamedTuple):
    """What a state starts from, learned from the first arms."""

    ridge: float
    """Of the estimate, in multiples of the squared size of each feature."""
    precision: float
    """Precision before the first duel, in the same multiples."""
    kappa: float = 1.0
    """Smallest slope of the link."""
    units: float = 1.0
    """Squared size of a feature."""
    bound: float = np.inf
    """What |theta| is kept within by the one-pass estimator."""
    by_feature: bool = False
    """Whether each feature has a size, by the first arms, which follows what is learned. False: 1 for good."""
