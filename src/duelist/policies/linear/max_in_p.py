"""MaxInP (pair choice: `native/policies/max_in_p.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class MaxInP(RadiusPolicy):
    """Maximum informative pair (Saha 2021; Di et al. 2024, section 4.4).

    Keeps the promising arms

        C_t = {x : (x - y) . theta_hat + beta_t |x - y|_{Sigma_t^-1} >= 0 for all y in A_t}

    and plays the widest pair of C_t. If |theta_hat - theta*|_Sigma <= beta_t, the best arm is in C_t and twice the
    average regret of the round is at most 4 beta_t |x - y| (appendix C, method 1).

    Deviations: a ridge replaces the warm-up of the original, as in the experiments of Di et al.; precision and estimate
    share it.

    Radius "practical": sqrt(d log T).

    Cost per round: O(K^2 d) at worst, less where arms are ruled out early; O(n d^2) per Newton step with n distinct
    differences.

    >>> import numpy as np
    >>> policy = MaxInP(horizon=100, random_state=0)
    >>> i, j = policy.ask(np.eye(3))
    >>> i != j
    True
    """
