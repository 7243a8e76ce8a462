"""Confidence bounds on the utility of each arm, shared by the rules of ActiveUltraFeedback (Melikidze et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import utilities
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Pair


@dataclass(kw_only=True, eq=False, repr=False)
class ArmBounds(Reference):
    """Each arm has a utility r and a spread: `scale` times its standard deviation under N(theta, H^-1)."""

    scale: float = 1.0

    accounts_for_pending: ClassVar[bool] = False

    def utilities_and_spreads(self, arms: Floats) -> tuple[Floats, Floats]:
        """Utility and spread of each arm, relative to the mean arm."""
        estimator = self.layer(1)
        off = arms - arms[0]
        off = off - off.mean(axis=0)  # exactly zero for equal arms
        variance = (off * np.linalg.solve(estimator.curvature, off.T).T).sum(axis=1)
        return utilities(arms, estimator.theta), self.scale * np.sqrt(np.maximum(variance, 0.0))


def ordered_pairs(allowed: AllowedPairs) -> list[Pair]:
    """The allowed pairs of two different arms, in both orders, row by row."""
    pairs = [(i, j) for i in allowed.arms for j in allowed.arms if i != j and allowed(i, j)]
    if not pairs:
        allowed.raise_no_pair()
    return pairs
