"""MaxPairUCB (pair choice: `native/policies/max_pair_ucb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class MaxPairUCB(RadiusPolicy):
    """Maximum pair upper confidence bound (Di et al. 2024, sections 4.4 and 6).

    Plays

        argmax_{x, y in A_t} (x + y) . theta_hat + beta_t |x - y|_{Sigma_t^-1},

    with Sigma_t = ridge I + sum z_s z_s' over all past duels and theta_hat their regularised estimate. If |theta_hat -
    theta*|_Sigma <= beta_t, twice the average regret of the round is at most 2 beta_t |x - y| (appendix C, method 3).

    Deviations: precision and estimate share one ridge (the paper's experiments use 0.001); an arm may be compared with
    itself, as the argmax allows; such a duel teaches nothing.

    Radius "practical": sqrt(d log T).

    Cost per round: O(K^2 d) for the pairs, O(n d^2) per Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = MaxPairUCB(horizon=100, random_state=0)
    >>> arms = np.eye(3)
    >>> duel = policy.ask(arms)
    >>> policy.tell(duel, 1)
    >>> policy.theta_.shape
    (3,)
    """
