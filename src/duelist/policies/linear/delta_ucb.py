"""DeltaUCB (pair choice: `native/policies/delta_ucb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaUCB(ArmBounds):
    """The most optimistic gap (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692).

    With bounds U_a, L_a = r_a +- scale sigma_a on the utility of each arm, plays

        (x_t, y_t) = argmax_{x != y} U_x - L_y,

    an arm that may be very good against one that may be very bad. It is meant for data to tune a language model on,
    where pairs with a large gap teach most; they tell little about the arms in between.

    Deviations
    ----------
    - The bounds come from a linear model instead of an ensemble: r_a = x_a . theta_hat, sigma_a = |x_a - mean
      arm|_{H^-1} (`policies/linear/arm_bounds.py`).
    - The rule follows the authors' published code, which takes the argmax of U_x - L_y.

    Cost per round: O(K d) for the bounds, O(K) for the pair; O(n d^2) for the curvature with n distinct differences,
    and a solve.

    >>> import numpy as np
    >>> policy = DeltaUCB(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.ask(np.eye(3)).first  # the winner again, against one that may be as bad as the loser
    0
    """
