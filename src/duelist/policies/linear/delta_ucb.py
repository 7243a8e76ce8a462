"""DeltaUCB: the pair with the largest gap that the bounds allow."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaUCB(ArmBounds):
    """The most optimistic gap (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692).

    With bounds U_a, L_a = r_a +- scale sigma_a on the utility of each arm by itself, plays

        (x_t, y_t) = argmax_{x != y} U_x - L_y,

    an arm that may be very good against one that may be very bad. Made for data that a language model is then tuned on, where pairs with
    a large gap teach most; as evidence about the arms in between, such pairs teach little.

    Deviations
    ----------
    - The bounds come from a linear model and not from an ensemble: r_a = x_a . theta_hat, sigma_a = |x_a - mean arm|_{H^-1}
      (`policies/arm_bounds.py`).
    - The rule is that of the authors' published code, which takes the argmax of U_x - L_y.

    Cost a round: O(K d) for the bounds, O(K) for the pair; O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = DeltaUCB(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.ask(np.eye(3)).first  # the winner again, against one that may be as bad as the loser
    0
    """
