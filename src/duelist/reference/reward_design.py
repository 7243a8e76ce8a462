"""RewardDesign: the comparisons that teach most about a reward, with a share of them left to chance.

The D-optimal design in the curvature at the estimate, one pair after the other (Chaloner, Verdinelli 1995; Shen, Sun, Ton 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, link_slope
from duelist.reference.pair_choice import Allowed, Choice, Pair, best_pair, only
from duelist.reference.uniform_pair import uniform_pair


class Taken(NamedTuple):
    """A pair of a batch, what it added to log det H, and the most that any pair would have added, both divided."""

    context: int
    pair: Pair
    information: float
    value: float
    best: float


@dataclass(kw_only=True, eq=False, repr=False)
class RewardDesign(Reference):
    """The pair of argmax log(1 + mu'(z . theta) |z|^2_{H^-1}); with probability `coverage`, any two."""

    coverage: float = 0.25

    ridge_reference_dim: ClassVar[float] = 1.0

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The most informative pair of different arms, or a random one."""
        pairs = allowed.different(allowed.arms)
        if not pairs and len(arms) > 1:
            allowed.refuse()
        if self.draws.uniform() < self.coverage or len(arms) == 1:
            return only(uniform_pair(self.draws, allowed))
        u, width = self.look_locally(arms)
        return best_pair(link_slope(self.link, u[:, None] - u) * width**2, pairs)

    def design(self, contexts: Floats, chosen: list[tuple[int, Pair]]) -> list[Taken]:
        """Pair after pair of a batch as `chosen`, each with what it adds to those before it and the most that one could."""
        theta, curvature = self.layer(1).theta, self.layer(1).curvature.copy()
        n, candidates = contexts.shape[:2]
        left = {(c, pair) for c in range(n) for pair in combinations(range(candidates), 2)}
        taken: list[Taken] = []
        for context, (i, j) in chosen:
            inverse = np.linalg.inv(curvature)
            times = np.bincount([t.context for t in taken], minlength=n)
            adds = {}
            for c, (a, b) in left:
                z = contexts[c, a] - contexts[c, b]
                adds[c, (a, b)] = float(np.log1p(link_slope(self.link, z @ theta) * (z @ inverse @ z)))
            values = {key: added / (1 + times[key[0]]) for key, added in adds.items()}
            key = context, (min(i, j), max(i, j))
            taken.append(Taken(context, (i, j), adds[key], values[key], max(values.values())))
            left.remove(key)
            z = contexts[context, i] - contexts[context, j]
            curvature += link_slope(self.link, z @ theta) * np.outer(z, z)
        return taken
