"""SupCoLSTIM: the layers of Sta'D with the perturbed pair of CoLSTIM at the end (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.reference.base import root_d_log
from duelist.reference.colstim import arm_norms, independence_probability, perturbations
from duelist.reference.fit import effective_horizon
from duelist.reference.links import Floats
from duelist.reference.pair_choice import AllowedPairs, Choice, champion_pair, no_learning
from duelist.reference.stad import StaD, final_partners


@dataclass(kw_only=True, eq=False, repr=False)
class SupCoLSTIM(StaD):
    """Sta'D with another final pair: see `StaD`."""

    def final_pair(
        self, arms: Floats, allowed: AllowedPairs, remaining: list[int], s: int, u: Floats, p: Floats
    ) -> Choice:
        """argmax x . theta + eps |x|, then argmax y . theta + p(x, y); its outcome is not learned."""
        d, T = arms.shape[1], effective_horizon(self.horizon, self.t)
        partners = final_partners(allowed, remaining)
        perturbed = remaining if set(partners) <= set(remaining) else allowed.arms
        eps = perturbations(
            self.draws, self.link, len(perturbed), independence_probability(d, T, self.t), root_d_log(d, T)
        )
        first = u.copy()
        first[perturbed] += eps * arm_norms(arms[perturbed], self.layer(s).precision)
        return champion_pair(first, u + p, partners, layer=s, share=no_learning, remaining=remaining)
