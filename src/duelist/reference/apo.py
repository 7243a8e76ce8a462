"""APO: the pair that is known least (Das, Chakraborty, Pacchiano, Chowdhury 2024)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import Reference
from duelist.reference.fit import Floats
from duelist.reference.pair_choice import Allowed, Choice, best_pair


@dataclass(kw_only=True, eq=False, repr=False)
class APO(Reference):
    """argmax over pairs of |x - y|"""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The widest pair."""
        _, width = self.look(arms)
        return best_pair(width, allowed.pairs(allowed.arms))
