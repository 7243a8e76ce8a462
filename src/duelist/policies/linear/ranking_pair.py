"""RankingPair: the comparison that settles most of the order of the arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_integer
from duelist.policies.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class RankingPair(LocalCurvature):
    """Ranking, of all arms or of the first few: asks what is open, whatever it costs in regret.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', D_ij = (x_i - x_j) . theta_hat and W_ij = |x_i - x_j|_{H_t^-1}, arms i
    and j stand in the wrong order with chance Phi(-|D_ij| / W_ij). A vote on the pair with difference z = p - q makes every W_ij^2
    smaller. RankingPair plays the pair for which the parts that go away, weighted by these chances, have the largest sum,

        argmax_{p, q}  sum_{i < j}  Phi(-|D_ij| / W_ij)  (mu' / (1 + mu' |z|^2_{H_t^-1})) ((x_i - x_j)' H_t^-1 z)^2 / W_ij^2,

    with mu' = mu'(z . theta_hat). So an arm whose place is clear is left alone, one among others of the same worth is
    compared with them, and with features a pair may be asked because of what it says about others.

    With `top` = m the order of the first m arms matters, and who is among them: the chance is multiplied by
    Phi(sqrt(2) (max(u_i, u_j) - c) / W_ij), where u are utilities and c lies halfway between the m-th and the next. From m = K - 1 on
    that is the whole order.

    Real votes follow utilities by and large only, and a policy that asks close pairs again and again would learn what is odd
    about those pairs. So among `ArmTable` a pair tires: the next vote on it is worth 1 / (1 + t / 4)^2 of the above, as if its
    log-odds differed from D_ij by N(0, 1/4). Here t is minus the entry (i, j) of the inverse of the covariance of the utilities on
    the table, or 0: without features, and with all arms on the table, the sum of the slopes of the votes on the pair. Votes by
    way of arms that are not on the table count as well, and so does what features say that two arms have in common. With a table
    of features in the place of `ArmTable` a vote says something about all pairs, and none tires.

    It is this package's own: D-optimal design (the widest pair in the local curvature) made to look at order, in the
    manner of the expected information gain of Chen et al. (2013) and of ASAP (Mikhailiuk et al. 2020), with the loss of Kendall's tau
    in the place of entropy. `docs/jobs-rank.md` measures it against these.

    Parameters
    ----------
    top
        How many places matter; None: all of them.

    Deviations
    ----------
    - From 256 arms on, the chances are those of each arm with the 16 that stand next to it in the order; pairs of such neighbours
      are tried, and pairs of the 64 arms that lie farthest out in the directions in which the order is open.
    - Of more than 128 `ArmTable`, pairs of such neighbours are tried, each for what it tells about its own order, and none tires.
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was made.
    - Where a pair's width is more than 8, mu' is that of 8 z . theta_hat / |z|_{H_t^-1}: a gap that nobody knows does not make an outcome
      certain. At its word, an arm that joins with a feature far larger than any before would never be asked about.
    - Arms that never differ have no order; where there are no others, any pair.
    - Of pairs that settle exactly as much, as before the first vote, the first by lots that arms draw once and for all by their numbers
      (positions, where arms come with features alone). In the order of the list, whoever lists arms from the best to the worst
      would begin with neighbours, which are hardest to tell apart and settle least.

    Cost a round: O(K^2 d + K d^2) for the pairs, O(K d^2) from 256 arms on; O(K^3) with K up to 128 `ArmTable`, O(K log K) with
    more; O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = RankingPair(random_state=0)
    >>> for _ in range(60):
    ...     policy.tell(duel := policy.ask(np.eye(4)), float(duel.first < duel.second))
    >>> np.argsort(-policy.theta_)
    array([0, 1, 2, 3])
    """

    pure_exploration: ClassVar[bool] = True  # it gives no arm up while its place is open

    top: int | None = None

    ridge_reference_dim: ClassVar[float] = 5.0

    def check_settings(self) -> None:
        """How many places matter."""
        super().check_settings()
        if self.top is not None:
            check_integer("top", self.top, 1, "a whole number of at least 1, or leave it out to rank all arms")

    def rule_settings(self) -> dict[str, float]:
        """The settings of the rule as numbers."""
        return {"top": float(self.top or 0)}
