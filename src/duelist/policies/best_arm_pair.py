"""BestArmPair: the comparison that tells most about the leader and the arm that comes closest to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.engine import LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(LocalCurvature):
    """Best-arm identification: asks what decides, whatever it costs in regret.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', the leader x = argmax x . theta_hat and its closest rival
    y = argmin_y (x - y) . theta_hat / |x - y|_{H_t^-1}, plays the pair with difference z = p - q that maximises

        mu'(z . theta_hat) ((x - y)' H_t^-1 z)^2 / (1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    which is by how much its outcome shrinks |x - y|^2_{H_t^-1}: the two need not meet to be told apart. Ask
    `recommend` after any vote whether all rivals are ruled out, and stop then.

    The rule is the greedy one of LinGapE (Xu, Honda, Sugiyama 2018), with the slope of the link as in
    GLGapE (Kazerouni, Wein 2021), for comparisons. It is for finding the best arm with few votes, not for small regret: it
    shows bad arms whenever they teach more.

    Deviations
    ----------
    - The rival is the arm with the least lead in standard deviations, which needs no error rate; LinGapE takes the one with
      the largest upper confidence bound on its gap.
    - Before the first vote, and whenever the estimate is zero, the widest pair.
    - From 256 arms on, pairs of the 64 arms that lie farthest along (x - y)' H_t^-1 on one side with the 64 on the other.
    - Of more than 64 `FreeArms`, leader and rival, and pairs of 32 arms on either side along (x - y)' H_t^-1 (decision 27).
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was made.

    Cost a round: O(K^2 d) for the pairs, O(K d + K log K) from 256 arms on; O(n d^2) for the curvature with n distinct
    differences, and a solve.

    >>> import numpy as np
    >>> policy = BestArmPair(random_state=0)
    >>> for _ in range(40):
    ...     policy.tell(duel := policy.ask(np.eye(3)), float(duel.first < duel.second))
    >>> policy.recommend(np.eye(3)).best
    0
    """

    seeks_the_best: ClassVar[bool] = True
