"""`ArmBounds`: bounds on each arm's utility (`native/policies/arm_bounds.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_positive
from duelist.policies.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class ArmBounds(LocalCurvature):
    """Bounds r_a -+ beta sigma_a on the utility of each arm (Melikidze et al. 2026, ActiveUltraFeedback, arXiv
    2603.09692).

    Theirs come from an ensemble of reward models. Here r_a = x_a . theta_hat, sigma_a is the standard deviation in the
    Laplace posterior N(theta_hat, H^-1) with H = ridge I + sum mu'(z_s . theta_hat) z_s z_s', and beta is `scale`.
    Duels carry no information about the level of utilities, so it is fixed at the mean of the arms: sigma_a = |x_a -
    mean arm|_{H^-1}.

    Asking about a pair hardly shrinks the bounds of single arms, so a pending pair is not asked again while others
    are allowed (nor one with the same difference, unless more than 2^20 pairs have it).

    Parameters
    ----------
    scale
        beta, the multiplier of the standard deviations.
    """

    scale: float = 1.0

    def check_settings(self) -> None:
        """Check the multiplier."""
        super().check_settings()
        check_positive("scale", self.scale)

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule as numbers."""
        return {"scale": self.scale}
