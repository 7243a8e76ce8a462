"""Bounds on the utility of each arm by itself, which the rules of ActiveUltraFeedback look at (Melikidze et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, utilities
from duelist.reference.pair_choice import Allowed, Pair


@dataclass(kw_only=True, eq=False, repr=False)
class ArmBounds(Reference):
    """Each arm has a utility r and a spread, `scale` times its standard deviation under N(theta, H^-1)."""

    scale: float = 1.0

    minds_pairs: ClassVar[bool] = False

    def utilities_and_spreads(self, arms: Floats) -> tuple[Floats, Floats]:
        """Of every arm; the utility of the mean arm is taken to be known."""
        known = self.layer(1)
        off = arms - arms[0]
        off = off - off.mean(axis=0)  # exactly zero for equal arms
        variance = (off * np.linalg.solve(known.curvature, off.T).T).sum(axis=1)
        return utilities(arms, known.theta), self.scale * np.sqrt(np.maximum(variance, 0.0))


def ordered_pairs(allowed: Allowed) -> list[Pair]:
    """The allowed pairs of two different arms, in both orders, row by row."""
    pairs = [(i, j) for i in allowed.arms for j in allowed.arms if i != j and allowed(i, j)]
    if not pairs:
        allowed.refuse()
    return pairs
