"""DRTS: the best arm of one draw against the worst arm of another."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class DRTS(ArmBounds):
    """Double reverse Thompson sampling (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692).

    With zeta_a and zeta'_a independent and uniform between -1 and 1 for each arm, plays

        x_t = argmax_a r_a + zeta_a scale sigma_a,    y_t = argmin_a r_a - zeta'_a scale sigma_a,

    an arm that may be the best against one that may be the worst. Where the two are one arm, the second is drawn again, 30 times
    in all, and then uniformly among the others. Made for data that a language model is then tuned on, like `DeltaUCB`.

    Deviations
    ----------
    - Utilities and deviations come from a linear model and not from an ensemble: r_a = x_a . theta_hat,
      sigma_a = |x_a - mean arm|_{H^-1} (`policies/arm_bounds.py`).
    - The rule is that of the authors' published code, which draws each arm by itself: the draws of arms with similar
      features are independent. For draws of one theta see `ThompsonPair`.
    - A pair that may not be asked (`exclude`) is drawn again as well; x_t is the best of the arms that have a partner left.

    Cost a round: O(K d) for the bounds, O(K) a draw; O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = DRTS(random_state=0)
    >>> i, j = policy.ask(np.eye(3))
    >>> i != j
    True
    """
