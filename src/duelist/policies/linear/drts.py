"""DRTS (pair choice: `native/policies/drts.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class DRTS(ArmBounds):
    """Double reverse Thompson sampling (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692).

    With zeta_a and zeta'_a independent and uniform between -1 and 1 for each arm, plays

        x_t = argmax_a r_a + zeta_a scale sigma_a,    y_t = argmin_a r_a - zeta'_a scale sigma_a,

    an arm that may be the best against one that may be the worst. If the two are the same arm, the second is redrawn,
    up to 30 times, and then uniformly among the others. Like `DeltaUCB` it is meant for data to tune a language model
    on.

    Deviations
    ----------
    - Utilities and deviations come from a linear model instead of an ensemble: r_a = x_a . theta_hat, sigma_a = |x_a -
      mean arm|_{H^-1} (`policies/linear/arm_bounds.py`).
    - The rule follows the authors' published code, which draws for each arm separately: draws for arms with similar
      features are independent. For draws of one theta see `ThompsonPair`.
    - A pair that must not be asked (`exclude`) is redrawn as well; x_t is the best of the arms that have a partner
      left.

    Cost per round: O(K d) for the bounds, O(K) per draw; O(n d^2) for the curvature with n distinct differences, and a
    solve.

    >>> import numpy as np
    >>> policy = DRTS(random_state=0)
    >>> i, j = policy.ask(np.eye(3))
    >>> i != j
    True
    """
