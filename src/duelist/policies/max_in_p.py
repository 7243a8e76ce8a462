"""MaxInP: the most informative pair among the arms that may still be best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.kernels.linalg import utilities, whiten
from duelist.kernels.pairs import undominated, widest_pair
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, all_arms, rule
from duelist.policies._state import Floats, State, solve_only


class MaxInPConfig(RadiusConfig):
    """Settings of the MaxInP rule."""


@rule(MaxInPConfig)
def decide_max_in_p(config: MaxInPConfig, state: State, run: int, arms: Floats) -> Decision:
    """The widest pair of the promising set."""
    n, dim = arms.shape
    everyone = all_arms(n)
    solve_only(state, run, config.link)
    u = utilities(state.theta[run, 0], arms, everyone, n)
    v = whiten(state.factor[run, 0], arms, everyone, n)
    promising = np.empty(n, np.int64)
    count = undominated(u, v, flat_radius(config, state, run, dim), promising)
    kept = np.empty((dim, count))
    for k in range(dim):
        for a in range(count):
            kept[k, a] = v[k, promising[a]]
    i, j, _ = widest_pair(kept)
    return promising[i], promising[j], 0, 1.0


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
