"""MaxInP: the most informative pair among the arms that may still be best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.kernels.pairs import columns, undominated, widest_pair
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, estimate_first, look_at_all, outdated, rule
from duelist.policies._state import Floats, State


class MaxInPConfig(RadiusConfig):
    """Settings of the MaxInP rule."""


@rule(MaxInPConfig)
def decide_max_in_p(config: MaxInPConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """The widest pair of the promising set."""
    radius = flat_radius(config, state, arms.shape[1])
    if recall(scratch, arms, radius):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_at_all(state, scratch, arms)
    promising = scratch.remaining
    count = undominated(u, v, radius, promising, scratch)
    kept = columns(v, promising, count, scratch.near)
    i, j, _ = widest_pair(kept, scratch.v, scratch)  # v is no longer needed
    return remember(scratch, promising[i], promising[j], 0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class MaxInP(RadiusPolicy):
    """Maximum informative pair (Saha 2021; Di et al. 2024, section 4.4).

    Keeps the promising arms

        C_t = {x : (x - y) . theta_hat + beta_t |x - y|_{Sigma_t^-1} >= 0 for all y in A_t}

    and plays the widest pair of C_t. If |theta_hat - theta*|_Sigma <= beta_t, the best arm is in C_t
    and twice the average regret of the round is at most 4 beta_t |x - y| (appendix C, method 1).

    Deviations: a ridge stands in for the warm-up of the original, as in the experiments of
    Di et al.; precision and estimate share it.

    Radius "practical": sqrt(d log T).

    Cost a round: O(K^2 d) at worst, less where arms are ruled out early; O(n d^2) a Newton
    step with n distinct differences.

    >>> import numpy as np
    >>> policy = MaxInP(horizon=100, random_state=0)
    >>> i, j = policy.ask(np.eye(3))
    >>> i != j
    True
    """

    config_class: ClassVar[type[RadiusConfig]] = MaxInPConfig
