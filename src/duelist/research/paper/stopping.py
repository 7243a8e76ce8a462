"""Votes until the best arm is decided, and how often the decision is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.model.links import get_link
from duelist.model.stopping import LinearPosterior, decided_arm
from duelist.policies import NativePolicy
from duelist.research.paper.fitted_models import fit_theta, pairs_of
from duelist.simulation.simulate import policy_seed

N_ARMS: Final = 12
DIM: Final = 4
SIZE: Final = 2.0
"""|theta*|, with arms of standard normal features."""
MOST_VOTES: Final = 10_000
FIRST_LOOK: Final = 16
LOOK_EVERY: Final = 16
LOOK_GROWTH: Final = 0.05
"""Checks are 16 votes apart, later 5 % of the votes so far, because they cost more than the votes."""


@dataclass(frozen=True)
class Race:
    """Votes per run (`MOST_VOTES` if undecided), wrong decisions, and undecided runs."""

    votes: Floats
    wrong: int
    undecided: int


def race(
    policies: Mapping[str, NativePolicy], runs: int, delta: float, seed: int, report: Callable[[int, int], None]
) -> dict[str, Race]:
    """Play every policy until it decides, on the same worlds: random arms, random theta*."""
    votes = {name: np.empty(runs) for name in policies}
    wrong, undecided = dict.fromkeys(policies, 0), dict.fromkeys(policies, 0)
    for run in range(runs):
        report(run, runs)
        for name, template in policies.items():
            rng = np.random.default_rng([seed, run])
            taken, good = _one(template.clone(policy_seed(seed, run)), rng, delta)
            votes[name][run] = taken
            undecided[name] += good is None
            wrong[name] += good is False
    report(runs, runs)
    return {name: Race(votes[name], wrong[name], undecided[name]) for name in policies}


def _one(policy: NativePolicy, rng: np.random.Generator, delta: float) -> tuple[int, bool | None]:
    """Return the votes of one run, and whether the recommended arm was the best; None if undecided."""
    arms = rng.standard_normal((N_ARMS, DIM))
    theta = rng.standard_normal(DIM)
    utilities = arms @ (SIZE * theta / np.linalg.norm(theta))
    wins, look = np.zeros((N_ARMS, N_ARMS)), FIRST_LOOK
    for vote in range(1, MOST_VOTES + 1):
        duel = policy.ask(arms)
        chance = 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first]))
        first_won = rng.random() < chance
        policy.tell(duel, float(first_won))
        wins[tuple(duel) if first_won else tuple(duel)[::-1]] += 1.0
        if vote == look:
            look += max(LOOK_EVERY, int(LOOK_GROWTH * vote))
            best = decided_arm(arms, _known(arms, wins, policy.pooled_ridge_), delta)
            if best is not None:
                return vote, best == int(np.argmax(utilities))
    return MOST_VOTES, None


def _known(arms: Floats, wins: Floats, ridge: Floats) -> LinearPosterior:
    """Return theta and its curvature from all votes so far, computed the same way for every policy."""
    i, j, votes, _ = pairs_of(wins)
    if not votes.size:  # only self-duels so far
        return LinearPosterior(np.zeros(DIM), np.diag(ridge), ridge)
    theta, z = fit_theta(arms, wins, ridge), arms[i] - arms[j]
    slopes = votes * get_link("logistic").slope(z @ theta)
    return LinearPosterior(theta, np.diag(ridge) + (z * slopes[:, None]).T @ z, ridge, float(votes.sum()))
