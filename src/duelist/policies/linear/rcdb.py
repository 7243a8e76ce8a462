"""RCDB: votes count for less the less was known about them, so that a few bad ones do little harm."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_positive
from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class RCDB(RadiusPolicy):
    """Robust contextual dueling bandit (Di, He, Gu 2024, "... from Adversarial Feedback", Algorithm 1).

    Plays the pair of MaxPairUCB,

        argmax_{x, y in A_t} (x + y) . theta_hat + beta |x - y|_{Sigma_t^-1},

    and learns its outcome with the weight w_t = min(1, trust / |x - y|_{Sigma_t^-1}), which multiplies its loss in the
    estimate and its share of Sigma_t = ridge I + sum w_s z_s z_s'. An outcome about a pair of which little is known
    could move the estimate far; its weight keeps any single vote, honest or not, from doing so.

    Parameters
    ----------
    trust
        The width up to which a vote counts in full (alpha in the paper). None: sqrt(d) / corruption, as published.
    corruption
        The number C of adversarial votes to withstand. None: sqrt(T), as published for an unknown C.

    Deviations: the radius is a free scale times sqrt(d log T), as for the comparators; the precision and the
    estimate share one ridge.

    Cost a round: that of MaxPairUCB.

    >>> import numpy as np
    >>> policy = RCDB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    trust: float | None = None
    corruption: float | None = None

    def check_settings(self) -> None:
        """The trust, or the corruption that it follows from."""
        super().check_settings()
        for name in ("trust", "corruption"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def rule_settings(self) -> dict[str, float]:
        """A trust of 0 stands for sqrt(d) / corruption, a corruption of 0 for sqrt(T)."""
        return {**super().rule_settings(), "trust": self.trust or 0.0, "corruption": self.corruption or 0.0}
