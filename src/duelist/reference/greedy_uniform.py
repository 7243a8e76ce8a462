"""GreedyUniform: the arm that looks best against a random one (a baseline of the authors' experiments)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, utilities
from duelist.reference.pair_choice import Allowed, Choice, champion_pair, only


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyUniform(Reference):
    """x = argmax x . theta, and y uniform over the other arms."""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The best arm that has somebody else to meet, and one of those."""
        n = len(arms)
        if n == 1:
            return only((0, 0))
        others = {i: [j for j in range(n) if j != i and allowed(i, j)] for i in range(n)}
        partners = {i: listed for i, listed in others.items() if listed}
        if not partners:
            allowed.refuse()
        luck = self.draws.uniform()
        drawn = np.zeros((n, n))
        for i, listed in partners.items():
            drawn[i, listed[min(int(luck * len(listed)), len(listed) - 1)]] = 1.0
        return champion_pair(utilities(arms, self.layer(1).theta), drawn, partners)
