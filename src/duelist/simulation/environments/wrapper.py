"""What environments have in common that change another."""

from __future__ import annotations

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth, World


class Changed(Environment):
    """Another environment, `inside`, with something changed: worlds, arms and votes are its own unless a class says otherwise."""

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
        """The world of the environment inside."""
        return self.inside.draw_world(rng)

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """The arms of the environment inside."""
        return self.inside.draw_arms(world, rng, rounds)

    def on_the_table(self, n_arms: int, start: int, rounds: int) -> Ints | None:
        """As inside."""
        return self.inside.on_the_table(n_arms, start, rounds)

    def truth(self) -> Truth:
        """As inside."""
        return self.inside.truth()

    def __repr__(self) -> str:
        own = {k: v for k, v in self.describe().items() if k not in ("environment", "inside", "dim", "link")}
        settings = ", ".join(f"{k}={v!r}" for k, v in own.items())
        return f"{type(self).__name__}({settings}) of {self.inside!r}"
