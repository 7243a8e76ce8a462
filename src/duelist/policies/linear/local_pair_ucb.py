"""LocalPairUCB (pair choice: `native/policies/local_pair_ucb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from duelist.core.arrays import Floats
from duelist.policies.engine import DecidingModel, LocalCurvature, Prior, RadiusPolicy

_MIN_UNITS: Final = 1e-300
"""For a single arm, or equal arms, without any difference."""


@dataclass(kw_only=True, eq=False, repr=False)
class LocalPairUCB(LocalCurvature, RadiusPolicy):
    """Maximum pair upper confidence bound in the local curvature.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', W = |x - y|_{H_t^-1} and D = (x - y) . theta_hat, plays

        argmax_{x, y in A_t}  (x + y) . theta_hat + W sqrt(2 c (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),

        L = log(1 + T mu'(D) W^2),    c = 1.4 scale.

    The rule is that of MaxPairUCB (Di et al. 2024, sections 4.4 and 6). The widths are weighted by variance through the
    slope, the idea of VACDB without its layers. 1 / (mu' W^2) comparisons carry as much information as there is about
    the pair, and L is the logarithm of the number of rounds per such comparison. The bonus has the shape of the optimal
    boundary for one comparison with a finite horizon (Anscombe 1963; Lai 1987: 2 log x - log log x - constant). A pair
    with little information keeps a large bonus, so an early streak of luck rarely locks the policy in on a wrong arm; a
    pair compared as often as the horizon can repay has none. The power of the slope accounts for nearly certain
    outcomes, where a few votes say more than the curvature at the estimate. `docs/evidence/bonus.md` compares bonuses.

    Parameters
    ----------
    horizon
        T. None: the next power of two above t, so the bonus of a pair that is not asked grows with time.
    radius
        "practical": the bonus above. "theory": beta_t W with the radius of the log-loss confidence set,
        `reference.local_pair_ucb.log_loss_radius`, which holds in all rounds at once with probability 1 -
        delta and needs no kappa. A number: that number times W.
    scale
        Multiplies c, or the radius. 1.5 trades a higher mean regret for a lighter tail (`docs/evidence/frontier.md`).

    Deviations
    ----------
    - If `ridge` is None it is max(1, dim / 5) times the variance of each feature, so that beyond five features an arm's
      utility is as uncertain before the first vote as with five.
    - The log-loss set is proved for the estimate constrained to |theta| <= S; here the estimate has a ridge, whose bias
      sqrt(ridge) S is added.
    - From 256 arms on, the best of some good pairs, found by pruned searches: all pairs of the leading arm, and the
      winners for several single radii (`native/policies/local_bonus.cpp`).
    - With more than 64 arms in an `ArmTable`, the best pair of the leading arm, and of the 64 arms that may be best
      (decision 27).
    - With an `ArmTable` c = scale, because votes choose the prior variances and so widths fit the spread of utilities. Of the
      candidate variances that are almost as likely as the best (e^-2 of its weight) the largest decide: with too small ones the
      leader would be shown alone, which teaches nothing (decision 53).
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was learned.
    - An arm may be compared with itself, as the argmax allows; such a duel teaches nothing.

    Cost per round: O(K^2 d) for the pairs at worst, O(n d^2) for the curvature with n distinct differences, and a
    solve.

    >>> import numpy as np
    >>> policy = LocalPairUCB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.curvature_.shape
    (3, 3)
    """

    ridge_reference_dim: ClassVar[float] = 5.0
    practical_multiplier: ClassVar[float] = 1.4
    deciding_model: ClassVar[DecidingModel] = "widest"
    experiment_radius_error: ClassVar[str] = "belongs to the comparators"

    def prior(self, variances: Floats, reach: float) -> Prior:
        """Return the prior; for the published radius also with the largest difference that the first arms allow."""
        return super().prior(variances, reach)._replace(units=max((2.0 * reach) ** 2, _MIN_UNITS))
