"""SupCoLSTIM: Sta'D's layers with CoLSTIM's randomised pair at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist import radius as radii
from duelist.kernels.scratch import Scratch
from duelist.policies._perturbation import coin_chance, perturbed_pair
from duelist.policies._radius_policy import RadiusConfig
from duelist.policies._rule import Decision, estimate_first, rule
from duelist.policies._stagewise import EXPLORE, WAIT, StagewisePolicy, walk
from duelist.policies._state import Floats, State


class SupCoLSTIMConfig(RadiusConfig):
    """Settings of the SupCoLSTIM rule."""


@rule(SupCoLSTIMConfig)
def decide_sup_colstim(config: SupCoLSTIMConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """Explore in some layer, or play CoLSTIM's randomised pair and store nothing."""
    end = walk(config, state, scratch, arms)
    if end.end == WAIT:
        return estimate_first(end.layer)
    if end.end == EXPLORE:
        return end.first, end.second, end.layer, 1.0
    dim = arms.shape[1]
    t = state.rounds[0]
    horizon = radii.effective_horizon(config.horizon, t)
    clip = radii.practical(dim, horizon)
    chance = coin_chance(dim, horizon, t)
    i, j = perturbed_pair(config.link, state.words, end.u, end.v, chance, clip, end.eta, scratch)
    return end.remaining[i], end.remaining[j], -1, 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class SupCoLSTIM(StagewisePolicy):
    """Layered CoLSTIM (Bengs, Saha, Huellermeier, ICML 2022).

    Sta'D's three steps (see `StaD`), but step 1 plays CoLSTIM's pair on the remaining arms with
    theta_s and Sigma_s: perturbed utilities choose the first arm, the second is

        argmax_y y . theta_s + eta |y - x|_{Sigma_s^-1}.

    Deviations: as for `StaD`; the perturbation is clipped to sqrt(d log T).

    Radius: as for `StaD`.

    Cost a round: as for `StaD`.

    >>> import numpy as np
    >>> policy = SupCoLSTIM(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    config_class: ClassVar[type[RadiusConfig]] = SupCoLSTIMConfig
    uses_randomness: ClassVar[bool] = True
