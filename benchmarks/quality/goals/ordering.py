"""How well votes order the arms: one evaluator for all policies, which sees only the votes.

It fits the features, or without them arm effects of variance 1, and compares the fitted order with the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

import duelist as dl
from benchmarks.quality.goals.problems import GoalWorld
from duelist.core.arrays import Floats, Ints
from duelist.policies.base import Policy

TOP: Final = 10
VOTES_AN_ARM: Final = 100
MOST_VOTES: Final = 4000
FIRST_LOOK: Final = 16
GROWTH: Final = 1.1
"""Factor between the numbers of votes at two successive looks."""


def looks(n: int) -> Ints:
    """Return the numbers of votes at which the order of about n arms is evaluated."""
    last = min(VOTES_AN_ARM * n, MOST_VOTES)
    steps = int(np.log(last / FIRST_LOOK) / np.log(GROWTH))
    return np.unique(np.rint(FIRST_LOOK * GROWTH ** np.arange(steps + 1.0)).astype(np.int64))


@dataclass(frozen=True)
class Ordering:
    """One run: at every look, Kendall's tau, and the share of the first `TOP` arms that were among the first `TOP` of the evaluator."""

    tau: Floats
    first: Floats


class OrderEvaluator:
    """Fits the votes so far, and orders the arms."""

    def __init__(self, world: GoalWorld) -> None:
        features = world.features
        self._arms = np.eye(world.n) if features is None else features - features.mean(axis=0)
        variance, dim = self._arms.var(axis=0), self._arms.shape[1]
        usual = max(1.0, dim / 5.0) * np.where(variance > 0.0, variance, 1.0)
        self._ridge = np.ones(dim) if features is None else usual
        self._theta, self._wins = np.zeros(dim), np.zeros((world.n, world.n))
        i, j = np.triu_indices(world.n, 1)
        apart = world.utilities[i] != world.utilities[j]
        self._pairs = i[apart], j[apart]
        self._truth = np.sign(world.utilities[i] - world.utilities[j])[apart]
        self._first = set(np.argsort(-world.utilities, kind="stable")[:TOP].tolist())

    def count(self, first: int, second: int, outcome: float) -> None:
        self._wins[first, second] += outcome
        self._wins[second, first] += 1.0 - outcome

    def utilities(self) -> Floats:
        """x . theta, where theta is the root of ridge theta + sum (mu - o) z = 0 over the votes, by Newton's method with a line search."""
        votes = self._wins + self._wins.T
        for _ in range(50):
            u = self._arms @ self._theta
            chance = expit(u[:, None] - u)
            pull = self._arms.T @ (self._wins - votes * chance).sum(axis=1) - self._ridge * self._theta
            laplacian = -votes * chance * (1.0 - chance)
            laplacian[np.diag_indices_from(laplacian)] -= laplacian.sum(axis=1)
            step = np.linalg.solve(self._arms.T @ laplacian @ self._arms + np.diag(self._ridge), pull)
            if float(pull @ step) < 1e-12:
                break
            size, before = 1.0, self._loss(self._theta)
            while self._loss(self._theta + size * step) > before - 0.25 * size * float(pull @ step):
                size /= 2.0
            self._theta = self._theta + size * step
        return np.asarray(self._arms @ self._theta)

    def _loss(self, theta: Floats) -> float:
        u = self._arms @ theta
        return float(0.5 * self._ridge @ theta**2 + (self._wins * np.logaddexp(0.0, u - u[:, None])).sum())

    def look(self) -> tuple[float, float]:
        """Kendall's tau among arms that differ, and the share of the first arms that are found."""
        u = self.utilities()
        i, j = self._pairs
        tau = float(np.mean(np.sign(u[i] - u[j]) * self._truth))
        found = set(np.argsort(-u, kind="stable")[:TOP].tolist())
        return tau, len(found & self._first) / len(self._first)


def play(
    policy: Policy, table: Floats | dl.ArmTable, world: GoalWorld, luck: np.random.Generator, due: Ints
) -> Ordering:
    """Run a policy until the last look."""
    evaluator, seen = OrderEvaluator(world), list[tuple[float, float]]()
    for vote in range(1, due[-1] + 1):
        duel = policy.ask(table)
        outcome = world.vote(duel.first, duel.second, vote - 1, luck)
        policy.tell(duel, outcome)
        evaluator.count(duel.first, duel.second, outcome)
        if vote == due[len(seen)]:
            seen.append(evaluator.look())
    tau, first = np.array(seen).T
    return Ordering(tau, first)


def votes_to(level: float, votes: Ints, curves: Floats) -> float:
    """Return where the mean of some curves first reaches a level, by linear interpolation; nan: never."""
    mean = curves.mean(axis=0)
    reached = np.flatnonzero(mean >= level)
    if not reached.size:
        return float("nan")
    k = int(reached[0])
    if k == 0:
        return float(votes[0])
    part = (level - mean[k - 1]) / (mean[k] - mean[k - 1])
    return float(votes[k - 1] + part * (votes[k] - votes[k - 1]))
