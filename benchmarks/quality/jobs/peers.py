"""Peers of the policies for the goals *serve* and *best*: rules that fit on a page, on the same model as the policies.

A peer learns with the engine's posterior of arm effects and features, and decides with the likeliest of its models, as the policies
do. So all have the same prior, and only the rule differs. A peer with a prior variance of its own has one model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

import duelist as dl
from duelist import native
from duelist.core.arrays import Floats
from duelist.core.seeds import seed_words
from duelist.model.ridge_selection import effect_variances

BLOCK = 256
JITTER = 1e-9
"""Added to variances relative to the largest, so that a covariance has a Cholesky factor."""


class Peer(ABC):
    """The posterior of fixed arms, and a rule for the next pair."""

    prior_variance: ClassVar[float | None] = None
    """Of arm effects, and of what features explain. None: chosen by evidence."""

    def __init__(self, table: dl.ArmTable, seed: int) -> None:
        self.table, self.n = table, len(table)
        self.rng = np.random.default_rng([seed, 5])
        ridge = None if self.prior_variance is None else 1.0 / self.prior_variance
        candidates = effect_variances(table.dim, ridge)
        self.state = native.new_arm_effects("logistic", table.features, candidates, BLOCK, seed_words(seed))
        self.state.observe_arms(table.features)
        self._everyone = np.arange(self.n)
        self._is_current = False

    def ask(self) -> tuple[int, int]:
        """Return the positions of the two arms to compare."""
        if not self._is_current:
            self._read()
        first, second = self.pair()
        return int(first), int(second)

    def tell(self, first: int, second: int, outcome: float) -> None:
        """Learn a vote."""
        if first != second:
            x = self.table.features
            self.state.learn(first, second, x[first] - x[second], outcome, 1.0)
            self._is_current = False

    @abstractmethod
    def pair(self) -> tuple[int, int]:
        """Return the pair by the posterior in `u`, `covariance`, `gap` and `width`."""

    def _read(self) -> None:
        found = self.state.posterior(self.state.best, self.table.ids, self.table.features, self._everyone)
        self.u, self.variance, self.covariance, _ = found
        self.gap = self.u[:, None] - self.u
        squares = self.variance[:, None] + self.variance - 2.0 * self.covariance
        self.width = np.sqrt(np.maximum(squares, 1e-12))
        self._root: Floats | None = None
        self._is_current = True

    def draws(self, count: int) -> Floats:
        """Return utilities of all arms in some draws from the posterior."""
        if self._root is None:
            jitter = JITTER * max(float(self.variance.max()), 1e-12)
            self._root = np.asarray(np.linalg.cholesky(self.covariance + jitter * np.eye(self.n)), np.float64)
        return np.asarray(self.u + self.rng.standard_normal((count, self.n)) @ self._root.T)


# -- serve -------------------------------------------------------------------------------


class LeaderThompson(Peer):
    """The arm with the largest mean against the best arm of a draw."""

    def pair(self) -> tuple[int, int]:
        return int(np.argmax(self.u)), int(np.argmax(self.draws(1)[0]))


class LeaderThompsonFixed(LeaderThompson):
    """The same with prior variances of 0.4."""

    prior_variance = 0.4


class MaxMinLCB(Peer):
    """The arm with the best worst case against a plausible other one, which is its partner (Pasztor et al. 2024)."""

    reach: ClassVar[float] = 1.0
    """Posterior standard deviations in a bound."""

    def pair(self) -> tuple[int, int]:
        chance, width = expit(self.gap), 0.25 * self.reach * self.width
        np.fill_diagonal(width, 0.0)
        plausible = np.flatnonzero((chance + width >= 0.5).all(axis=1))
        lower = (chance - width)[np.ix_(plausible, plausible)]
        first = int(np.argmax(lower.min(axis=1)))
        return int(plausible[first]), int(plausible[np.argmin(lower[first])])


# -- best --------------------------------------------------------------------------------


class TopTwoThompson(Peer):
    """The best arm of a draw against the best arm of the next draw that has another one (Russo 2016)."""

    batches = (16, 304)

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
        return int(leader or 0), int(np.argmax(drawn[-1]))


class LinGapE(Peer):
    """The leader, the arm that may be better by most, and the pair that says most about these two (Xu et al. 2018)."""

    reach: ClassVar[float] = 3.0

    def pair(self) -> tuple[int, int]:
        leader = int(np.argmax(self.u))
        bound = self.reach * self.width[leader] - self.gap[leader]
        bound[leader] = -np.inf
        return most_informative(self, leader, int(np.argmax(bound)))


class ExpectedBest(Peer):
    """The pair with the largest expected utility of its better arm (EUBO: Lin et al. 2022)."""

    def pair(self) -> tuple[int, int]:
        z = self.gap / self.width
        value = self.u[:, None] * ndtr(z) + self.u * ndtr(-z) + self.width * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        np.fill_diagonal(value, -np.inf)
        first, second = np.unravel_index(int(np.argmax(value)), value.shape)
        return int(first), int(second)


def most_informative(peer: Peer, leader: int, rival: int) -> tuple[int, int]:
    """Return the pair whose vote reduces the width of leader and rival most."""
    along = peer.covariance[leader] - peer.covariance[rival]
    chance = expit(peer.gap)
    slope = chance * (1.0 - chance)
    value = slope * np.square(along[:, None] - along) / (1.0 + slope * np.square(peer.width))
    first, second = np.unravel_index(int(np.argmax(value)), value.shape)
    return int(first), int(second)
