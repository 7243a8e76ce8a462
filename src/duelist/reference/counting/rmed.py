"""RMED1, RMED2 and RMED2FH, Algorithms 1 to 3 of Komiyama, Honda, Kashima and Nakagawa 2015."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from duelist.reference.counting.base import Candidates, CountingReference, LayeredPair, divergence

LISTED = 1
"""The layer of duels from the list; other duels are only counted."""


@dataclass(kw_only=True, eq=False, repr=False)
class RMED1(CountingReference):
    """Choose each arm as often as it is likely to be the best, against the arm most likely to prove it is not."""

    weight: float = 0.3
    power: float = 1.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self.phase = "initial"
        self.L_C: set[int] = set()
        self.L_R: set[int] = set()
        self.L_N: set[int] = set()

    def add_arms(self, new: list[int]) -> None:
        """Compare new arms with all others first, and put them on the list."""
        self.phase = "initial"
        self.L_C |= set(new)
        self.L_R |= set(new)

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The first pair with too few duels, or else the next arm on the list."""
        undersampled = [pair for pair in candidates.pairs() if self.n_duels(*pair) < self.least_draws()]
        if undersampled:
            return LayeredPair(*undersampled[0])
        best = min(candidates.available(), key=lambda i: (self.divergence_of(i), i))
        listed = [i for i in candidates.available() if i in self.L_C]
        arm = min(listed, default=best)
        return LayeredPair(arm, self.opponent(candidates, arm, best), LISTED)

    def least_draws(self) -> float:
        """The duels that every pair needs in this phase."""
        return 1.0 if self.phase == "initial" else 0.0

    def divergence_of(self, i: int) -> float:
        """I_i"""
        return sum(
            (
                self.n_duels(i, j) * divergence(self.win_rate(i, j))
                for j in range(self.K)
                if self.wins[i, j] < self.wins[j, i]
            ),
            0.0,
        )

    def opponent(self, candidates: Candidates, arm: int, best: int) -> int:
        """Algorithm 2."""
        O = [j for j in candidates.arms if j != arm and self.win_rate(arm, j) <= 0.5]  # noqa: E741  (the paper's letter)
        if (best in O or not O) and candidates.allows(arm, best):
            return best
        others = [j for j in candidates.partners(arm) if j != arm]
        return min(others, key=lambda j: self.win_rate(arm, j), default=arm)

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Update the lists after the duel of round `votes`."""
        if layer != LISTED:
            self.end_phase()
        elif i in self.L_C:
            self.L_C.remove(i)
            self.L_R.discard(i)
            I = [self.divergence_of(k) for k in range(self.K)]  # noqa: E741
            limit = math.log(self.votes) + self.weight * self.K**self.power
            self.L_N |= {k for k in range(self.K) if k not in self.L_R and I[k] - min(I) <= limit}
            if not self.L_C:
                self.L_C, self.L_R, self.L_N = set(self.L_N), set(self.L_N), set()
                self.begin_pass()

    def end_phase(self) -> None:
        """End the initial phase once all pairs have been compared."""
        if self.phase == "initial" and not self.any_compared_less_than(self.least_draws()):
            self.end_initial_phase()

    def end_initial_phase(self) -> None:
        """Start using the lists."""
        self.phase = "pass"

    def begin_pass(self) -> None:
        """Start a pass through a new list."""

    def any_compared_less_than(self, draws: float) -> bool:
        """Return whether some pair has had fewer duels."""
        return any(self.n_duels(*pair) < draws for pair in combinations(range(self.K), 2))


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2(RMED1):
    """RMED1 with the opponent of least regret per information."""

    alpha: float = 3.0

    def least_draws(self) -> float:
        """1 duel initially, and alpha log log t before each list."""
        return self.alpha * log_log(self.t) if self.phase == "extra draws" else super().least_draws()

    def end_phase(self) -> None:
        """End the extra draws once all pairs have alpha log log t duels."""
        super().end_phase()
        if self.phase == "extra draws" and not self.any_compared_less_than(self.least_draws()):
            self.phase = "pass"

    def end_initial_phase(self) -> None:
        """Draw extra duels before the first list."""
        self.phase = "extra draws"

    def begin_pass(self) -> None:
        """Draw extra duels before every list."""
        if self.phase == "pass" and self.any_compared_less_than(self.alpha * log_log(self.t)):
            self.phase = "extra draws"

    def opponent(self, candidates: Candidates, arm: int, best: int) -> int:
        """Algorithm 3."""
        b = self.cheapest(arm, best)
        often = self.n_duels(arm, best) * log_log(self.t) >= self.n_duels(arm, b)
        if b != arm and self.win_rate(arm, b) <= 0.5 and often and b in candidates.arms and candidates.allows(arm, b):
            return b
        return super().opponent(candidates, arm, best)

    def cheapest(self, i: int, best: int) -> int:
        """b*_i"""
        return cheapest(self, i, best, range(self.K))


@dataclass(kw_only=True, eq=False, repr=False)
class RMED2FH(RMED2):
    """RMED2 for a known horizon."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fixed_cheapest: dict[int, int] = {}

    def least_draws(self) -> float:
        """ceil(alpha log log T) initially."""
        T = max(float(self.horizon or 0), math.e)
        return max(1.0, math.ceil(self.alpha * math.log(math.log(T)))) if self.phase == "initial" else 0.0

    def end_initial_phase(self) -> None:
        """Compute b* once."""
        best = min(range(self.K), key=lambda i: (self.divergence_of(i), i))
        self.fixed_cheapest = {i: self.cheapest(i, best) for i in range(self.K)}
        self.phase = "pass"

    def begin_pass(self) -> None:
        """No extra draws."""

    def cheapest(self, i: int, best: int) -> int:
        """b*_i as computed after the initial phase."""
        return self.fixed_cheapest[i] if i in self.fixed_cheapest else super().cheapest(i, best)


def log_log(t: float) -> float:
    """log log t, or 0 before it is positive"""
    return math.log(math.log(t)) if t > math.e else 0.0


def cheapest(policy: CountingReference, i: int, best: int, arms: Iterable[int]) -> int:
    """argmin over j that beat i of (gap_i + gap_j) / d(mu_ij, 1/2), with gaps to `best`"""

    def cost(j: int) -> float:
        gaps = policy.win_rate(best, i) + policy.win_rate(best, j) - 1.0
        return max(gaps, 0.01) / divergence(policy.win_rate(i, j))

    return min((j for j in arms if j != i and policy.win_rate(i, j) < 0.5), key=cost, default=best)
