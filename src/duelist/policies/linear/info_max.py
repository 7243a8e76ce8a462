"""InfoMax: the pair whose chance of winning is bounded least tightly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.linear.arm_bounds import ArmBounds


@dataclass(kw_only=True, eq=False, repr=False)
class InfoMax(ArmBounds):
    """The loosest bounds on a chance (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692, after Saha 2021).

    With bounds U_a, L_a = r_a +- scale sigma_a on the utility of each arm by itself, plays

        (x_t, y_t) = argmax_{x != y} mu(U_x - L_y) - mu(L_x - U_y),

    the pair about whose outcome the bounds say least. It only explores, and not everywhere: the bounds of two arms do not say that the
    two may be unknown together, so a pair whose difference is known well can look unknown for ever (docs/cited.md). `DesignPair` and
    `APO` look at the difference.

    Deviations
    ----------
    - The bounds come from a linear model and not from an ensemble: r_a = x_a . theta_hat, sigma_a = |x_a - mean arm|_{H^-1}
      (`policies/arm_bounds.py`).
    - The rule is that of the authors' published code; any link takes the place of the logistic function.

    Cost a round: O(K d) for the bounds, O(K^2) for the pairs; O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = InfoMax(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    pure_exploration: ClassVar[bool] = True
