"""MaxPairUCB (Di et al. 2024, equation max_pair_ucb)."""

from __future__ import annotations

from .estimation import Choice, Floats, RadiusReference, best_pair_choice, self_pairs_and_pairs_of, width


class MaxPairUCB(RadiusReference):
    """argmax over pairs of (x + y) . theta + beta |x - y|"""

    def choose(self, arms: Floats) -> Choice:
        inverse, theta, beta = self.inverse(), self.theta, self.beta()
        scores = {
            (i, j): (arms[i] + arms[j]) @ theta + beta * width(arms[i], arms[j], inverse)
            for i, j in self_pairs_and_pairs_of(list(range(len(arms))))
        }
        return best_pair_choice(scores)
