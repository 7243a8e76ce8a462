"""DelayedVotes: votes that come late."""

from __future__ import annotations

from typing import Final

from duelist.core.arrays import check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth
from duelist.simulation.environments.wrapper import Changed

_MOST: Final = 10**9


class DelayedVotes(Changed):
    """Another environment whose votes come late, as those of people do.

    Parameters
    ----------
    environment
        Where worlds, arms and votes come from.
    delay
        A vote is told when so many more rounds have been asked about; the last `delay` votes of a run are never told. With 0
        nothing changes.

    >>> from duelist.simulation.environments import Hypercube
    >>> DelayedVotes(Hypercube(dim=3), delay=50).truth().delay
    50
    """

    def __init__(self, environment: Environment, delay: int = 50) -> None:
        super().__init__(environment)
        if environment.truth().delay:
            raise InvalidInput("These votes come late already.", "Give one DelayedVotes the whole delay.")
        self.delay = check_integer("delay", delay, least=0)
        if self.delay > _MOST:
            raise InvalidInput(
                f"delay is {delay}.", f"Give at most {_MOST:,}, or a policy that is told nothing.", field="delay"
            )

    def truth(self) -> Truth:
        """Votes as inside, told later."""
        return self.inside.truth()._replace(delay=self.delay)
