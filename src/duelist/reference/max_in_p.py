"""MaxInP (Saha 2021; Di et al. 2024, section 4.4 and appendix C, method 1)."""

from __future__ import annotations

from .estimation import Choice, Floats, RadiusReference, best_pair_choice, self_pairs_and_pairs_of, width


class MaxInP(RadiusReference):
    """The widest pair of the arms that may still be best."""

    sizes: list[int]
    """How many arms were promising in each round."""

    def start(self, arms: Floats) -> None:
        super().start(arms)
        self.sizes = []

    def choose(self, arms: Floats) -> Choice:
        inverse, theta, beta = self.inverse(), self.theta, self.beta()
        promising = [
            i
            for i, x in enumerate(arms)
            if all((x - y) @ theta + beta * width(x, y, inverse) >= 0.0 for j, y in enumerate(arms) if j != i)
        ]
        self.sizes.append(len(promising))
        scores = {(i, j): width(arms[i], arms[j], inverse) for i, j in self_pairs_and_pairs_of(promising)}
        return best_pair_choice(scores)
