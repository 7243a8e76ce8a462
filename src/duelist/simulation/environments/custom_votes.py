"""CustomVotes: an outcome model of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.links import Link
from duelist.simulation.environments.base import Environment, Truth
from duelist.simulation.environments.wrapper import EnvironmentWrapper

Chances = Callable[[Floats, Ints], Any]
"""(gap, round) -> probability that the first arm wins, or (that, probability of a tie); all are arrays."""


class CustomVotes(EnvironmentWrapper):
    """Another environment whose votes follow an outcome model in Python.

    Policies then play through `ask` and `tell`, which is about a hundred times slower than votes drawn by the engine.
    Regret is measured by the utilities of the inner environment.

    Parameters
    ----------
    environment
        The source of worlds and arms.
    chances
        A link, or any object with a method `mean(gap)`; or a function of two arrays: utility of the first arm minus that
        of the second, and the round from 1. It returns the probability that the first arm wins, or a pair: that
        probability and the probability of a tie, which policies learn as 0.5.

    >>> import numpy as np
    >>> from duelist.simulation.environments import Hypercube
    >>> def tired(gap, t):  # raters pay less attention over time, and tie in one of ten votes
    ...     return 0.9 / (1 + np.exp(-gap / (1 + t / 1000))), np.full(gap.shape, 0.1)
    >>> CustomVotes(Hypercube(dim=3), tired).vote_chances(np.zeros(1), np.ones(1))
    (array([0.45]), array([0.1]))
    """

    def __init__(self, environment: Environment, chances: Chances | Link) -> None:
        super().__init__(environment)
        self.chances = chances
        mean = getattr(chances, "mean", None)
        if not callable(chances) and not callable(mean):
            raise InvalidInput(
                f"chances is {chances!r}.",
                "Give a function of the gap and the round, or an object with a method `mean`.",
                field="chances",
            )
        self._function: Chances = (lambda gap, _: mean(gap)) if callable(mean) else chances  # type: ignore[assignment]
        self.vote_chances(np.array([-1.0, 0.0, 1.0]), np.ones(3, np.int64))

    def vote_chances(self, gap: Floats, t: Ints) -> tuple[Floats, Floats]:
        """Return the probabilities that the first arm wins, and of a tie."""
        found = self._function(gap, t)
        win, tie = found if isinstance(found, tuple) else (found, 0.0)
        win, tie = (np.broadcast_to(np.asarray(each, np.float64), gap.shape) for each in (win, tie))
        if not ((win >= 0.0) & (tie >= 0.0) & (win + tie <= 1.0 + 1e-12)).all():
            raise InvalidInput(
                f"chances returned a win probability of {win.ravel()[0]:.6g} and a tie probability of "
                f"{tie.ravel()[0]:.6g} for a gap of {gap.ravel()[0]:.6g}.",
                "Return probabilities whose sum is at most 1.",
                field="chances",
            )
        return win, tie

    def truth(self) -> Truth:
        """Return the inner truth with the outcome model."""
        return self.inside.truth()._replace(chances=self.vote_chances)
