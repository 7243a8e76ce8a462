"""UniformPair, GreedyUniform, and GreedyChallenger (Di et al. 2024, equation colstim_sel)."""

from __future__ import annotations

import math

from .estimation import Choice, Draws, FlatReference, Floats, RadiusReference, champion_choice, first_best, width


def only(i: int, j: int) -> Choice:
    """A pair that was drawn: no other one would do."""
    return Choice((i, j), lambda a, b: 0.0 if (a, b) == (i, j) else math.inf)


def uniform_pair(draws: Draws, n: int) -> Choice:
    """An ordered pair of different arms; a single arm meets itself."""
    if n == 1:
        return only(0, 0)
    i = draws.below(n)
    return only(i, draws.other_than(i, n))


class UniformPair(FlatReference):
    """Two different arms, uniformly at random."""

    def choose(self, arms: Floats) -> Choice:
        return uniform_pair(self.draws, len(arms))


class GreedyUniform(FlatReference):
    """The arm that looks best against a random other one."""

    def choose(self, arms: Floats) -> Choice:
        i = first_best({i: float(x @ self.theta) for i, x in enumerate(arms)})
        return only(i, i) if len(arms) == 1 else only(i, self.draws.other_than(i, len(arms)))


class GreedyChallenger(RadiusReference):
    """argmax x . theta, then argmax y . theta + 2 beta |x - y|"""

    practical_multiplier = 0.5  # so that the bonus is sqrt(d log T)

    def choose(self, arms: Floats) -> Choice:
        inverse, theta, beta = self.inverse(), self.theta, self.beta()
        return champion_choice(
            {i: float(x @ theta) for i, x in enumerate(arms)},
            lambda i: {j: float(y @ theta) + 2.0 * beta * width(arms[i], y, inverse) for j, y in enumerate(arms)},
        )
