"""RMED1, RMED2 and RMED2FH, Algorithms 1 to 3 of Komiyama, Honda, Kashima and Nakagawa 2015."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from duelist.reference.counting.base import CountingReference, Named, Table, divergence

DRAWN = 1
"""The layer of draws of a list; the others only count."""


@dataclass(kw_only=True, eq=False, repr=False)
class RMED1(CountingReference):
    """Arms as often as it is likely that they are best, against who disproves it."""

    weight: float = 0.3
    power: float = 1.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self.phase = "initial"
        self.L_C: set[int] = set()
        self.L_R: set[int] = set()
        self.L_N: set[int] = set()

    def join(self, new: list[int]) -> None:
        """New arms are drawn as in the beginning, and are on the list."""
        self.phase = "initial"
        self.L_C |= set(new)
        self.L_R |= set(new)

    def choose(self, table: Table) -> Named:
        """A pair that was not drawn often enough; else the next arm of the list."""
        lacking = [pair for pair in table.pairs() if self.met(*pair) < self.least_draws()]
        if lacking:
            return Named(*lacking[0])
        best = min(table.able(), key=lambda i: (self.divergence_of(i), i))
        listed = [i for i in table.able() if i in self.L_C]
        arm = min(listed, default=best)
        return Named(arm, self.opponent(table, arm, best), DRAWN)

    def least_draws(self) -> float:
        """How often every pair is drawn in this phase."""
        return 1.0 if self.phase == "initial" else 0.0

    def divergence_of(self, i: int) -> float:
        """I_i."""
        return sum(
            (self.met(i, j) * divergence(self.share(i, j)) for j in range(self.K) if self.wins[i, j] < self.wins[j, i]),
            0.0,
        )

    def opponent(self, table: Table, arm: int, best: int) -> int:
        """Algorithm 2."""
        O = [j for j in table.arms if j != arm and self.share(arm, j) <= 0.5]  # noqa: E741  (the paper's letter)
        if (best in O or not O) and table.allows(arm, best):
            return best
        others = [j for j in table.partners(arm) if j != arm]
        return min(others, key=lambda j: self.share(arm, j), default=arm)

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """The lists, after the draw of round `votes`."""
        if layer != DRAWN:
            self.leave_phase()
        elif i in self.L_C:
            self.L_C.remove(i)
            self.L_R.discard(i)
            I = [self.divergence_of(k) for k in range(self.K)]  # noqa: E741
            limit = math.log(self.votes) + self.weight * self.K**self.power
            self.L_N |= {k for k in range(self.K) if k not in self.L_R and I[k] - min(I) <= limit}
            if not self.L_C:
                self.L_C, self.L_R, self.L_N = set(self.L_N), set(self.L_N), set()
                self.begin_pass()

    def leave_phase(self) -> None:
        """The initial phase ends when all pairs were drawn."""
        if self.phase == "initial" and not self.any_below(self.least_draws()):
            self.end_initial_phase()

    def end_initial_phase(self) -> None:
        """Lists from now on."""
        self.phase = "pass"

    def begin_pass(self) -> None:
        """A new list."""

    def any_below(self, draws: float) -> bool:
        """Whether some pair was drawn less often."""
        return any(self.met(*pair) < draws for pair in combinations(range(self.K), 2))


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2(RMED1):
    """RMED1 against the opponent that costs least for what it tells."""

    alpha: float = 3.0

    def least_draws(self) -> float:
        """Once, and alpha log log t before a list."""
        return self.alpha * log_log(self.t) if self.phase == "topping up" else super().least_draws()

    def leave_phase(self) -> None:
        """Topping up ends when all pairs have alpha log log t draws."""
        super().leave_phase()
        if self.phase == "topping up" and not self.any_below(self.least_draws()):
            self.phase = "pass"

    def end_initial_phase(self) -> None:
        """Top up before the first list too."""
        self.phase = "topping up"

    def begin_pass(self) -> None:
        """Top up before every list."""
        if self.phase == "pass" and self.any_below(self.alpha * log_log(self.t)):
            self.phase = "topping up"

    def opponent(self, table: Table, arm: int, best: int) -> int:
        """Algorithm 3."""
        b = self.cheapest(arm, best)
        often = self.met(arm, best) * log_log(self.t) >= self.met(arm, b)
        if b != arm and self.share(arm, b) <= 0.5 and often and b in table.arms and table.allows(arm, b):
            return b
        return super().opponent(table, arm, best)

    def cheapest(self, i: int, best: int) -> int:
        """b*_i."""
        return cheapest(self, i, best, range(self.K))


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2FH(RMED2):
    """RMED2 for a known horizon."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fixed: dict[int, int] = {}

    def least_draws(self) -> float:
        """ceil(alpha log log T) in the beginning."""
        T = max(float(self.horizon or 0), math.e)
        return max(1.0, math.ceil(self.alpha * math.log(math.log(T)))) if self.phase == "initial" else 0.0

    def end_initial_phase(self) -> None:
        """b* is what it is now."""
        best = min(range(self.K), key=lambda i: (self.divergence_of(i), i))
        self.fixed = {i: self.cheapest(i, best) for i in range(self.K)}
        self.phase = "pass"

    def begin_pass(self) -> None:
        """Nothing is topped up."""

    def cheapest(self, i: int, best: int) -> int:
        """b*_i, once and for all."""
        return self.fixed[i] if i in self.fixed else super().cheapest(i, best)


def log_log(t: float) -> float:
    """log log t, 0 before it is positive."""
    return math.log(math.log(t)) if t > math.e else 0.0


def cheapest(policy: CountingReference, i: int, best: int, arms: Iterable[int]) -> int:
    """argmin over j that i loses to of (gap_i + gap_j) / d(mu_ij, 1/2), gaps with respect to `best`."""

    def price(j: int) -> float:
        gaps = policy.share(best, i) + policy.share(best, j) - 1.0
        return max(gaps, 0.01) / divergence(policy.share(i, j))

    return min((j for j in arms if j != i and policy.share(i, j) < 0.5), key=price, default=best)
