"""What the rules of ActiveUltraFeedback share: bounds on the utility of each arm by itself."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_positive
from duelist.policies.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class ArmBounds(LocalCurvature):
    """Bounds r_a -+ beta sigma_a on the utility of each arm (Melikidze et al. 2026, ActiveUltraFeedback, arXiv 2603.09692).

    Theirs come from an ensemble of reward models. Here r_a = x_a . theta_hat, sigma_a is its standard deviation in the Laplace posterior
    N(theta_hat, H^-1), with H = ridge I + sum mu'(z_s . theta_hat) z_s z_s', and beta is `scale`. Duels say nothing about the
    level of utilities, so it is taken to be known at the mean of the arms on the table: sigma_a = |x_a - mean arm|_{H^-1}.

    Bounds of single arms hardly fall when a pair is asked about, so a pair that is out with somebody is not asked again while others
    may be (nor one with the same difference, unless more than 2^20 pairs have one).

    Parameters
    ----------
    scale
        beta, which multiplies the standard deviations.
    """

    scale: float = 1.0

    def check_settings(self) -> None:
        """The width of the bounds."""
        super().check_settings()
        check_positive("scale", self.scale)

    def rule_settings(self) -> dict[str, float]:
        """The settings of the rule as numbers."""
        return {"scale": self.scale}
