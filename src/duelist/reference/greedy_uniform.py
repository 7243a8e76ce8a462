"""GreedyUniform: the arm with the highest utility against a random one (a baseline of Di et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import utilities
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, champion_pair, fixed_pair


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyUniform(Reference):
    """x = argmax x . theta, and y uniform over the other arms."""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the best arm that has a partner, and one of its partners at random."""
        n = len(arms)
        if n == 1:
            return fixed_pair((0, 0))
        others = {i: [j for j in range(n) if j != i and allowed(i, j)] for i in range(n)}
        partners = {i: listed for i, listed in others.items() if listed}
        if not partners:
            allowed.raise_no_pair()
        u = self.draws.uniform()
        drawn = np.zeros((n, n))
        for i, listed in partners.items():
            drawn[i, listed[min(int(u * len(listed)), len(listed) - 1)]] = 1.0
        return champion_pair(utilities(arms, self.layer(1).theta), drawn, partners)
