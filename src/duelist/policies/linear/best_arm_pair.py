"""BestArmPair (pair choice: `native/policies/best_arm_pair.hpp`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from duelist.core.arrays import check_arms
from duelist.core.duel import Duel
from duelist.policies.base import Arms
from duelist.policies.engine import DecidingModel, LocalCurvature


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(LocalCurvature):
    """Best-arm identification: asks the comparison that tells most about the leader and its closest rival.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', the leader is x = argmax x . theta_hat. Its rival is the arm
    most easily mistaken for the best, by its gap g = (x - y) . theta_hat and its width w = |x - y|_{H_t^-1},

        y = argmin_y g^2 / w^2 - 3 log w^2.

    The pair played has the difference z = p - q that maximises

        mu'(z . theta_hat) ((x - y)' H_t^-1 z)^2 / (1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    the amount by which its outcome reduces w^2; it need not contain leader or rival. Call `recommend` after any vote,
    and stop once it is decided.

    Leader and rival follow EB-TCI (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022): the empirically best arm, and
    the challenger of least transportation cost g^2 / (2 w^2) plus a logarithm of how often it was drawn. In the long
    run the cost decides; before, the logarithm protects an arm that was unlucky in its first votes. The pair is the
    greedy one of LinGapE (Xu, Honda, Sugiyama 2018) with the slope of the link as in GLGapE (Kazerouni, Wein 2021), for
    comparisons. The policy finds the best arm with few votes and does not keep regret small: it shows bad arms if they
    are informative.

    Once features alone would decide at error rate 0.05, the policy asks what it would ask with arm effects
    (`with_arm_effects`) after the same votes, so that votes on the arms themselves confirm or refute the decision. That
    is so for at most 300 arms that stay, unless they are too few for features to be wrong. With distinct=False, as in
    simulations, and in `suggest`, features alone ask to the end.

    Deviations
    ----------
    - EB-TCI counts how often an arm was drawn. Arms with features are known through one another, so 1 / w^2 replaces
      the count, and its logarithm counts one and a half times, a measured compromise (decision 39).
    - EB-TCI asks about leader or rival at random; here the criterion for the pair contains both.
    - If a pair's width exceeds 8, mu' is that of 8 z . theta_hat / |z|_{H_t^-1}: an uncertain gap does not make an
      outcome certain. Otherwise a new arm with a feature far larger than any before would never be chosen.
    - If `ridge` is None it is max(1, dim / 5) times the variance of each feature, so that beyond five features an arm's
      utility is as uncertain before the first vote as with five.
    - Before the first vote, and whenever all utilities are exactly equal, the widest pair. (After votes that cancel out
      the estimate is zero up to rounding, which then decides who leads.)
    - From 256 arms on, pairs of the 64 arms farthest along (x - y)' H_t^-1 on one side with the 64 on the other; all
      pairs if these are all excluded.
    - With an `ArmTable`, leader and rival are those of top-two Thompson sampling (Russo 2016): the best arm of a draw
      from the posterior, under prior variances drawn with the probability that the votes give them, and the best of
      the next draw that has another one (decision 54). Only the 16 arms of largest u + 2 sqrt(variance) are drawn,
      at most eight times for the rival. Of more than 64 arms, the pairs searched are these two and those of 32 arms
      on either side along (x - y)' H_t^-1 (decision 27).
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was learned.

    Cost per round: O(K^2 d) for the pairs, O(K d + K log K) from 256 arms on; O(n d^2) for the curvature with n
    distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = BestArmPair(random_state=0)
    >>> for _ in range(40):
    ...     policy.tell(duel := policy.ask(np.eye(3)), float(duel.first < duel.second))
    >>> policy.recommend(np.eye(3)).best
    0
    """

    pure_exploration: ClassVar[bool] = True

    deciding_model: ClassVar[DecidingModel] = "drawn"

    asks_with_effects: ClassVar[bool] = True

    ridge_reference_dim: ClassVar[float] = 5.0

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Return two arms to compare; see `NativePolicy.ask`. With distinct=False, by features alone to the end."""
        if distinct and not self._uses_arm_effects(arms) and self._player.dim and self._player.learned.any():
            from duelist.policies.engine.recommend import pair_with_effects  # imports SciPy, which is slow

            seed = np.random.SeedSequence([*self._words.tolist(), self.rounds_]).generate_state(1)
            choice = pair_with_effects(self, check_arms(arms, self.dim_), exclude, int(seed[0]))
            if choice is not None:
                return self._ask_pair(check_arms(arms, self.dim_), choice.first, choice.second)
        return super().ask(arms, distinct=distinct, exclude=exclude)
