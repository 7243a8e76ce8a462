"""DelayedVotes: votes that arrive late."""

from __future__ import annotations

from typing import Final

from duelist.core.arrays import check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth
from duelist.simulation.environments.wrapper import EnvironmentWrapper

_MOST: Final = 10**9


class DelayedVotes(EnvironmentWrapper):
    """Another environment whose votes arrive late, as people's do.

    Parameters
    ----------
    environment
        The source of worlds, arms and votes.
    delay
        A vote arrives after this many further rounds; the last `delay` votes of a run never arrive. 0 changes
        nothing.

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
                f"delay is {delay}.", f"Give at most {_MOST:,}, or a policy that ignores votes.", field="delay"
            )

    def truth(self) -> Truth:
        """Return the inner truth, with delayed votes."""
        return self.inside.truth()._replace(delay=self.delay)
