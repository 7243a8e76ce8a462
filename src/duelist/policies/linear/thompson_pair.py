"""ThompsonPair (pair choice: `native/policies/thompson_pair.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.core.arrays import check_bool, check_positive, is_number
from duelist.core.errors import InvalidInput
from duelist.policies.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class ThompsonPair(LocalCurvature):
    """Double Thompson sampling for contextual duels: two draws from the Laplace posterior.

    Draws theta_1, theta_2 independently from N(theta_hat, scale^2 H^-1) with H = ridge I + sum mu'(z_s . theta_hat) z_s
    z_s', exactly, through the factor of H, and plays

        x_t = argmax_x x . theta_1,    y_t = argmax_y y . theta_2.

    With `feel_good` > 0 the draws follow FGTS.CDB (Li, Zhao, Gu 2024): the posterior is multiplied by exp(feel_good
    max_a (x_a - mean arm) . theta), which favours parameters that promise more.

    Parameters
    ----------
    scale
        Multiplies the standard deviation of the draws.
    feel_good
        Weight of the feel-good term; 0: none.
    allow_self_duel
        False: the second arm is the best of its draw among arms whose features differ from the first's, even with
        `distinct=False`. A single arm, or identical arms, are still compared with themselves.

    Deviations
    ----------
    - FGTS.CDB sums the feel-good term over all past rounds, each against the opponent of its round, and draws by
      Langevin dynamics. Here it is that of the present round, against the mean arm, and one of eight Laplace draws is
      taken with probability proportional to its factor. `FGTS` has the whole sum, in plain Python.

    Cost per round: O(K d) per draw, O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = ThompsonPair(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    scale: float = 1.0
    feel_good: float = 0.0
    allow_self_duel: bool = True

    ridge_reference_dim: ClassVar[float] = 5.0

    def check_settings(self) -> None:
        """Check the spread of the draws and the feel-good term."""
        super().check_settings()
        check_positive("scale", self.scale)
        if not is_number(self.feel_good) or not 0.0 <= self.feel_good < np.inf:
            raise InvalidInput(
                f"feel_good is {self.feel_good!r}.", "Give a finite number of at least 0.", field="feel_good"
            )
        check_bool("allow_self_duel", self.allow_self_duel)

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule as numbers."""
        return {"spread": self.scale, "feel_good": self.feel_good, "allow_self_duel": self.allow_self_duel}
