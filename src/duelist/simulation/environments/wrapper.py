"""The base class of environments that modify another environment."""

from __future__ import annotations

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth, World


class EnvironmentWrapper(Environment):
    """Wraps an environment, `inside`; worlds, arms and votes are the inner ones unless a subclass overrides them."""

    inside: Environment

    def __init__(self, environment: Environment) -> None:
        if not isinstance(environment, Environment):
            raise InvalidInput(
                f"{environment!r} is not an environment.", "Give an object of `duelist.simulation.environments`."
            )
        self.inside = environment
        self.dim = environment.dim
        self.link = environment.link

    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw a world of the inner environment."""
        return self.inside.draw_world(rng)

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """Draw arms of the inner environment."""
        return self.inside.draw_arms(world, rng, rounds)

    def available_arms(self, n_arms: int, start: int, rounds: int) -> Ints | None:
        """Return the numbers of available arms of the inner environment."""
        return self.inside.available_arms(n_arms, start, rounds)

    def utilities(self, world: World, arms: Floats, t: Ints) -> Floats:
        """Return the inner utilities."""
        return self.inside.utilities(world, arms, t)

    @property
    def has_own_utilities(self) -> bool:
        """Whether the inner environment overrides `utilities`."""
        return self.inside.has_own_utilities

    def truth(self) -> Truth:
        """Return the inner truth."""
        return self.inside.truth()

    def __repr__(self) -> str:
        own = {k: v for k, v in self.describe().items() if k not in ("environment", "inside", "dim", "link")}
        settings = ", ".join(f"{k}={v!r}" for k, v in own.items())
        return f"{type(self).__name__}({settings}) of {self.inside!r}"
