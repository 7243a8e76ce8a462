"""Peers of the policy for the order of arms: rules that fit on a page, in plain NumPy, on the same model; and ASAP, if it is there.

Each keeps what is known of all arms as a normal distribution of their utilities, learned in one pass as the library does it.
Without features a utility has variance 1 before the first vote; with features the ridge is max(1, dim / 5) times the variance of each.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr, xlogy

import duelist as dl
from duelist.core.arrays import Floats
from duelist.policies.base import Policy

ASAP_FOLDER = "DUELIST_ASAP"
ASAP_SOURCE = (
    "github.com/gfxdisp/asap (Mikhailiuk et al. 2020), and name the checkout in DUELIST_ASAP; it needs networkx"
)


class OnePass(Policy):
    """Fixed arms, and their posterior after every vote."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state
        self.rng = np.random.default_rng(random_state)
        self._asked = 0

    @abstractmethod
    def pair(self) -> tuple[int, int]:
        """The two arms to compare."""

    def ask(self, arms: Any) -> dl.Duel:
        if self._asked == 0:
            self.initialize(arms)
        first, second = self.pair()
        self._asked += 1
        return dl.Duel(first, second, self._asked - 1)

    def initialize(self, arms: Any) -> None:
        """Utilities before the first vote."""
        self.n = len(arms)
        self.mean = np.zeros(self.n)
        if isinstance(arms, dl.ArmTable):
            self.covariance = np.eye(self.n)
        else:
            x, variance = arms - arms.mean(axis=0), arms.var(axis=0)
            ridge = max(1.0, x.shape[1] / 5.0) * np.where(variance > 0.0, variance, 1.0)
            self.covariance = (x / ridge) @ x.T
        self.upper = np.triu_indices(self.n, 1)

    def tell(self, duel: dl.Duel, outcome: float, weight: float = 1.0) -> None:
        """mean <- mean + a C z with a = o - mu(v + a q), q = z'Cz; C <- (C^-1 + mu' zz')^-1."""
        along = self.covariance[duel.first] - self.covariance[duel.second]
        q, v = along[duel.first] - along[duel.second], self.mean[duel.first] - self.mean[duel.second]
        low, high = sorted((0.0, outcome - float(expit(v))))
        for _ in range(60):  # the root lies between 0 and the right side at 0
            a = (low + high) / 2.0
            low, high = (a, high) if a < outcome - float(expit(v + a * q)) else (low, a)
        chance = float(expit(v + a * q))
        slope = chance * (1.0 - chance)
        self.mean = self.mean + a * along
        self.covariance = self.covariance - slope / (1.0 + slope * q) * np.outer(along, along)

    def gaps(self) -> Floats:
        """Differences of utility, of all pairs."""
        return np.asarray(self.mean[self.upper[0]] - self.mean[self.upper[1]])

    def squares(self) -> Floats:
        """Squared widths of all pairs."""
        variance = np.diagonal(self.covariance)
        i, j = self.upper
        return np.asarray(np.maximum(variance[i] + variance[j] - 2.0 * self.covariance[i, j], 0.0))

    def best(self, worth: Floats) -> tuple[int, int]:
        """Return the pair with the largest value; ties are broken at random."""
        tied = np.flatnonzero(worth >= worth.max() * (1.0 - 1e-12))
        k = int(self.rng.choice(tied))
        return int(self.upper[0][k]), int(self.upper[1][k])


class DOptimal(OnePass):
    """The vote that raises log det H most: the largest mu' W^2."""

    def pair(self) -> tuple[int, int]:
        chance = expit(self.gaps())
        return self.best(chance * (1.0 - chance) * self.squares())


class InformationGain(OnePass):
    """The vote whose outcome has the most mutual information with the utilities (Chen et al. 2013, Pfeiffer et al. 2012)."""

    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    weights = weights / weights.sum()

    def pair(self) -> tuple[int, int]:
        chance = expit(self.gaps()[:, None] + np.sqrt(self.squares())[:, None] * self.nodes)
        return self.best(entropy(chance @ self.weights) - entropy(chance) @ self.weights)


def entropy(p: Floats) -> Floats:
    """Of a coin, in nats."""
    return np.asarray(-xlogy(p, p) - xlogy(1.0 - p, 1.0 - p))


class Swiss(OnePass):
    """Rounds in which every arm meets one that stands near it: of the next four, the one it has met least; of an odd number, one rests."""

    near = 4

    def initialize(self, arms: Any) -> None:
        super().initialize(arms)
        self.met = np.zeros((self.n, self.n))
        self.round: list[tuple[int, int]] = []

    def pair(self) -> tuple[int, int]:
        if not self.round:
            self.round = self._pairs()
        first, second = self.round.pop()
        self.met[first, second] += 1
        self.met[second, first] += 1
        return first, second

    def _pairs(self) -> list[tuple[int, int]]:
        left = [int(k) for k in np.lexsort((self.rng.random(self.n), -self.mean))]
        if len(left) % 2:
            left.pop(int(self.rng.integers(len(left))))
        pairs = []
        while left:
            first = left.pop(0)
            second = min(left[: self.near], key=lambda other: self.met[first, other])
            left.remove(second)
            pairs.append((first, second))
        return pairs


class Asap(Policy):
    """ASAP as its authors published it: the spanning tree of pairs with the most information, asked one after the other.

    `approx`: their faster variant, which looks at what a vote changes for its two arms alone.
    """

    def __init__(self, random_state: int | None = None, approx: bool = False) -> None:
        self.random_state, self.approx = random_state, approx
        self._asked = 0
        self._waiting: list[tuple[int, int]] = []

    def ask(self, arms: Any) -> dl.Duel:
        if self._asked == 0:
            asap_module().random.seed(self.random_state)
            np.random.seed((self.random_state or 0) % 2**32)  # noqa: NPY002 - theirs is the global generator
            self._wins = np.zeros((len(arms), len(arms)), np.int64)
            self._scheduler = asap_module().ASAP(len(arms), approx=self.approx)
        if not self._waiting:
            self._waiting = [(int(i), int(j)) for i, j in self._scheduler.run_asap(self._wins, mst_mode=True)]
        self._asked += 1
        return dl.Duel(*self._waiting.pop(0), self._asked - 1)

    def tell(self, duel: dl.Duel, outcome: float, weight: float = 1.0) -> None:
        winner, loser = (duel.first, duel.second) if outcome > 0.5 else (duel.second, duel.first)
        self._wins[winner, loser] += 1


def asap_module() -> Any:
    """The authors' program. networkx has another name today for a function that it calls; and pdf / cdf of the normal distribution, on
    which it spends nearly all of its time, is computed without making an object for each distribution.
    """
    import networkx as nx  # nothing else needs it

    nx.from_numpy_matrix = nx.from_numpy_array
    folder = str(Path(os.environ[ASAP_FOLDER]) / "python")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import asap_cpu

    asap_cpu.TrueSkillSolver.psi = lambda self, x: np.exp(-0.5 * np.square(x) - log_ndtr(x)) / np.sqrt(2.0 * np.pi)
    return asap_cpu


def has_asap() -> bool:
    return (Path(os.environ.get(ASAP_FOLDER, "")) / "python" / "asap_cpu.py").is_file()
