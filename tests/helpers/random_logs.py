"""Logs of random duels in a known world, made without any code of the library but the columns of its log."""

import numpy as np

from duelist.study.analysis import CHOSEN_CODES, NO_TIME, VoteTable


class World:
    """Arms with features and utilities; raters vote by Bradley and Terry, and each has a leaning of their own."""

    def __init__(self, n_arms=6, dim=3, leaning=0.0):
        rng = np.random.default_rng(12)
        self.arms = [f"arm {k}" for k in range(n_arms)]
        self.features = rng.standard_normal((n_arms, dim))
        self.utilities = self.features @ np.array([1.0, -0.5, 0.25])[:dim] + 0.3 * rng.standard_normal(n_arms)
        self.leaning = leaning
        self.low, self.high = np.triu_indices(n_arms, 1)

    def chance(self, i, j):
        return 1.0 / (1.0 + np.exp(self.utilities[j] - self.utilities[i]))

    def matrix(self):
        n = len(self.arms)
        return np.array([[self.chance(i, j) for j in range(n)] for i in range(n)])

    def log(self, votes, rng, share=1.0, raters=1, chances=None):
        """So many votes on pairs drawn with these chances (default: equal), shown in random order."""
        pairs = len(self.low)
        q = np.full(pairs, 1.0 / pairs) if chances is None else chances
        drawn = rng.choice(pairs, votes, p=q)
        swap = rng.random(votes) < 0.5
        first = np.where(swap, self.high[drawn], self.low[drawn])
        second = np.where(swap, self.low[drawn], self.high[drawn])
        rater = rng.integers(raters, size=votes)
        own = self.leaning * rng.standard_normal((raters, len(self.arms)))
        gap = self.utilities[first] - self.utilities[second] + own[rater, first] - own[rater, second]
        won = rng.random(votes) < 1.0 / (1.0 + np.exp(-gap))
        return VoteTable(
            n_arms=len(self.arms),
            raters=tuple(f"rater {k}" for k in range(raters)),
            first=first,
            second=second,
            outcome=np.where(won, 0, 1).astype(np.int8),
            rater=rater.astype(np.int32),
            context=np.zeros(votes, np.int32),
            duel=np.arange(votes),
            voted_at=np.full(votes, NO_TIME),
            seconds=np.full(votes, np.nan),
            chosen_by=np.full(votes, CHOSEN_CODES["random"], np.int8),
            propensity=share * q[drawn],
            kind=np.zeros(votes, np.int8),
            expected=np.full(votes, -1, np.int8),
        )
