"""Interleaved Filter 2, Algorithm 2 of Yue, Broder, Kleinberg and Joachims 2012."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duelist.reference.counting.base import EXPLORE, Candidates, CountingReference, LayeredPair


@dataclass(kw_only=True, eq=False, repr=False)
class InterleavedFilter(CountingReference):
    """A candidate against each active arm in turn, until one beats it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.candidate = -1
        self.turn = 1
        self.W: set[int] = set()
        self.duels: dict[int, float] = {}
        self.won: dict[int, float] = {}

    def add_arms(self, new: list[int]) -> None:
        """Activate new arms; a random one of the first is the candidate."""
        self.W |= set(new)
        if self.candidate < 0:
            self.candidate = int(self.draws.one_of(new))
            self.W.remove(self.candidate)

    def choose(self, candidates: Candidates) -> LayeredPair:
        """The next opponent in this pass."""
        if self.candidate not in candidates.available():
            return self.least_compared(candidates)
        opponents = [b for b in candidates.partners(self.candidate) if b in self.W]
        if not opponents:
            return self.commit_to(candidates, self.candidate)
        due = [b for b in opponents if self.duels.get(b, 0.0) < self.turn]
        return LayeredPair(self.candidate, min(due or opponents), EXPLORE)

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """After a pass, eliminate arms that the candidate beats; an arm that beats it replaces it."""
        b, wins = (j, outcome) if i == self.candidate else (i, 1.0 - outcome)
        if self.candidate not in (i, j) or b not in self.W or layer != EXPLORE:
            return
        self.duels[b] = self.duels.get(b, 0.0) + weight
        self.won[b] = self.won.get(b, 0.0) + weight * wins
        if any(self.duels.get(b, 0.0) < self.turn for b in self.W) and self.duels[b] <= self.turn:
            return
        self.turn += 1
        better = [b for b in sorted(self.W) if self.mean(b) + self.radius(b) <= 0.5]
        self.W -= {b for b in self.W if self.mean(b) - self.radius(b) >= 0.5}
        if better:
            self.W -= {b for b in self.W if self.mean(b) > 0.5} | {better[0]}
            self.candidate, self.turn = better[0], 1
            self.duels, self.won = {}, {}

    def mean(self, b: int) -> float:
        """The share of duels with b that the candidate won."""
        return self.won[b] / self.duels[b] if b in self.duels else 0.5

    def radius(self, b: int) -> float:
        """c_t"""
        confidence = 4.0 * math.log(float(self.horizon or 0) * self.K**2)
        return math.sqrt(confidence / self.duels[b]) if b in self.duels else 1.0
