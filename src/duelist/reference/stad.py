"""StaD: stagewise adaptive duel, Sta'D (Saha 2021), with a ridge in the place of its warm-up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.base import RadiusReference, root_d_log
from duelist.reference.fit import Floats, horizon_in, utilities, widths
from duelist.reference.pair_choice import Allowed, Choice, best_pair, champion_pair, nothing


@dataclass(kw_only=True, eq=False, repr=False)
class StaD(RadiusReference):
    """Layers s = 1, 2, ..., each with votes of its own, and p(x, y) = eta |x - y|_{Sigma_s^-1}."""

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """Down the layers, until a pair is unsure enough to be explored or all pairs are known well."""
        eta = self.eta(len(arms))
        finest = 1.0 / math.sqrt(horizon_in(self.horizon, self.t))
        remaining, s = allowed.arms, 1
        while True:
            known = self.layer(s)
            u, p = utilities(arms, known.theta), eta * widths(arms, known.precision)
            pairs = allowed.different(remaining)
            if all(p[pair] <= finest for pair in pairs):
                return self.final_pair(arms, allowed, remaining, s, u, p)
            if all(p[pair] <= 2.0**-s for pair in pairs):
                best = u[remaining].max()
                remaining = [i for i in remaining if not u[i] + 2.0**-s < best]
                s += 1
            else:  # the paper leaves open which pair with p > 2^-s is played: here the widest
                return best_pair(p, pairs, layer=s, remaining=remaining)

    def final_pair(self, arms: Floats, allowed: Allowed, remaining: list[int], s: int, u: Floats, p: Floats) -> Choice:
        """argmax x . theta, then argmax y . theta + p(x, y); nothing is stored."""
        partners = final_partners(allowed, remaining)
        return champion_pair(u, u + p, partners, layer=s, share=nothing, remaining=remaining)

    def eta(self, n_arms: int) -> float:
        """The stretch of widths in round t."""
        T = horizon_in(self.horizon, self.t)
        if self.radius == "theory":  # Li, Lu and Zhou 2017, SupCB-GLM
            return self.scale * 1.5 / self.kappa_ * math.sqrt(2.0 * math.log(3.0 * T * n_arms / self.delta))
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * root_d_log(1, T)
        return self.scale * float(self.radius)


def final_partners(allowed: Allowed, remaining: list[int]) -> dict[int, list[int]]:
    """Who may meet whom at the end: remaining arms each other; if they may not, anybody else; if not even that, all arms."""
    return (
        allowed.partners(remaining, remaining)
        or allowed.partners(remaining, allowed.arms)
        or allowed.partners(allowed.arms, allowed.arms)
    )
