"""MaxMinLCB (pair choice: `native/policies/max_min_lcb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class MaxMinLCB(RadiusPolicy):
    """Duels as a Stackelberg game of lower confidence bounds.

    Pasztor, Kassraie, Krause 2024, arXiv 2406.16745, Algorithm 1. With bounds on the probability that x beats y,

        LCB_t(x, y) = mu((x - y) . theta_hat) - L_mu beta_t |x - y|_{Sigma_t^-1},    UCB_t(x, y) = 1 - LCB_t(y, x),

    keeps the arms that may be best, M_t = {x : UCB_t(x, y) >= 1/2 for all y in A_t}, and plays

        x_t = argmax_{x in M_t} min_{y in M_t} LCB_t(x, y),    y_t = argmin_{y in M_t} LCB_t(x_t, y):

    the leader commits to the arm with the best worst case, and the follower plays that worst case. Once a single arm is
    left in M_t it is compared with itself, and nothing more is learned.

    Deviations
    ----------
    - The paper has a kernel; this is its rule with the linear one, where sigma_t^D(x, y) is a multiple of |x -
      y|_{Sigma_t^-1}.
    - beta_t is the radius of the other policies here, |(x - y) . (theta_hat - theta*)| <= beta_t |x - y|; L_mu, the
      largest slope of the link, converts it to probabilities, as in the paper. The constants of the paper's confidence
      sequence are not used.
    - M_t has >=, where the authors' code has >, so that arms with the same features do not rule each other out.
    - Of equal leaders the first is played; of equal followers the leader itself, then the first; the authors' code
      draws one. If no pair of candidates may be asked, the follower is any arm, and if necessary so is the leader.

    Radius "practical": sqrt(d log T).

    Cost per round: O(K^2 d) for the pairs, O(n d^2) per Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = MaxMinLCB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.theta_.shape
    (3,)
    """
