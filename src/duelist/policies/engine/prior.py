"""`Prior`: what a native policy starts from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Prior(NamedTuple):
    """The prior of a policy, set by the first arms."""

    ridge: float
    """Ridge of the estimate, in multiples of the variance of each feature."""
    precision: float
    """Precision before the first duel, in the same multiples."""
    kappa: float = 1.0
    """Smallest slope of the link."""
    units: float = 1.0
    """Largest squared difference of two arms, for published radii."""
    bound: float = np.inf
    """Bound on |theta| for the one-pass estimator."""
    by_feature: bool = False
    """Whether each feature has a scale, set by the first arms and adapted later; False: 1 throughout."""
