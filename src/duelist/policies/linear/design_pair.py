"""DesignPair (pair choice: `native/policies/design_pair.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from duelist.core.arrays import check_choice
from duelist.policies.engine import LocalCurvature

CRITERIA: Final = ("D", "A")


@dataclass(kw_only=True, eq=False, repr=False)
class DesignPair(LocalCurvature):
    """Sequential optimal design: the comparison that adds most information to those made so far.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', the Fisher information of the past, plays the pair with
    difference z of

        "D":  argmax log det(H_t + mu'(z . theta_hat) z z') = argmax mu'(z . theta_hat) |z|^2_{H_t^-1},

        "A":  argmin sum_a Var_{t+1}(u_a - mean u)
              = argmax mu'(z . theta_hat) sum_a ((x_a - mean arm)' H_t^-1 z)^2 / (1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    where the sum is over the arms of the round. "D" is the past-aware D-optimal design of active reward modelling
    (Shen, Sun, Ton 2025, arXiv 2502.04354): wide pairs with moderate differences of reward. Both are the pairings of
    Liu et al. for arenas (2026, "Fewer Battles, More Gain"), who have an ability per arm and take argmax |I_S + I_ij|
    and argmin tr (I_S + I_ij)^-1: with one feature per arm H_t is their I_S, and the sum is the trace of the covariance
    of the abilities.

    Parameters
    ----------
    criterion
        "D" (default): information about theta in all directions. "A": information about the arms of the round.

    Deviations
    ----------
    - Shen et al. maximise the log-determinant of past and batch together, and choose the batch by one gradient step
      from all candidates; here it is the maximum for a batch of one. For batches over contexts see `ask_batch`, which
      uses Sigma.
    - The ridge counts as information of the past, so that the first pair is defined; Liu et al. start from random
      pairs.
    - "A" is over utilities relative to the mean arm, since duels carry no information about their level. Liu et al. fix
      the ability of one arm instead, which is then asked about too often, as they report. Over theta the trace would
      depend on the units of the features.
    - With more than 64 arms in an `ArmTable`, pairs of the 64 arms with the largest variance.

    Cost per round: O(K^2 d) for the pairs, and O(K d^2) for "A"; O(n d^2) for the curvature with n distinct
    differences, and a solve.

    >>> import numpy as np
    >>> policy = DesignPair(criterion="A", random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.curvature_.shape
    (3, 3)
    """

    criterion: str = "D"

    pure_exploration: ClassVar[bool] = True

    def check_settings(self) -> None:
        """Check the criterion."""
        super().check_settings()
        check_choice("criterion", self.criterion, CRITERIA)

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule as numbers."""
        return {"average": self.criterion == "A"}
