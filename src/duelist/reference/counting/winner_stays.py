"""WS-W and WS-S of Chen and Frazier 2017."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelist.reference.counting.base import EXPLOIT, CountingReference, Named, Table, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class WSW(CountingReference):
    """The two arms that are furthest ahead."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.q = np.zeros(0)  # duels won minus duels lost
        self.last: tuple[int, ...] = ()

    def join(self, new: list[int]) -> None:
        """New arms are level."""
        self.q = np.pad(self.q, (0, len(new)))

    def choose(self, table: Table) -> Named:
        """argmax q, and the next."""
        first = self.furthest(table.able())
        others = [j for j in table.partners(first) if j != first]
        return Named(first, self.furthest(others or [first]))

    def furthest(self, arms: list[int]) -> int:
        """argmax q; of equals an arm of the last duel, its first before its second, else one by chance."""
        best = best_of(arms, lambda i: float(self.q[i]))
        known = [arm for arm in self.last if arm in best]
        return known[0] if known else self.draws.pick(best)

    def foretell(self, i: int, j: int, share: float) -> float:
        """Whoever is ahead wins, of equals the first."""
        return float(self.q[i] >= self.q[j])

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """The winner is one ahead, the loser one behind."""
        if i != j:
            self.q[i] += weight * (2.0 * outcome - 1.0)
            self.q[j] -= weight * (2.0 * outcome - 1.0)
            self.last = (i, j)


@dataclass(kw_only=True, eq=False, repr=False)
class WSS(WSW):
    """Rounds of WS-W, between which the winner meets itself ever longer."""

    beta: float = 1.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.round, self.left, self.best = 1, 0, -1

    def choose(self, table: Table) -> Named:
        """The winner of the last round while it is its turn."""
        if self.left and self.best in table.able():
            return self.beside(table, self.best)
        return super().choose(table)

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """A round is over when all arms but one have q = -l."""
        if layer == EXPLOIT:
            self.left = max(self.left - 1, 0)
            return
        super().hear(i, j, outcome, weight, layer)
        if not self.left and (self.q > -self.round).sum() <= 1:
            self.best = int(self.q.argmax())
            self.left = math.floor(math.prod([self.beta] * self.round))
            self.round += 1
