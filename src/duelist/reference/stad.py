"""StaD: stagewise adaptive duel, Sta'D (Saha 2021), with a ridge instead of a warm-up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.base import RadiusReference, root_d_log
from duelist.reference.fit import effective_horizon, utilities, widths
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair, champion_pair, no_learning
from duelist.reference.tight_radius import delta_of_layer


@dataclass(kw_only=True, eq=False, repr=False)
class StaD(RadiusReference):
    """Layers s = 1, 2, ..., each with its own votes, and p(x, y) = eta |x - y|_{Sigma_s^-1}."""

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Descend through the layers until some pair is uncertain enough to explore, or none is."""
        finest = 1.0 / math.sqrt(effective_horizon(self.horizon, self.t))
        remaining, s = allowed.arms, 1
        while True:
            estimator = self.layer(s)
            u, p = utilities(arms, estimator.theta), self.eta(len(arms), s) * widths(arms, estimator.precision)
            pairs = allowed.different(remaining)
            if all(p[pair] <= finest for pair in pairs):
                return self.final_pair(arms, allowed, remaining, s, u, p)
            if all(p[pair] <= 2.0**-s for pair in pairs):
                best = u[remaining].max()
                remaining = [i for i in remaining if not u[i] + 2.0**-s < best]
                s += 1
            else:  # the paper leaves open which pair with p > 2^-s is played: here the widest
                return best_pair(p, pairs, layer=s, remaining=remaining)

    def final_pair(
        self, arms: Floats, allowed: AllowedPairs, remaining: list[int], s: int, u: Floats, p: Floats
    ) -> Choice:
        """argmax x . theta, then argmax y . theta + p(x, y); its outcome is not learned."""
        partners = final_partners(allowed, remaining)
        return champion_pair(u, u + p, partners, layer=s, share=no_learning, remaining=remaining)

    def eta(self, n_arms: int, s: int) -> float:
        """The multiplier of the widths of layer s in round t."""
        if self.radius == "tight":
            return self.scale * self.tight_radius(s, delta_of_layer(self.delta, s)).precision
        T = effective_horizon(self.horizon, self.t)
        if self.radius == "theory":  # Li, Lu and Zhou 2017, SupCB-GLM
            return self.scale * 1.5 / self.kappa_ * math.sqrt(2.0 * math.log(3.0 * T * n_arms / self.delta))
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * root_d_log(1, T)
        return self.scale * float(self.radius)


def final_partners(allowed: AllowedPairs, remaining: list[int]) -> dict[int, list[int]]:
    """The partners in the final pair: remaining arms; failing that, a remaining arm and any other; failing that, any
    two.
    """
    return (
        allowed.partners(remaining, remaining)
        or allowed.partners(remaining, allowed.arms)
        or allowed.partners(allowed.arms, allowed.arms)
    )
