"""Noiseless: the better arm always wins."""

from __future__ import annotations

import numpy as np

from duelist.arrays import Floats, Ints
from duelist.environments._base import Environment, Truth, World


class Noiseless(Environment):
    """Another environment with deterministic comparisons: the arm of larger utility wins.

    Equal arms still flip a coin. The case of zero variance in the paper (remark 5.2), where
    regret should stop growing.

    >>> from duelist.environments import Hypercube
    >>> Noiseless(Hypercube(dim=3)).truth().noiseless
    True
    """

    def __init__(self, environment: Environment) -> None:
        self.inside = environment
        self.dim = environment.dim
        self.link = environment.link

    def draw_world(self, rng: np.random.Generator) -> World:
        """The world of the environment inside."""
        return self.inside.draw_world(rng)

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """The arms of the environment inside."""
        return self.inside.draw_arms(world, rng, rounds)

    def truth(self) -> Truth:
        """Utilities decide."""
        return self.inside.truth()._replace(noiseless=True)
