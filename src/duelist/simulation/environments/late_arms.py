"""LateArms: arms that join during a run."""

from __future__ import annotations

import numpy as np

from duelist.core.arrays import Ints, check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment
from duelist.simulation.environments.wrapper import EnvironmentWrapper


class LateArms(EnvironmentWrapper):
    """Another environment with fixed arms, half of which join later, one by one.

    Parameters
    ----------
    environment
        The source of worlds, arms and votes. Its arms join in order.
    every
        One more arm joins after every this many rounds, until all have.

    Regret is against the best arm on the table.

    >>> from duelist.simulation.environments import Hypercube
    >>> LateArms(Hypercube(dim=2), every=3).available_arms(n_arms=4, start=0, rounds=9)
    array([2, 2, 2, 3, 3, 3, 4, 4, 4])
    """

    def __init__(self, environment: Environment, every: int = 100) -> None:
        super().__init__(environment)
        if environment.available_arms(1, 0, 1) is not None:
            raise InvalidInput("Arms come late there already.", "Give one LateArms.")
        if environment.draw_world(np.random.default_rng(0)).arms is None:
            raise InvalidInput(
                f"{environment!r} has new arms in every round, which cannot join late.", "Give one with fixed arms."
            )
        self.every = check_integer("every", every)

    def available_arms(self, n_arms: int, start: int, rounds: int) -> Ints | None:
        """Return half of the arms, rounded up, and one more after every `every` rounds."""
        joined = np.arange(start, start + rounds) // self.every
        return np.minimum(n_arms - n_arms // 2 + joined, n_arms)
