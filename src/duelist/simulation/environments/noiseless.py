"""Noiseless: the better arm always wins."""

from __future__ import annotations

from duelist.simulation.environments.base import Truth
from duelist.simulation.environments.wrapper import EnvironmentWrapper


class Noiseless(EnvironmentWrapper):
    """Another environment with deterministic comparisons: the arm of larger utility wins.

    Equal arms still flip a coin. The case of zero variance in the paper (remark 5.2), where
    regret should stop growing.

    >>> from duelist.simulation.environments import Hypercube
    >>> Noiseless(Hypercube(dim=3)).truth().noiseless
    True
    """

    def truth(self) -> Truth:
        """Return the inner truth, with outcomes decided by utilities."""
        return self.inside.truth()._replace(noiseless=True, chances=None)
