"""What policies share whose widths are those of the curvature at the estimate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from duelist.policies._base import CompiledPolicy
from duelist.policies._curvature import refresh_curvature
from duelist.policies._state import Floats, cut


class LocalCurvature(CompiledPolicy):
    """A policy with one estimator and widths in the curvature at its estimate."""

    local_curvature: ClassVar[bool] = True

    @property
    def curvature_(self) -> Floats:
        """H at `theta_`."""
        self.estimate(0)
        (core, rows, layout), room = self._ready()
        copy = core.copy()  # looking leaves no trace
        refresh_curvature(copy, rows, layout, *room, self._config.link, self._config.online)
        factor = np.triu(cut(copy, rows, layout).curvature[0])
        return np.asarray(factor.T @ factor)
