"""SupCoLSTIM (Bengs, Saha, Huellermeier 2022)."""

from __future__ import annotations

import math

from .colstim import coin_chance, imitating_pair, perturbations
from .estimation import Choice, Floats, champion_choice, horizon_in
from .stad import StaD


class SupCoLSTIM(StaD):
    """Sta'D's layers with CoLSTIM's pair at the end."""

    def final_pair(self, arms: Floats, remaining: list[int], theta: Floats, inverse: Floats, eta: float) -> Choice:
        T = horizon_in(self.horizon, self.rounds)
        clip = math.sqrt(self.dim * math.log(T))
        eps = perturbations(self.draws, self.link, len(remaining), coin_chance(self.dim, T, self.rounds), clip)
        return champion_choice(**imitating_pair(arms, remaining, theta, inverse, eps, eta), layer=0)
