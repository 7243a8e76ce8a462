"""RewardDesign: the comparisons that are most informative about a reward model, some of them random.

A D-optimal design in the curvature at the estimate, one pair at a time (Chaloner, Verdinelli 1995; Shen, Sun, Ton
2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.links import Floats, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, Pair, best_pair, fixed_pair
from duelist.reference.uniform_pair import uniform_pair


class DesignStep(NamedTuple):
    """A pair of a batch, its gain in log det H, and its value and the best one, both divided by 1 + pairs of the
    context.
    """

    context: int
    pair: Pair
    information: float
    value: float
    best: float


@dataclass(kw_only=True, eq=False, repr=False)
class RewardDesign(Reference):
    """The pair of argmax log(1 + mu'(z . theta) |z|^2_{H^-1}), or a uniform pair with probability `coverage`."""

    coverage: float = 0.25

    ridge_reference_dim: ClassVar[float] = 1.0

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms, or a random one."""
        pairs = allowed.different(allowed.arms)
        if not pairs and len(arms) > 1:
            allowed.raise_no_pair()
        if self.draws.uniform() < self.coverage or len(arms) == 1:
            return fixed_pair(uniform_pair(self.draws, allowed))
        u, width = self.local_utilities_and_widths(arms)
        return best_pair(link_slope(self.link, u[:, None] - u) * width**2, pairs)

    def design(self, contexts: Floats, chosen: list[tuple[int, Pair]]) -> list[DesignStep]:
        """Replay the `chosen` pairs of a batch, with the gain of each and the best gain at that step."""
        theta, curvature = self.layer(1).theta, self.layer(1).curvature.copy()
        n, candidates = contexts.shape[:2]
        candidate_pairs = {(c, pair) for c in range(n) for pair in combinations(range(candidates), 2)}
        steps: list[DesignStep] = []
        for context, (i, j) in chosen:
            inverse = np.linalg.inv(curvature)
            counts = np.bincount([step.context for step in steps], minlength=n)
            gains = {}
            for c, (a, b) in candidate_pairs:
                z = contexts[c, a] - contexts[c, b]
                gains[c, (a, b)] = float(np.log1p(link_slope(self.link, z @ theta) * (z @ inverse @ z)))
            values = {key: gain / (1 + counts[key[0]]) for key, gain in gains.items()}
            key = context, (min(i, j), max(i, j))
            steps.append(DesignStep(context, (i, j), gains[key], values[key], max(values.values())))
            candidate_pairs.remove(key)
            z = contexts[context, i] - contexts[context, j]
            curvature += link_slope(self.link, z @ theta) * np.outer(z, z)
        return steps
