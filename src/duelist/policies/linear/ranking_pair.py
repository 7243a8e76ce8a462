"""RankingPair (pair choice: `native/policies/ranking_pair.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_integer
from duelist.policies.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class RankingPair(LocalCurvature):
    """Ranking of all arms, or of the first few: asks the comparison that settles most of the order.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', D_ij = (x_i - x_j) . theta_hat and W_ij = |x_i -
    x_j|_{H_t^-1}, arms i and j are in the wrong order with probability Phi(-|D_ij| / W_ij). A vote on the pair with
    difference z = p - q reduces every W_ij^2. RankingPair plays the pair with the largest sum of relative reductions,
    weighted by these probabilities,

        argmax_{p, q}  sum_{i < j}  Phi(-|D_ij| / W_ij)  (mu' / (1 + mu' |z|^2_{H_t^-1})) ((x_i - x_j)' H_t^-1 z)^2 / W_ij^2,

    with mu' = mu'(z . theta_hat). An arm whose place is clear is left alone, one among similar arms is compared with
    them, and with features a pair may be asked for what it says about other pairs.

    With `top` = m only the order of the first m arms matters, and which arms they are: the probability is multiplied by
    Phi(sqrt(2) (max(u_i, u_j) - c) / W_ij), where u are utilities and c is halfway between the m-th and the next. From
    m = K - 1 on that is the whole order.

    Real votes follow utilities only approximately, and a policy that asks close pairs again and again would learn what
    is peculiar to those pairs. With an `ArmTable` a repeated pair is therefore discounted: its next vote counts 1 / (1
    + t / 4)^2 of the above, as if its log-odds differed from D_ij by N(0, 1/4). Here t is minus the entry (i, j) of the
    inverse of the covariance of the utilities of the round, or 0: without features, and with all arms in the table, the
    sum of the slopes of the votes on the pair. Votes through arms outside the table count as well, and so does what
    features say that two arms have in common. With features instead of an `ArmTable` a vote is informative about all
    pairs, and there is no discount.

    This policy is new here: D-optimal design (the widest pair in the local curvature) for the order, in the manner of
    the expected information gain of Chen et al. (2013) and of ASAP (Mikhailiuk et al. 2020), with the loss of Kendall's
    tau instead of entropy. `docs/evidence/goal-rank.md` compares it with these.

    Parameters
    ----------
    top
        How many places matter; None: all of them.

    Deviations
    ----------
    - From 256 arms on, the probabilities are those of each arm with its 16 neighbours in the order; candidates are
      pairs of such neighbours, and pairs of the 64 arms farthest out in the directions in which the order is open.
    - With more than 128 arms in an `ArmTable`, pairs of such neighbours, each for what it tells about its own order,
      without discount.
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was learned.
    - If a pair's width exceeds 8, mu' is that of 8 z . theta_hat / |z|_{H_t^-1}: an uncertain gap does not make an
      outcome certain. Otherwise a new arm with a feature far larger than any before would never be chosen.
    - Arms that never differ have no order; if there are no others, any pair.
    - Of pairs that settle exactly as much, as before the first vote, the first by a fixed random order of the arms' ids
      (of positions, without an `ArmTable`). By position, arms listed from best to worst would begin with neighbours,
      which are hardest to tell apart.

    Cost per round: O(K^2 d + K d^2) for the pairs, O(K d^2) from 256 arms on; O(K^3) with up to 128 arms in an
    `ArmTable`, O(K log K) with more; O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = RankingPair(random_state=0)
    >>> for _ in range(60):
    ...     policy.tell(duel := policy.ask(np.eye(4)), float(duel.first < duel.second))
    >>> np.argsort(-policy.theta_)
    array([0, 1, 2, 3])
    """

    pure_exploration: ClassVar[bool] = True  # it asks about every arm whose place is open

    top: int | None = None

    ridge_reference_dim: ClassVar[float] = 5.0

    def check_settings(self) -> None:
        """Check how many places matter."""
        super().check_settings()
        if self.top is not None:
            check_integer("top", self.top, 1, "a whole number of at least 1, or leave it out to rank all arms")

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule as numbers."""
        return {"top": float(self.top or 0)}
