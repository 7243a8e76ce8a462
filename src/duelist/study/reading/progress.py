"""How near a study is to knowing its best arm, and which it would name: both by the rule of `duelist.study.stopping`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duelist.errors import InvalidInput
from duelist.identification import check_delta, lead_interval, level_with, utility_tolerance, votes_to_decide
from duelist.study.reading._fitted import Fitted, fitted
from duelist.study.reading._log import Log
from duelist.study.reading._own_terms import Features
from duelist.study.reading._table import Shown, Table
from duelist.study.reading.leaderboard import behind, chances_of_best, warn_if_apart
from duelist.study.records import Vote
from duelist.study.stopping import Recommended, still_possible
from duelist.study.words import percent


@dataclass(frozen=True, slots=True)
class Progress(Shown):
    """How near a study is to knowing its best arm."""

    leader: str
    chance_best: float
    """Probability that the leader is the best arm, by the votes so far."""
    not_ruled_out: int
    """Arms, the leader among them, that may still be the best at the error rate `delta`."""
    arms: int
    votes: int
    delta: float
    note: str | None = None
    """What to beware of, if there is something."""
    votes_expected: int | None = None
    """Votes still needed if arms are as far apart as they look and votes go on as so far; None: nobody can say yet."""
    level: int = 0
    """Other arms that are exactly as good as the leader by the votes so far: where there are any, nobody leads."""

    @property
    def done(self) -> bool:
        """Whether to stop: every other arm is ruled out. `recommend().decided` is the same."""
        return self.not_ruled_out == 1

    def __str__(self) -> str:
        verdict = "done" if self.done else f"not done at error rate {self.delta:g}"
        leads = f"{self.leader} leads and is best with probability {percent(self.chance_best)}"
        if self.level:
            arms = (
                "all arms"
                if self.level + 1 == self.arms
                else f"{self.leader} and {self.level} other{'s' * (self.level > 1)}"
            )
            leads = f"{arms} are level"
        return (
            f"{leads}; "
            f"{self.not_ruled_out} of {self.arms} arms not ruled out after {self.votes} votes ({verdict})"
            + ("" if self.done or self.votes_expected is None else f"; about {self.votes_expected:,} votes more")
        ) + ("" if self.note is None else f"; {self.note}")

    def _table(self) -> Table:
        leader = f"{self.leader} (level with {self.level})" if self.level else self.leader
        row = [leader, percent(self.chance_best), f"{self.not_ruled_out} of {self.arms}", str(self.votes)]
        headers = ["leader", "best", "not ruled out", "votes", "done"]
        return Table(headers, [[*row, "yes" if self.done else "no"]], [] if self.note is None else [self.note])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = ("leader", "chance_best", "not_ruled_out", "arms", "votes", "delta", "done")
        return {name: [getattr(self, name)] for name in names}


def progress(
    votes: Sequence[Vote] | Log,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    delta: float = 0.05,
    ridge: float | str = 1.0,
    seed: int = 0,
) -> Progress:
    """How sure the leader is, and how many arms may still be better."""
    return progress_of(fitted(votes, arms, features, among=among, ridge=ridge, seed=seed), delta=delta, seed=seed)


def progress_of(
    fit: Fitted, *, delta: float = 0.05, tolerance: float = 0.0, unit: str = "utility", seed: int = 0
) -> Progress:
    """The progress of a fit that is there already."""
    found = verdict_of(fit, delta=delta, tolerance=tolerance, unit=unit, seed=seed)
    chance = chances_of_best(fit.posterior, seed)
    return Progress(
        leader=found.best,
        chance_best=float(chance[int(np.argmax(fit.posterior.mean))]),
        not_ruled_out=len(set(found.candidates) - set(found.alike)),
        arms=len(fit.among),
        votes=fit.votes,
        delta=found.delta,
        note=fit.note,
        votes_expected=found.votes_expected,
        level=len(found.level),
    )


def verdict_of(
    fit: Fitted, *, delta: float = 0.05, tolerance: float = 0.0, unit: str = "utility", seed: int = 0
) -> Recommended:
    """The best arm, how sure that is, and the arms that are not ruled out; `tolerance` and `unit` as for a policy's `recommend`."""
    delta, within = check_delta(delta), utility_tolerance(tolerance, unit)
    if not len(fit.among):
        raise InvalidInput("there are no arms; add some first")
    warn_if_apart(fit)
    posterior, names = fit.posterior, fit.ids
    leader = int(np.argmax(posterior.mean))
    gap, variance = behind(posterior, leader)
    before = posterior.prior_variance(np.full(len(gap), leader), np.arange(len(gap)))
    alike = before <= 0.0  # the same features: no vote can tell them apart
    gap, variance = np.where(alike, 0.0, gap), np.where(alike, 0.0, variance)
    connected = fit.connected(leader)
    kept = still_possible(gap, variance, before, connected, delta, within) | alike
    order = sorted(np.flatnonzero(kept).tolist(), key=lambda arm: (arm != leader, gap[arm], arm))
    apart = [arm for arm in order if arm == leader or not alike[arm]]
    chance = chances_of_best(posterior.among(np.array(apart)), seed)[0] if len(apart) > 1 else 1.0
    foreseen = votes_to_decide(gap, variance, before, fit.votes, delta, within) if connected.all() else None
    alike[leader] = False
    return Recommended(
        best=names[leader],
        probability=float(chance),
        interval=lead_interval(leader, gap, variance),
        candidates=tuple(names[k] for k in order),
        delta=delta,
        alike=tuple(names[k] for k in np.flatnonzero(alike)),
        tolerance=within,
        votes_expected=foreseen,
        level=tuple(names[k] for k in level_with(leader, gap, variance)),
    )
