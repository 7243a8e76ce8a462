"""Regret: what the policy's duels cost, measured by the random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, format_percent
from duelist.model.posterior import Posterior
from duelist.study.analysis.fit.utilities import Features, fit_utilities
from duelist.study.analysis.fit.votes import CHOSEN_CODES, VoteTable, as_vote_table, counted
from duelist.study.analysis.intervals import check_level
from duelist.study.records import Vote

DRAWS: Final = 2000

ESTIMATOR: Final = (
    "average regret, u* - (u_first + u_second)/2 per duel, by utilities fitted to the votes on random duels only, "
    "each weighted by the inverse of its chance where that is known"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A posterior mean with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, slots=True, repr=False)
class RegretEstimate(TabularResult):
    """Average regret per duel of the policy's choices and of random ones, in units of utility."""

    policy: Estimate
    random: Estimate
    saved: Estimate
    """How much less a duel of the policy costs than a random one."""
    policy_duels: int
    random_duels: int
    level: float
    estimator: str = ESTIMATOR

    def _table(self) -> TableContent:
        rows = [
            ["policy", str(self.policy), str(self.policy_duels)],
            ["random", str(self.random), str(self.random_duels)],
            ["saved", str(self.saved), ""],
        ]
        headers = ["regret per duel", f"estimate, {format_percent(self.level)} interval", "duels"]
        return TableContent(headers, rows, [self.estimator])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        kinds = ("policy", "random", "saved")
        parts = ("value", "low", "high")
        return {"of": kinds, **{part: [getattr(getattr(self, kind), part) for kind in kinds] for part in parts}}


def estimated_regret(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    groups: Sequence[str | None] | None = None,
    ridge: float | str = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> RegretEstimate:
    """Estimate the average regret of the policy's duels, and that of random ones.

    The utilities come from votes on random duels only: which of those were
    asked does not depend on earlier votes, so that the fit is not biased in
    favour of the policy. Where a vote records its propensity, it is weighted by
    1/propensity (scaled to mean 1), as if pairs had been chosen uniformly. u*
    is the best utility among all arms, or among those of the same group
    (`groups` names one per arm). Value and interval are over draws from the
    posterior; each duel counts once, for any number of votes on it.
    """
    log = as_vote_table(votes, arms).on_arms
    log = log.of(log.teaching)
    by_policy, by_chance = (log.of(log.chosen_by == CHOSEN_CODES[name]) for name in ("policy", "random"))
    if not len(by_policy) or not len(by_chance):
        missing = "by the policy" if not len(by_policy) else "at random"
        raise InvalidInput(
            f"No vote is on a duel chosen {missing}.", "Set random_share above 0 and collect votes first."
        )
    posterior = fit_utilities(counted(by_chance, _weights(by_chance.propensity)), features, ridge, seed)
    policy, random = _duels(by_policy), _duels(by_chance)
    group = _group_numbers(groups, len(arms))
    costs = np.array([_cost(u, group, policy, random) for u in _utilities(posterior, seed)])
    tail = (1.0 - check_level(level)) / 2.0
    return RegretEstimate(
        policy=_estimate(costs[:, 0], tail),
        random=_estimate(costs[:, 1], tail),
        saved=_estimate(costs[:, 1] - costs[:, 0], tail),
        policy_duels=len(policy),
        random_duels=len(random),
        level=level,
    )


def _estimate(draws: Floats, tail: float) -> Estimate:
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    return Estimate(float(draws.mean()), float(low), float(high))


def _weights(chance: Floats) -> Floats:
    """Return 1/propensity, scaled to mean 1; a vote without one (NaN) weighs as much as the mean of the others."""
    known = ~np.isnan(chance)
    wrong = chance[known & ~((chance > 0.0) & (chance <= 1.0))]
    if len(wrong):
        raise InvalidInput(
            f"A random duel has the chance {wrong[0]}.", "Give a probability above 0 and at most 1, or none."
        )
    inverse = np.where(known, 1.0 / np.where(known, chance, 1.0), 0.0)
    mean = inverse[known].mean() if known.any() else 1.0
    return np.where(known, inverse / mean, 1.0)


def _duels(log: VoteTable) -> Ints:
    """Return the arms of each duel, (n, 2), each duel once."""
    _, once = np.unique(log.duel, return_index=True)
    return np.stack([log.first[once], log.second[once]], axis=1).astype(np.int64)


def _group_numbers(groups: Sequence[str | None] | None, n_arms: int) -> Ints:
    if groups is None:
        return np.zeros(n_arms, dtype=np.int64)
    if len(groups) != n_arms:
        raise InvalidInput(f"groups has {len(groups)} entries, but there are {n_arms} arms.", "Give one each.")
    number = {group: k for k, group in enumerate(dict.fromkeys(groups))}
    return np.array([number[group] for group in groups], dtype=np.int64)


def _cost(utility: Floats, group: Ints, *sets: Ints) -> list[float]:
    best = np.full(int(group.max(initial=0)) + 1, -np.inf)
    np.maximum.at(best, group, utility)
    gap = best[group] - utility
    return [float(gap[duels].mean()) for duels in sets]


def _utilities(posterior: Posterior, seed: int) -> Floats:
    """Return draws of all utilities, (draws, n), up to a common shift."""
    root = posterior.root(np.arange(len(posterior.mean)))
    noise = np.random.default_rng(seed).standard_normal((DRAWS, root.shape[1]))
    return np.asarray(posterior.mean + noise @ root.T)
