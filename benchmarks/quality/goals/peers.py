"""Peers of the policy for the best arm: rules that fit on a page, in plain NumPy, on the same model.

Each keeps the Laplace posterior N(theta, H^-1) of Bradley-Terry votes with features, H = R + sum mu' zz', from the wins of every pair. R is
diagonal: max(1, dim / 5) times the variance of each feature, as in the library's ThompsonPair, or once the variance where `follows_dim` is
False. Without features each arm has an indicator feature. The posterior is updated after every vote, from 200 votes on after
every 1 % more.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

import duelist as dl
from duelist.core.arrays import Floats
from duelist.policies.base import Policy


class Laplace(Policy):
    """Fixed arms, and their posterior."""

    follows_dim = True

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state
        self.rng = np.random.default_rng(random_state)
        self.theta: Floats | None = None
        self._asked, self._told, self._due = 0, 0.0, 0.0

    @abstractmethod
    def pair(self) -> tuple[int, int]:
        """The two arms to compare."""

    def ask(self, arms: Floats) -> dl.Duel:
        if self.theta is None:
            self._begin(np.asarray(arms, np.float64))
        first, second = self.pair() if self._asked else self._farthest()
        self._asked += 1
        return dl.Duel(first, second, self._asked - 1)

    def tell(self, duel: dl.Duel, outcome: float, weight: float = 1.0) -> None:
        self.wins[duel.first, duel.second] += weight * outcome
        self.wins[duel.second, duel.first] += weight * (1.0 - outcome)
        self._told += weight
        if self._told >= self._due:
            self._refit(2)
            self._due = self._told + max(1.0, self._told // 100.0)

    def _begin(self, arms: Floats) -> None:
        self.arms, (self.n, dim) = arms - arms.mean(axis=0), arms.shape
        variance = self.arms.var(axis=0)
        self.ridge = (max(1.0, dim / 5.0) if self.follows_dim else 1.0) * np.where(variance > 0.0, variance, 1.0)
        self.theta, self.wins = np.zeros(dim), np.zeros((self.n, self.n))
        self._refit(0)

    def _refit(self, steps: int) -> None:
        """Take some Newton steps from the last estimate, and return the Laplace posterior there."""
        votes = self.wins + self.wins.T
        for step in range(steps + 1):
            self.u = self.arms @ self.theta
            self.gap = self.u[:, None] - self.u
            chance = 1.0 / (1.0 + np.exp(-self.gap))
            self.slope = chance * (1.0 - chance)
            laplacian = -votes * self.slope
            laplacian[np.diag_indices(self.n)] -= laplacian.sum(axis=1)
            self.curvature = self.arms.T @ laplacian @ self.arms + np.diag(self.ridge)
            if step < steps:
                pull = self.arms.T @ (self.wins - votes * chance).sum(axis=1) - self.ridge * self.theta
                move = np.linalg.solve(self.curvature, pull)
                far = np.abs(self.arms @ move).max()  # from the root: small steps there
                self.theta = self.theta + move / max(1.0, far)
        self.root = np.linalg.solve(np.linalg.cholesky(self.curvature), self.arms.T).T
        self.covariance = self.root @ self.root.T
        variance = np.diagonal(self.covariance)
        self.squares = np.maximum(variance[:, None] + variance - 2.0 * self.covariance, 0.0)

    def draws(self, count: int) -> Floats:
        """Utilities of all arms for each of some draws from the posterior."""
        return np.asarray(self.u + self.rng.standard_normal((count, len(self.ridge))) @ self.root.T)

    def _farthest(self) -> tuple[int, int]:
        first, second = np.unravel_index(int(np.argmax(self.squares)), (self.n, self.n))
        return int(first), int(second)


class TopTwoThompson(Laplace):
    """Top-two Thompson sampling (Russo 2016) for duels: the best arm of a draw meets the best of the next draw that has another one."""

    batches = (16, 304)
    """Draws are made many at a time, and not for ever."""

    def pair(self) -> tuple[int, int]:
        leader = None
        for count in self.batches:
            drawn = self.draws(count)
            best = np.argmax(drawn, axis=1)
            leader = int(best[0]) if leader is None else leader
            others = np.flatnonzero(best != leader)
            if others.size:
                return leader, int(best[others[0]])
        drawn[-1, leader] = -np.inf  # it is all but certain: the second best of the last draw
        return leader, int(np.argmax(drawn[-1]))


class Telling(Laplace):
    """The leader, a rival, and the pair that tells most about the two: LinGapE's greedy step."""

    @abstractmethod
    def rival(self, gaps: Floats, squares: Floats) -> int:
        """The rival, by gaps and squared widths to the leader; arms that do not differ from it have infinite gaps."""

    def _refit(self, steps: int) -> None:
        super()._refit(steps)
        self._chosen: tuple[int, int] | None = None

    def pair(self) -> tuple[int, int]:
        if self._chosen is None:
            leader = int(np.argmax(self.u))
            apart = self.squares[leader] > 0.0
            rival = self.rival(np.where(apart, self.gap[leader], np.inf), np.where(apart, self.squares[leader], 1.0))
            along = self.covariance[leader] - self.covariance[rival]
            lesson = self.slope * np.square(along[:, None] - along) / (1.0 + self.slope * self.squares)
            first, second = np.unravel_index(int(np.argmax(lesson)), lesson.shape)
            self._chosen = int(first), int(second)
        return self._chosen


class LeastLead(Telling):
    """The rival with the least lead in standard deviations, a rule that BestArmPair rejected (decision 39)."""

    follows_dim = False

    def rival(self, gaps: Floats, squares: Floats) -> int:
        return int(np.argmin(gaps / np.sqrt(squares)))


class OptimisticRival(Telling):
    """LinGapE's own rival: the largest upper bound, at three standard deviations, on how much better it may be."""

    def rival(self, gaps: Floats, squares: Floats) -> int:
        return int(np.argmax(3.0 * np.sqrt(squares) - gaps))
