"""How near a study is to knowing its best arm, and which it would name: both by the rule of `duelist.study.stopping`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duelist.errors import InvalidInput
from duelist.identification import check_delta, lead_interval
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

    @property
    def done(self) -> bool:
        """Whether to stop: every other arm is ruled out. `recommend().decided` is the same."""
        return self.not_ruled_out == 1

    def __str__(self) -> str:
        verdict = "done" if self.done else f"not done at error rate {self.delta:g}"
        return (
            f"{self.leader} leads and is best with probability {percent(self.chance_best)}; "
            f"{self.not_ruled_out} of {self.arms} arms not ruled out after {self.votes} votes ({verdict})"
        ) + ("" if self.note is None else f"; {self.note}")

    def _table(self) -> Table:
        row = [self.leader, percent(self.chance_best), f"{self.not_ruled_out} of {self.arms}", str(self.votes)]
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


def progress_of(fit: Fitted, *, delta: float = 0.05, seed: int = 0) -> Progress:
    """The progress of a fit that is there already."""
    found = verdict_of(fit, delta=delta, seed=seed)
    chance = chances_of_best(fit.posterior, seed)
    return Progress(
        leader=found.best,
        chance_best=float(chance[int(np.argmax(fit.posterior.mean))]),
        not_ruled_out=len(found.candidates),
        arms=len(fit.among),
        votes=fit.votes,
        delta=found.delta,
        note=fit.note,
    )


def verdict_of(fit: Fitted, *, delta: float = 0.05, seed: int = 0) -> Recommended:
    """The best arm, how sure that is, and the arms that are not ruled out."""
    delta = check_delta(delta)
    if not len(fit.among):
        raise InvalidInput("there are no arms; add some first")
    warn_if_apart(fit)
    posterior, names = fit.posterior, fit.ids
    leader = int(np.argmax(posterior.mean))
    gap, variance = behind(posterior, leader)
    before = posterior.prior_variance(np.full(len(gap), leader), np.arange(len(gap)))
    kept = still_possible(gap, variance, before, fit.connected(leader), delta)
    kept[leader] = True
    order = sorted(np.flatnonzero(kept).tolist(), key=lambda arm: (arm != leader, gap[arm], arm))
    chance = chances_of_best(posterior.among(np.array(order)), seed)[0] if len(order) > 1 else 1.0
    interval = lead_interval(leader, gap, variance)
    return Recommended(names[leader], float(chance), interval, tuple(names[k] for k in order), delta)
