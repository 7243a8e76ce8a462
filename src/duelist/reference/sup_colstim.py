"""SupCoLSTIM: Sta'D's layers with CoLSTIM's randomised pair at the end (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import root_d_log
from duelist.reference.colstim import coin_chance, perturbations, sizes
from duelist.reference.fit import Floats, horizon_in
from duelist.reference.pair_choice import Allowed, Choice, champion_pair, nothing
from duelist.reference.stad import StaD, final_partners


@dataclass(kw_only=True, eq=False, repr=False)
class SupCoLSTIM(StaD):
    """Read `StaD` first."""

    def final_pair(self, arms: Floats, allowed: Allowed, remaining: list[int], s: int, u: Floats, p: Floats) -> Choice:
        """argmax x . theta + eps |x|, then argmax y . theta + p(x, y); nothing is stored."""
        d, T = arms.shape[1], horizon_in(self.horizon, self.t)
        partners = final_partners(allowed, remaining)
        perturbed = remaining if set(partners) <= set(remaining) else allowed.arms
        eps = perturbations(self.draws, self.link, len(perturbed), coin_chance(d, T, self.t), root_d_log(d, T))
        first = u.copy()
        first[perturbed] += eps * sizes(arms[perturbed], self.layer(s).precision)
        return champion_pair(first, u + p, partners, layer=s, share=nothing, remaining=remaining)
