"""WS-W and WS-S of Chen and Frazier 2017."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.counting.base import EXPLOIT, Candidates, CountingReference, LayeredPair, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class WSW(CountingReference):
    """The two arms with the highest scores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.q = np.zeros(0)  # duels won minus duels lost
        self.last: tuple[int, ...] = ()

    def add_arms(self, new: list[int]) -> None:
        """New arms have score 0."""
        self.q = np.pad(self.q, (0, len(new)))

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The arm with the largest q, against the other arm with the largest q."""
        first = self.leader(candidates.available())
        others = [j for j in candidates.partners(first) if j != first]
        return LayeredPair(first, self.leader(others or [first]))

    def leader(self, arms: list[int]) -> int:
        """argmax q; ties go to an arm of the last duel, first arm first, or else are broken at random."""
        best = best_of(arms, lambda i: float(self.q[i]))
        recent = [arm for arm in self.last if arm in best]
        return recent[0] if recent else self.draws.pick(best)

    def expected_outcome(self, i: int, j: int, win_rate: float) -> float:
        """The arm with the higher score wins; of equals the first."""
        return float(self.q[i] >= self.q[j])

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """The winner gains one point, the loser loses one."""
        if i != j:
            self.q[i] += weight * (2.0 * outcome - 1.0)
            self.q[j] -= weight * (2.0 * outcome - 1.0)
            self.last = (i, j)


@dataclass(kw_only=True, eq=False, repr=False)
class WSS(WSW):
    """Rounds of WS-W, each followed by a growing number of self-duels of its winner."""

    beta: float = 1.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.round, self.exploit_left, self.best = 1, 0, -1

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The winner of the last round while exploiting, else the pair of WS-W."""
        if self.exploit_left and self.best in candidates.available():
            return self.commit_to(candidates, self.best)
        return super().choose(candidates)

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """End the round when all arms but one have q = -l."""
        if layer == EXPLOIT:
            self.exploit_left = max(self.exploit_left - 1, 0)
            return
        super().update(i, j, outcome, weight, layer)
        if not self.exploit_left and (self.q > -self.round).sum() <= 1:
            self.best = int(self.q.argmax())
            self.exploit_left = math.floor(math.prod([self.beta] * self.round))
            self.round += 1
