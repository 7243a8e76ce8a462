"""What policies share whose widths are those of the curvature at the estimate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from duelist.policies._base import CompiledPolicy
from duelist.policies._curvature import refresh_curvature
from duelist.policies._state import Floats


class LocalCurvature(CompiledPolicy):
    """A policy with one estimator and widths in the curvature at its estimate."""

    local_curvature: ClassVar[bool] = True

    @property
    def curvature_(self) -> Floats:
        """H at `theta_`."""
        self.estimate(0)
        blocks, room = self._ready()
        refresh_curvature(*blocks, *room, self._config.link, self._config.online)
        factor = np.triu(self._fitted().curvature[0])
        return np.asarray(factor.T @ factor)
