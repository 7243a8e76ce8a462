"""InterleavedFilter (rule: `native/counting/interleaved_filter.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class InterleavedFilter(CountingPolicy):
    """Interleaved Filter 2: a candidate against all remaining arms in turn, until one of them beats it.

    A random arm is the candidate b; W are the others. It meets every arm of W in turn. After each pass, with P the
    share that b has won against an arm in t duels and

        c_t = sqrt(4 log(1 / delta) / t),   delta = 1 / (T K^2),

    arms with P - c_t >= 1/2 leave W. If an arm has P + c_t <= 1/2, all arms with P > 1/2 leave W too, it is the new
    candidate, and all counts start anew. When W is empty the candidate meets itself. Yue, Broder, Kleinberg, Joachims,
    "The K-armed dueling bandits problem", Journal of Computer and System Sciences 78, 2012, Algorithm 2 (IF2). For
    ordered arms with strong stochastic transitivity.

    Deviations
    ----------
    - If several arms beat the candidate in the same pass, the first in the order of arms replaces it; the paper takes
      any.
    - A pass is over when all arms of W have met the candidate once more, in any order of votes; or one of
      them twice, if the others are excluded. Votes on other pairs, and late ones about an earlier candidate, count in
      `wins_` only.
    - New arms are in W. With `distinct=True` the last candidate meets the arm with the largest win rate against it.

    Cost per round: O(K).

    >>> policy = InterleavedFilter(horizon=1000, random_state=0)
    >>> for _ in range(1000):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    needs_horizon: ClassVar[bool] = True

    def rule_settings(self) -> dict[str, float]:
        """Return the horizon."""
        return {"horizon": float(self.horizon or 0)}
