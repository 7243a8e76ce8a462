"""UniformPair: two different arms, uniformly at random."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import Reference
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, Draws, Pair, fixed_pair

MAX_DRAWS = 64


@dataclass(kw_only=True, eq=False, repr=False)
class UniformPair(Reference):
    """An ordered pair of different arms, uniformly at random; a single arm meets itself."""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose any two arms."""
        return fixed_pair(uniform_pair(self.draws, allowed))


def uniform_pair(draws: Draws, allowed: AllowedPairs) -> Pair:
    """Draw until the pair is allowed; after 64 draws, draw one of the allowed pairs i < j."""
    if len(allowed.arms) == 1:
        return 0, 0
    pairs = allowed.different(allowed.arms)
    if not pairs:
        allowed.raise_no_pair()
    for _ in range(MAX_DRAWS):
        i = draws.one_of(allowed.arms)
        j = draws.one_of([arm for arm in allowed.arms if arm != i])
        if allowed(i, j):
            return i, j
    drawn: Pair = draws.one_of(pairs)
    return drawn
