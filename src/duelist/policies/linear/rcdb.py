"""RCDB (pair choice: `native/policies/rcdb.hpp`)."""

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
    estimate and its term in Sigma_t = ridge I + sum w_s z_s z_s'. The outcome of an uncertain pair could move the
    estimate far; the weight limits that, so that regret stays low under a few adversarial votes.

    Parameters
    ----------
    trust
        The width up to which a vote counts in full (alpha in the paper). None: sqrt(d) / corruption, as published.
    corruption
        The number C of adversarial votes to withstand. None: sqrt(T), as published for an unknown C.

    Deviations: the radius is a free scale times sqrt(d log T), as for the comparators; precision and estimate share one ridge.

    Cost per round: that of MaxPairUCB.

    >>> import numpy as np
    >>> policy = RCDB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    trust: float | None = None
    corruption: float | None = None

    def check_settings(self) -> None:
        """Check the trust and the corruption."""
        super().check_settings()
        for name in ("trust", "corruption"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule: trust 0 means sqrt(d) / corruption, corruption 0 means sqrt(T)."""
        return {**super().rule_settings(), "trust": self.trust or 0.0, "corruption": self.corruption or 0.0}
