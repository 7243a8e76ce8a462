"""Utilities with arm effects: u = X theta + w, with an effect w per arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats


class WithArmEffects(NamedTuple):
    """Features (n_arms, dim), with an arm effect per arm.

    With w ~ N(0, I / ridge), and theta such that over the arms X theta has as much variance as w, each feature an
    equal part of it: the prior that policies use (`policies.engine.arm_effects`). So the fit has one utility per arm,
    as without features, with the prior N(0, (I + Y Y^T) / ridge), Y = X / sqrt(dim var(X)).
    """

    features: Floats


Features = ArrayLike | WithArmEffects | None
"""How arms are described: features, features with arm effects, or arm effects alone (None)."""


class FeaturePrior:
    """The prior with features, by the singular values of Y = U S V^T: its precision is ridge (I - U diag(S^2 / (1 +
    S^2)) U^T).
    """

    def __init__(self, centred: Floats) -> None:
        spread = centred.var(axis=0)
        varied = spread > 0.0
        self.scaled: Floats = np.where(varied, centred, 0.0) / np.sqrt(centred.shape[1] * np.where(varied, spread, 1.0))
        self._directions, sizes, _ = np.linalg.svd(self.scaled, full_matrices=False)
        self._share = sizes**2 / (1.0 + sizes**2)

    def explained(self, u: Floats) -> Floats:
        """Return U diag(S^2 / (1 + S^2)) U^T u, which the features remove from the precision."""
        return self._along(u, self._share)

    def half_pulled(self, u: Floats) -> Floats:
        """Return the root of I - U diag(S^2 / (1 + S^2)) U^T, times u."""
        return np.asarray(u - self._along(u, 1.0 - np.sqrt(1.0 - self._share)))

    def _along(self, u: Floats, sizes: Floats) -> Floats:
        return np.asarray((self._directions * sizes) @ (self._directions.T @ u))
