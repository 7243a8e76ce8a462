"""InfoMax (pair choice: `native/policies/info_max.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class InfoMax(ArmBounds):
    """Plays the pair whose probability to win has the loosest bounds.

    Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692, after Saha 2021. With bounds U_a, L_a = r_a +- scale
    sigma_a on the utility of each arm, plays

        (x_t, y_t) = argmax_{x != y} mu(U_x - L_y) - mu(L_x - U_y),

    the pair whose outcome the bounds constrain least. It explores only, and not everywhere: bounds of single arms
    ignore that two utilities are correlated, so a pair with a well-known difference can look uncertain for ever
    (docs/evidence/cited.md). `DesignPair` and `APO` use the difference.

    Deviations
    ----------
    - The bounds come from a linear model instead of an ensemble: r_a = x_a . theta_hat, sigma_a = |x_a - mean
      arm|_{H^-1} (`policies/linear/arm_bounds.py`).
    - The rule follows the authors' published code; any link replaces the logistic function.

    Cost per round: O(K d) for the bounds, O(K^2) for the pairs; O(n d^2) for the curvature with n distinct differences,
    and a solve.

    >>> import numpy as np
    >>> policy = InfoMax(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    pure_exploration: ClassVar[bool] = True
