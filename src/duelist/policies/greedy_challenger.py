"""GreedyChallenger: the arm that looks best, and its strongest challenger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.kernels.all_pairs import argmax
from duelist.kernels.pairs import challenger
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, estimate_first, look_at_all, outdated, rule
from duelist.policies._state import Floats, State


class GreedyChallengerConfig(RadiusConfig):
    """Settings of the GreedyChallenger rule."""


@rule(GreedyChallengerConfig)
def decide_greedy_challenger(config: GreedyChallengerConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """First the arm with the largest utility, then the best arm with a bonus of 2 beta |x - y|."""
    radius = flat_radius(config, state, arms.shape[1])
    if recall(scratch, arms, radius):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_at_all(state, scratch, arms)
    i = argmax(u)
    j = challenger(u, v, i, 2.0 * radius, scratch.line)
    return remember(scratch, i, j, 0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyChallenger(RadiusPolicy):
    """Greedy first arm, optimistic second (Di et al. 2024, equation colstim_sel).

    Plays

        x_t = argmax_x x . theta_hat,
        y_t = argmax_y y . theta_hat + 2 beta_t |x_t - y|_{Sigma_t^-1}.

    If |theta_hat - theta*|_Sigma <= beta_t, twice the average regret of the round is at most
    3 beta_t |x - y| (appendix C, method 2).

    Deviations: none known; an arm may meet itself, as the argmax allows.

    Radius "practical": 0.5 sqrt(d log T), so that the bonus is sqrt(d log T).

    Cost a round: O(K d^2) for the decision, O(n d^2) a Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = GreedyChallenger(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 0.5)
    """

    practical_multiplier: ClassVar[float] = 0.5
    config_class: ClassVar[type[RadiusConfig]] = GreedyChallengerConfig
