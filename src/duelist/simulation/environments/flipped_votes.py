"""FlippedVotes: adversarial votes."""

from __future__ import annotations

from duelist.core.arrays import check_finite, check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth
from duelist.simulation.environments.wrapper import EnvironmentWrapper


class FlippedVotes(EnvironmentWrapper):
    """Another environment, some of whose votes an adversary flips.

    Parameters
    ----------
    environment
        The source of worlds, arms and honest votes.
    first
        The number of votes at the start of a run that are all flipped. This attack misleads most, since a policy that
        trusts these votes hardly compares the best arms later.
    share
        The probability that any other vote is flipped.

    Regret is still measured by the inner truth.

    >>> from duelist.simulation.environments import Hypercube
    >>> FlippedVotes(Hypercube(dim=3), first=100).truth().flipped_first
    100
    """

    def __init__(self, environment: Environment, first: int = 0, share: float = 0.0) -> None:
        super().__init__(environment)
        inside = environment.truth()
        if inside.flipped_first or inside.flip_chance:
            raise InvalidInput(
                "Votes that are flipped twice are honest.", "Give one FlippedVotes both `first` and `share`."
            )
        chance = check_finite("share", share, "a chance from 0 to 1")
        if chance.shape != () or not 0.0 <= chance <= 1.0:
            raise InvalidInput(f"share is {share!r}.", "Give a chance from 0 to 1.", field="share")
        self.first = check_integer("first", first, least=0)
        self.share = float(chance)

    def truth(self) -> Truth:
        """Return the inner truth, with flipped votes."""
        return self.inside.truth()._replace(flipped_first=self.first, flip_chance=self.share)
