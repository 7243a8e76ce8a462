"""FlippedVotes: some votes say the opposite."""

from __future__ import annotations

from duelist.core.arrays import check_finite, check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments.base import Environment, Truth
from duelist.simulation.environments.wrapper import Changed


class FlippedVotes(Changed):
    """Another environment whose votes an adversary turns round.

    Parameters
    ----------
    environment
        Where worlds, arms and honest votes come from.
    first
        The first so many votes of a run are all turned round: the attack that misleads most, since a policy that
        trusts them hardly asks about the best arms later.
    share
        Each other vote is turned round with this chance.

    Regret is still measured by the truth inside.

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
        """Votes as inside, then turned round."""
        return self.inside.truth()._replace(flipped_first=self.first, flip_chance=self.share)
