"""MergeRUCB, Algorithm 1 of Zoghi, Whiteson and de Rijke 2015; MergeDTS, Algorithm 1 of Li, Markov, de Rijke and Zoghi 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

from duelist.reference.counting.base import EXPLORE, CountingReference, Named, Table, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class MergeRUCB(CountingReference):
    """Duels within small batches, whose losers leave and which are merged as they shrink."""

    alpha: float = 1.01
    delta: float = 0.01
    batch_size: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stage = 1
        self.batches: list[list[int]] = []
        self.m = 0

    def join(self, new: list[int]) -> None:
        """Batches by chance in the beginning; an arm that comes later joins the smallest."""
        if self.batches:
            for arm in new:
                min(self.batches, key=len).append(arm)
        else:
            order = list(new)
            for k in range(len(order) - 1, 0, -1):
                other = int(self.draws.one_of(range(k + 1)))
                order[k], order[other] = order[other], order[k]
            self.batches = [sorted(order[k : k + self.batch_size]) for k in range(0, len(order), self.batch_size)]
        self.settle()

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """What comes before the choice of the next round."""
        self.settle()

    def settle(self) -> None:
        """Merge at the end of a stage; the losers of the batch leave; a single arm joins the next batch."""
        if len(self.batches) > 1 and sum(map(len, self.batches)) <= self.K / 2.0**self.stage:
            self.merge_all()
            if min(map(len, self.batches)) <= self.batch_size / 2:
                self.merge_all()
            self.stage += 1
        self.m = self.t % len(self.batches)
        batch = self.batches[self.m]
        left = [i for i in batch if all(self.upper(i, j) >= 0.5 for j in batch if j != i)] or batch
        self.batches[self.m] = left
        if len(self.batches) > 1 and len(left) == 1:
            after = (self.m + 1) % len(self.batches)
            self.m, gone = min(self.m, after), max(self.m, after)
            self.batches[self.m] = sorted(self.batches[self.m] + self.batches.pop(gone))

    def merge_all(self) -> None:
        """The smallest with the largest, to at most 1.5 times the size of a batch."""
        waiting, self.batches = sorted(self.batches, key=len), []
        while waiting:
            large = waiting.pop()
            if waiting and len(large) + len(waiting[0]) <= 1.5 * self.batch_size:
                large = sorted(large + waiting.pop(0))
            self.batches.append(large)

    def upper(self, i: int, j: int) -> float:
        """u_ij."""
        rate = 2.0 * self.alpha - 1.0
        C = ((4.0 * self.alpha - 1.0) * self.K**2 / (rate * self.delta)) ** (1.0 / rate)
        n = self.met(i, j)
        return self.share(i, j) + math.sqrt(self.alpha * math.log(self.t + C) / n) if n > 0.0 else 2.0

    def choose(self, table: Table) -> Named:
        """A duel within the batch of this round."""
        able = set(table.able())
        survivors = {i for batch in self.batches for i in batch}
        left = [i for i in table.arms if i in survivors and i in able]
        if not left:
            return self.least_met(table)
        if len(survivors) == 1:
            return self.beside(table, left[0])
        here = [i for i in left if i in self.batches[self.m]]
        if len(here) < 2:
            here = left
        c = self.champion(here)
        rivals = [j for j in here if j != c and table.allows(c, j)]
        if not rivals:
            rivals = [j for j in table.partners(c) if j != c] or [c]
        return Named(c, rivals[0] if len(rivals) == 1 else self.rival(rivals, c), EXPLORE)

    def champion(self, batch: list[int]) -> int:
        """A random arm."""
        return self.draws.pick(batch)

    def rival(self, rivals: list[int], c: int) -> int:
        """argmax u_jc."""
        return self.draws.pick(best_of(rivals, lambda j: self.upper(j, c)))


@dataclass(kw_only=True, eq=False, repr=False)
class MergeDTS(MergeRUCB):
    """MergeRUCB whose duels are those of Thompson sampling, the winner of a draw against its surest loser."""

    def champion(self, batch: list[int]) -> int:
        """The arm that wins most of its batch in one draw."""
        wins = dict.fromkeys(batch, 0)
        for i, j in combinations(batch, 2):
            wins[i if self.sample(i, j) > 0.5 else j] += 1
        return self.draws.pick(best_of(batch, wins.__getitem__))

    def rival(self, rivals: list[int], c: int) -> int:
        """The arm that loses most surely against it in another."""
        theta = {j: self.sample(j, c) for j in rivals}
        return min(rivals, key=theta.__getitem__)
