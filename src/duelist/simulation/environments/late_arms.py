"""LateArms: not all arms are there from the beginning."""

from __future__ import annotations

import numpy as np

from duelist.core.arrays import Ints, check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment
from duelist.simulation.environments.wrapper import Changed


class LateArms(Changed):
    """Another environment with fixed arms, half of which come later, one by one.

    Parameters
    ----------
    environment
        Where worlds, arms and votes come from. Its arms join in the order they have there.
    every
        After so many rounds one more arm is on the table, until all are.

    Regret is against the best arm on the table.

    >>> from duelist.simulation.environments import Hypercube
    >>> LateArms(Hypercube(dim=2), every=3).on_the_table(n_arms=4, start=0, rounds=9)
    array([2, 2, 2, 3, 3, 3, 4, 4, 4])
    """

    def __init__(self, environment: Environment, every: int = 100) -> None:
        super().__init__(environment)
        if environment.on_the_table(1, 0, 1) is not None:
            raise InvalidInput("Arms come late there already.", "Give one LateArms.")
        if environment.draw_world(np.random.default_rng(0)).arms is None:
            raise InvalidInput(
                f"{environment!r} has new arms in every round, which cannot join late.", "Give one with fixed arms."
            )
        self.every = check_integer("every", every)

    def on_the_table(self, n_arms: int, start: int, rounds: int) -> Ints | None:
        """Half of the arms, rounded up, and one more after each `every` rounds."""
        joined = np.arange(start, start + rounds) // self.every
        return np.minimum(n_arms - n_arms // 2 + joined, n_arms)
