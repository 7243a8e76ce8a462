"""RMED1, RMED2 and RMED2FH (rule: `native/counting/rmed.hpp`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_positive
from duelist.core.errors import InvalidInput
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class RMED1(CountingPolicy):
    """Relative minimum empirical divergence: an arm that may be best against its refuter.

    Plays each arm as often as it is likely to be best.

    With mu_ij = w_ij / n_ij (1/2 at n_ij = 0), d(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)), O_i = {j != i :
    mu_ij <= 1/2},

        I_i = sum_{j in O_i} n_ij d(mu_ij, 1/2),   i* = argmin_i I_i,   J_i(t): I_i - I_i* <= log t + f(K),   f(K) = weight K^power.

    After each pair was drawn once: the arms l of a list L_C are drawn in order, against i* if i* is in O_l or O_l is
    empty, else against argmin_j mu_lj. Every arm that is not still to be drawn and for which J(t) holds after the draw
    of round t is on the next list. Komiyama, Honda, Kashima, Nakagawa, "Regret lower bound and optimal algorithm in
    dueling bandit problem", COLT 2015, Algorithms 1 and 2. For a Condorcet winner; f(K) = 0.3 K^1.01 in its
    experiments.

    Parameters
    ----------
    weight, power
        f(K) = weight K^power, how much less likely to be best an arm may be and still be drawn.

    Deviations
    ----------
    - The order of a list, and of the initial pairs, is the order in which arms first appeared; ties go to the first.
    - A pair was drawn once when its votes weigh 1 or more together.
    - New arms have their pairs drawn as in the beginning, and are on the list.
    - A vote on a draw from the list that arrives late removes the arm from the list then; any other vote only counts.

    Cost per round: O(K).

    >>> policy = RMED1(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    weight: float = 0.3
    power: float = 1.01

    rule_name: ClassVar[str] = "RMED"
    variant: ClassVar[int] = 1

    def check_settings(self) -> None:
        """Check that f(K) is positive and finite for any number of arms."""
        check_positive("weight", self.weight)
        check_positive("power", self.power)
        if self.power > 4.0:
            raise InvalidInput(f"power is {self.power!r}.", "Give at most 4, the authors give 1.01.", field="power")

    def rule_settings(self) -> dict[str, float]:
        """Return f, and how the opponent is chosen."""
        return {
            "variant": float(self.variant),
            "weight": float(self.weight),
            "power": float(self.power),
            **self.draw_settings(),
        }

    def draw_settings(self) -> dict[str, float]:
        """Return how often pairs are drawn at least: once."""
        return {"alpha": 0.0, "draws": 1.0}


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2(RMED1):
    """RMED2: RMED1 against the opponent of least cost per information, whose regret meets the lower bound.

    As `RMED1`, but before each pass over a list every pair is drawn until n_ij >= alpha log log t, and arm l is drawn
    against

        b*_l = argmin_{j : mu_lj < 1/2} (gap_l + gap_j) / d(mu_lj, 1/2),   gap_j = mu_i*j - 1/2,

    if l has lost to it more often than won and n_l,i* >= n_l,b* / log log t, else as in RMED1. Komiyama, Honda,
    Kashima, Nakagawa, COLT 2015, Algorithms 1 and 3; alpha = 3 in its experiments.

    Parameters
    ----------
    alpha
        Every pair is drawn at least alpha log log t times.

    Deviations
    ----------
    - Those of `RMED1`.
    - Estimated gaps may be negative, so gap_l + gap_j is at least 0.01, as in the authors' program.
    - log log t counts as 0 up to t = e.

    Cost per round: O(K); O(K^2) before a pass.

    >>> policy = RMED2(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    alpha: float = 3.0

    variant: ClassVar[int] = 2

    def check_settings(self) -> None:
        """Check alpha > 0."""
        super().check_settings()
        check_positive("alpha", self.alpha)

    def draw_settings(self) -> dict[str, float]:
        """Return how often pairs are drawn: once in the beginning, alpha log log t times before a pass."""
        return {"alpha": float(self.alpha), "draws": 1.0}


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2FH(RMED2):
    """RMED2FH: RMED2 for a known horizon, whose opponents b* are fixed after the initial draws.

    As `RMED2`, but every pair is drawn ceil(alpha log log T) times in the beginning and not topped up, and b*_l is what
    it is then. Komiyama, Honda, Kashima, Nakagawa, COLT 2015: the variant whose regret is proved to meet the lower
    bound.

    Parameters
    ----------
    alpha
        Every pair is drawn at least alpha log log T times, in the beginning.

    Deviations
    ----------
    - Those of `RMED2`.
    - The opponents of new arms are fixed when their pairs have been drawn.

    Cost per round: O(K).

    >>> policy = RMED2FH(horizon=1000, random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    variant: ClassVar[int] = 3
    needs_horizon: ClassVar[bool] = True

    def draw_settings(self) -> dict[str, float]:
        """Return how often pairs are drawn: ceil(alpha log log T) times in the beginning, at least once."""
        rounds = max(float(self.horizon or 0), math.e)
        draws = max(1.0, math.ceil(self.alpha * math.log(math.log(rounds))))
        return {"alpha": float(self.alpha), "draws": draws}
