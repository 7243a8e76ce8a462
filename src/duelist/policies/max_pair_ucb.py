"""MaxPairUCB: the pair with the largest optimistic total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.kernels.pairs import best_pair
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, estimate_first, look_at_all, outdated, rule
from duelist.policies._state import Floats, State


class MaxPairUCBConfig(RadiusConfig):
    """Settings of the MaxPairUCB rule."""


@rule(MaxPairUCBConfig)
def decide_max_pair_ucb(config: MaxPairUCBConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """argmax over pairs of (x + y) . theta + beta |x - y|."""
    radius = flat_radius(config, state, arms.shape[1])
    if recall(scratch, arms, radius):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_at_all(state, scratch, arms)
    i, j, _ = best_pair(u, v, radius, scratch)
    return remember(scratch, i, j, 0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class MaxPairUCB(RadiusPolicy):
    """Maximum pair upper confidence bound (Di et al. 2024, sections 4.4 and 6).

    Plays

        argmax_{x, y in A_t} (x + y) . theta_hat + beta_t |x - y|_{Sigma_t^-1},

    with Sigma_t = ridge I + sum z_s z_s' over all past duels and theta_hat the regularised
    estimate from them. If |theta_hat - theta*|_Sigma <= beta_t, twice the average regret of the round
    is at most 2 beta_t |x - y| (appendix C, method 3).

    Deviations: the precision and the estimate share one ridge (the paper's experiments use
    0.001); an arm may meet itself, as the argmax allows, and then nothing is learned.

    Radius "practical": sqrt(d log T).

    Cost a round: O(K^2 d) for the pairs, O(n d^2) a Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = MaxPairUCB(horizon=100, random_state=0)
    >>> arms = np.eye(3)
    >>> duel = policy.ask(arms)
    >>> policy.tell(duel, 1)
    >>> policy.theta_.shape
    (3,)
    """

    config_class: ClassVar[type[RadiusConfig]] = MaxPairUCBConfig
