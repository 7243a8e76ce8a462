"""The recommended arm after some votes, and the stopping decision: one evaluator for all policies.

The evaluator sees only the votes. With features it fits their weights, and arm effects if they do not explain the votes, as
`recommend` does; without features it fits arm effects of variance 1, as studies do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

import duelist as dl
from benchmarks.quality.goals.problems import GoalWorld
from duelist.core.arrays import Floats
from duelist.model.fit import fit_mle
from duelist.model.links import get_link
from duelist.model.misfit import MISFIT_LEVEL, PairVotes, fit_effect_sizes, misfit_p_value, spans_all_utilities
from duelist.model.stopping import LinearPosterior, leader
from duelist.policies.base import Policy

CHECKPOINTS: Final = (100, 300, 1000, 3000)
FIRST_LOOK: Final = 16
LOOK_EVERY: Final = 16
LOOK_GROWTH: Final = 0.1
"""The stopping rule is checked every 16 votes, later every tenth of the votes so far."""
DELTA: Final = 0.05


@dataclass(frozen=True)
class Finding:
    """One run."""

    regret: Floats
    """Simple regret of the recommended arm at each checkpoint."""
    right: Floats
    """1 if it was the best, else 0."""
    votes: int
    """Votes until the decision, or in total."""
    decided: bool | None
    """Whether the decision was for the best arm; None: undecided."""
    shown: int
    """Number of duels with the best arm."""


class Evaluator:
    """Fits the votes so far."""

    def __init__(self, world: GoalWorld) -> None:
        self._arms = np.eye(world.n) if world.features is None else world.features - world.features.mean(axis=0)
        variance = self._arms.var(axis=0)
        dim = self._arms.shape[1]
        usual = max(1.0, dim / 5.0) * np.where(variance > 0.0, variance, 1.0)
        self._ridge = np.ones(dim) if world.features is None else usual
        self._plain = world.features is None
        self._wins = np.zeros((world.n, world.n))
        self._theta = np.zeros(dim)

    def count(self, first: int, second: int, outcome: float) -> None:
        self._wins[first, second] += outcome
        self._wins[second, first] += 1.0 - outcome

    def look(self, delta: float = DELTA) -> tuple[int, bool]:
        """Return the recommended arm, and whether all others are ruled out."""
        first, second = np.nonzero(np.triu(self._wins + self._wins.T, 1))
        wins = self._wins[first, second]
        votes = PairVotes(first, second, wins + self._wins[second, first], wins)
        arms, known = self._arms, self._fit(votes)
        found = leader(arms, known, delta)
        if self._plain or spans_all_utilities(arms):
            return found
        if found[1] or misfit_p_value(arms, votes, known, "logistic") < MISFIT_LEVEL:
            found = leader(arms, fit_effect_sizes(arms, votes, known, "logistic"), delta)
        return found

    def _fit(self, votes: PairVotes) -> LinearPosterior:
        z = self._arms[votes.first] - self._arms[votes.second]
        self._theta = fit_mle(z, votes.wins / votes.mass, votes.mass, self._ridge, start=self._theta).theta
        slopes = votes.mass * get_link("logistic").slope(z @ self._theta)
        return LinearPosterior(
            self._theta, np.diag(self._ridge) + (z * slopes[:, None]).T @ z, self._ridge, votes.mass.sum()
        )


def play(policy: Policy, table: Floats | dl.ArmTable, world: GoalWorld, luck: np.random.Generator) -> Finding:
    """Run a policy through all checkpoints; the first decision counts."""
    evaluator, look = Evaluator(world), FIRST_LOOK
    named: list[int] = []
    votes, decided, shown = CHECKPOINTS[-1], None, 0
    for vote in range(1, CHECKPOINTS[-1] + 1):
        duel = policy.ask(table)
        outcome = world.vote(duel.first, duel.second, vote - 1, luck)
        policy.tell(duel, outcome)
        evaluator.count(duel.first, duel.second, outcome)
        shown += world.best in (duel.first, duel.second)
        due = vote == look
        if due:
            look += max(LOOK_EVERY, int(LOOK_GROWTH * vote))
        if vote in CHECKPOINTS or (due and decided is None):
            best, sure = evaluator.look()
            if vote in CHECKPOINTS:
                named.append(best)
            if due and sure and decided is None:
                votes, decided = vote, world.regret(best) <= 1e-12
    regret = np.array([world.regret(arm) for arm in named])
    return Finding(regret, (regret <= 1e-12).astype(float), votes, decided, shown)
