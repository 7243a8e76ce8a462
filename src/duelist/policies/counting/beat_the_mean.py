"""BeatTheMean (rule: `native/counting/beat_the_mean.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_positive, is_number
from duelist.core.errors import InvalidInput
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class BeatTheMean(CountingPolicy):
    """Beat the Mean: each arm against a random remaining one, and the worst of them leaves.

    W are the remaining arms; b in W was the first arm of n_b duels with arms of W and won w_b of them, P_b = w_b / n_b (1/2
    at n_b = 0). It plays b = argmin n_b, ties at random, against an arm drawn uniformly from W, which may be b. With n*
    = min n_b and

        c* = scale gamma^2 sqrt(log(1 / delta) / n*),   delta = 1 / (2 T K)   (1 at n* = 0),

    argmin P_b leaves W when min P_b + c* <= max P_b - c*, and duels with it no longer count. A single remaining arm
    meets itself. Yue, Joachims, "Beat the mean bandit", ICML 2011, Algorithm 1 in its online form; scale = 3, gamma >=
    1 for relaxed stochastic transitivity, 1 if arms have utilities.

    Parameters
    ----------
    gamma
        How far win probabilities may be from those of arms with utilities; 1 if arms have utilities.
    scale
        Multiplies the confidence radius c*; 3 as published.

    Deviations
    ----------
    - The outcome of a self-duel is counted, as published, and carries no information; with `distinct=True` the arm
      meets another, as in published programs, and arms leave sooner.
    - With `distinct=True` the last arm meets the one with the largest win rate against it.
    - A duel counts for its first arm, and while both are in W, however late its vote arrives. Votes that the policy did not ask
      for, whose opponents were not drawn at random, count in `wins_` only.
    - New arms are in W. An arm that is never among the arms of a round keeps n* where it is.

    Cost per round: O(K).

    >>> policy = BeatTheMean(horizon=10_000, scale=1.0, random_state=0)
    >>> for _ in range(2000):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    gamma: float = 1.0
    scale: float = 3.0

    needs_horizon: ClassVar[bool] = True
    external_layer: ClassVar[int] = 1

    def check_settings(self) -> None:
        """Check gamma >= 1 and scale > 0."""
        if not is_number(self.gamma) or not 1.0 <= self.gamma < float("inf"):
            raise InvalidInput(
                f"gamma is {self.gamma!r}.", "Give at least 1, which is for arms with utilities.", field="gamma"
            )
        check_positive("scale", self.scale)

    def rule_settings(self) -> dict[str, float]:
        """Return the width of the interval, and the horizon."""
        return {"width": float(self.scale) * float(self.gamma) ** 2, "horizon": float(self.horizon or 0)}
