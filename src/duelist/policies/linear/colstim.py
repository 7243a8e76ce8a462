"""CoLSTIM (pair choice: `native/policies/colstim.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_integer, check_positive
from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class CoLSTIM(RadiusPolicy):
    """Contextual linear stochastic transitivity imitation (Bengs, Saha, Huellermeier, ICML 2022).

    Flips B ~ Bernoulli(p_t), p_t = min(1, sqrt(d log(dT) / t)); draws eps_i ~ G for every arm if B = 1, one eps for all
    if B = 0, clipped to [-C, C]; then plays

        i = argmax_i x_i . theta_hat + eps_i |x_i|_{Sigma^-1},
        j = argmax_j x_j . theta_hat + c |x_j - x_i|_{Sigma^-1}.

    G is the Gumbel distribution for the logistic link and the normal for probit; for the exponential link, whose noise
    the paper leaves open, Gumbel is used.

    Parameters
    ----------
    radius, scale
        c. "practical" is the published c = sqrt(d log T).
    clip
        C; None: sqrt(d log T), as published.
    warmup
        Number of uniform rounds at the start; None: d K with K the arms of the round, as published. The default 0
        follows the experiments of Di et al. 2024, where the ridge replaces them.

    Deviations
    ----------
    - The ridge.
    - In the authors' code of Di et al. the branches of the coin are swapped; this follows the original paper.
    - By default, with neither a ridge nor radius "tight" or "theory", |x_i| is the distance of an arm from the mean of the arms,
      so that the origin of a feature (a year, a time stamp) does not matter.

    Cost per round: O(K d^2) for the decision, O(n d^2) per Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = CoLSTIM(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    clip: float | None = None
    warmup: int | None = 0

    def check_settings(self) -> None:
        """Check the clip and the warm-up."""
        super().check_settings()
        if self.clip is not None:
            check_positive("clip", self.clip)
        if self.warmup is not None:
            check_integer("warmup", self.warmup, 0, "a number of rounds, or no value for d K of them")

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule: clip 0 means sqrt(d log T), warm-up -1 means d K."""
        warmup = -1 if self.warmup is None else self.warmup
        return {**super().rule_settings(), "clip": self.clip or 0.0, "warmup": warmup}
