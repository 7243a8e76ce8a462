"""MergeRUCB, Algorithm 1 of Zoghi, Whiteson and de Rijke 2015; MergeDTS, Algorithm 1 of Li, Markov, de Rijke and Zoghi 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

from duelist.reference.counting.base import EXPLORE, Candidates, CountingReference, LayeredPair, best_of


@dataclass(kw_only=True, eq=False, repr=False)
class MergeRUCB(CountingReference):
    """Duels within small batches, which eliminate arms and merge as they shrink."""

    alpha: float = 1.01
    delta: float = 0.01
    batch_size: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stage = 1
        self.batches: list[list[int]] = []
        self.m = 0

    def add_arms(self, new: list[int]) -> None:
        """Form random batches of the first arms; later arms join the smallest."""
        if self.batches:
            for arm in new:
                min(self.batches, key=len).append(arm)
        else:
            order = list(new)
            for k in range(len(order) - 1, 0, -1):
                other = int(self.draws.one_of(range(k + 1)))
                order[k], order[other] = order[other], order[k]
            self.batches = [sorted(order[k : k + self.batch_size]) for k in range(0, len(order), self.batch_size)]
        self.prepare_round()

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Prepare the next round."""
        self.prepare_round()

    def prepare_round(self) -> None:
        """Merge batches at the end of a stage, and eliminate arms of the current batch; a single arm joins the next
        batch.
        """
        if len(self.batches) > 1 and sum(map(len, self.batches)) <= self.K / 2.0**self.stage:
            self.merge_batches()
            if min(map(len, self.batches)) <= self.batch_size / 2:
                self.merge_batches()
            self.stage += 1
        self.m = self.t % len(self.batches)
        batch = self.batches[self.m]
        left = [i for i in batch if all(self.upper(i, j) >= 0.5 for j in batch if j != i)] or batch
        self.batches[self.m] = left
        if len(self.batches) > 1 and len(left) == 1:
            after = (self.m + 1) % len(self.batches)
            self.m, gone = min(self.m, after), max(self.m, after)
            self.batches[self.m] = sorted(self.batches[self.m] + self.batches.pop(gone))

    def merge_batches(self) -> None:
        """Merge the smallest batch with the largest, up to 1.5 times the batch size."""
        waiting, self.batches = sorted(self.batches, key=len), []
        while waiting:
            large = waiting.pop()
            if waiting and len(large) + len(waiting[0]) <= 1.5 * self.batch_size:
                large = sorted(large + waiting.pop(0))
            self.batches.append(large)

    def upper(self, i: int, j: int) -> float:
        """u_ij"""
        rate = 2.0 * self.alpha - 1.0
        C = ((4.0 * self.alpha - 1.0) * self.K**2 / (rate * self.delta)) ** (1.0 / rate)
        n = self.n_duels(i, j)
        return self.win_rate(i, j) + math.sqrt(self.alpha * math.log(self.t + C) / n) if n > 0.0 else 2.0

    def choose(self, candidates: Candidates) -> LayeredPair:
        """A duel within the batch of this round."""
        available = set(candidates.available())
        survivors = {i for batch in self.batches for i in batch}
        left = [i for i in candidates.arms if i in survivors and i in available]
        if not left:
            return self.least_compared(candidates)
        if len(survivors) == 1:
            return self.commit_to(candidates, left[0])
        in_batch = [i for i in left if i in self.batches[self.m]]
        if len(in_batch) < 2:
            in_batch = left
        c = self.champion(in_batch)
        rivals = [j for j in in_batch if j != c and candidates.allows(c, j)]
        if not rivals:
            rivals = [j for j in candidates.partners(c) if j != c] or [c]
        return LayeredPair(c, rivals[0] if len(rivals) == 1 else self.rival(rivals, c), EXPLORE)

    def champion(self, batch: list[int]) -> int:
        """A random arm."""
        return self.draws.pick(batch)

    def rival(self, rivals: list[int], c: int) -> int:
        """argmax u_jc"""
        return self.draws.pick(best_of(rivals, lambda j: self.upper(j, c)))


@dataclass(kw_only=True, eq=False, repr=False)
class MergeDTS(MergeRUCB):
    """MergeRUCB with Thompson sampling: the winner of one sample against its weakest rival in another."""

    def champion(self, batch: list[int]) -> int:
        """The arm with the most wins in its batch in one sample."""
        wins = dict.fromkeys(batch, 0)
        for i, j in combinations(batch, 2):
            wins[i if self.sample(i, j) > 0.5 else j] += 1
        return self.draws.pick(best_of(batch, wins.__getitem__))

    def rival(self, rivals: list[int], c: int) -> int:
        """The arm with the lowest sampled probability of beating it."""
        theta = {j: self.sample(j, c) for j in rivals}
        return min(rivals, key=theta.__getitem__)
