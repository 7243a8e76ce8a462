"""Progress towards the best arm, and the recommended arm, by the rule of `duelist.study.analysis.stopping`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, format_percent
from duelist.model.posterior import Posterior
from duelist.model.stopping import (
    ANY_LOOK,
    MIN_VOTES_TO_FORECAST,
    ONE_LOOK,
    check_delta,
    forecast_votes,
    join_names,
    lead_interval,
    tied_with_best,
    utility_tolerance,
)
from duelist.study.analysis.fit.flagged_raters import FlaggedRater, RaterChoice
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.utilities import AUTO, Features
from duelist.study.analysis.fit.votes import VoteTable
from duelist.study.analysis.leaderboard import behind, chances_of_best, warn_if_disconnected
from duelist.study.analysis.raters.supply import RaterSupply, shortage_of
from duelist.study.analysis.stopping import StudyRecommendation, still_possible
from duelist.study.records import Vote


@dataclass(frozen=True, slots=True, repr=False)
class Progress(TabularResult):
    """How close a study is to knowing its best arm."""

    leader: str
    chance_best: float
    """The posterior probability that the leader is the best arm."""
    not_ruled_out: int
    """Arms, including the leader, that may still be the best at the error rate `delta`."""
    arms: int
    votes: int
    delta: float
    note: str | None = None
    """A caveat, if there is one."""
    votes_expected: int | None = None
    """Votes still needed if the estimates hold and votes continue as before; None if it cannot be forecast yet."""
    tied: int = 0
    """Other arms that tie with the leader by the votes so far; if there are any, no arm leads."""
    identical: int = 0
    """Other arms with the leader's features, which no vote can tell apart; they lead together and count as one."""
    of: str = "arm"
    """The kind compared: "arm" or "system"."""
    flagged: tuple[FlaggedRater, ...] = ()
    """Careless raters."""
    flagged_note: str = ""
    """Who is flagged and why, and what changes without their votes."""

    @property
    def done(self) -> bool:
        """Whether to stop: every other arm is ruled out. `recommend().decided` is the same."""
        return self.not_ruled_out == 1

    def __str__(self) -> str:
        verbs = "lead and are" if self.identical else "leads and is"
        label = "" if self.done else f" ({ONE_LOOK})"
        leads = f"{self._leaders()} {verbs} best with probability {format_percent(self.chance_best)}{label}"
        if self.tied:
            arms = (
                f"all {self.of}s"
                if self.tied + self.identical + 1 == self.arms
                else f"{self.leader} and {self.tied} other{'s' * (self.tied > 1)}"
            )
            leads = f"{arms} are level"
        return (
            f"{leads}; {self._counted()}"
            + ("" if self.done or self.votes_expected is None else f"; about {self.votes_expected:,} votes more")
        ) + "".join(f"; {note}" for note in self._notes())

    def _leaders(self) -> str:
        return f"{self.leader} and {self.identical} with the same features" if self.identical else self.leader

    def _counted(self) -> str:
        others = self.arms - 1 - self.identical
        if self.done and not others:
            return "there are no others (done)"
        if self.done and self.tied:  # that takes a tolerance
            return (
                f"no {self.of} is better than {self.leader} by more than the tolerance after {self.votes} votes (done)"
            )
        rule = "" if self.tied else f"; {ANY_LOOK}"
        decision = "done" if self.done else f"undecided at error rate {self.delta:g}{rule}"
        counted = f"{self.not_ruled_out} of {self.arms} {self.of}s"
        if self.identical:
            counted = f"{self.not_ruled_out - 1} of {others} other{'s' * (others > 1)}"
        return f"{counted} not ruled out after {self.votes} votes ({decision})"

    def _table(self) -> TableContent:
        leader = f"{self.leader} (level with {self.tied})" if self.tied else self._leaders()
        row = [
            leader,
            format_percent(self.chance_best),
            f"{self.not_ruled_out} of {self.arms - self.identical}",
            str(self.votes),
        ]
        headers = ["leader", "best", "not ruled out", "votes", "done"]
        return TableContent(headers, [[*row, "yes" if self.done else "no"]], self._notes())

    def _notes(self) -> list[str]:
        return [note for note in (self.note, self.flagged_note) if note]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = ("leader", "chance_best", "not_ruled_out", "arms", "votes", "delta", "done")
        return {name: [getattr(self, name)] for name in names}


def progress(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    delta: float = 0.05,
    ridge: float | str = 1.0,
    seed: int = 0,
    clusters: bool = True,
    rater_model: RaterChoice = AUTO,
) -> Progress:
    """Return the leader's probability of being best, and how many arms may still be better."""
    fit = fit_votes(
        votes, arms, features, among=among, ridge=ridge, seed=seed, clusters=clusters, rater_model=rater_model
    )
    return progress_from_fit(fit, delta=delta, seed=seed)


def progress_from_fit(
    fit: StudyFit,
    *,
    delta: float = 0.05,
    tolerance: float = 0.0,
    unit: str = "utility",
    seed: int = 0,
    supply: RaterSupply | None = None,
) -> Progress:
    """Return the progress of an existing fit."""
    found = recommendation_from_fit(fit, delta=delta, tolerance=tolerance, unit=unit, seed=seed, supply=supply)
    chance = fit.once(("chances", seed), lambda: chances_of_best(fit.posterior, seed))
    together = {found.best, *found.identical}
    return Progress(
        leader=found.best,
        chance_best=float(chance[[k for k, arm in enumerate(fit.ids) if arm in together]].sum()),
        not_ruled_out=len(set(found.candidates) - set(found.identical)),
        arms=len(fit.among),
        votes=fit.votes,
        delta=found.delta,
        note="; ".join(filter(None, (fit.note, found.advice))) or None,
        votes_expected=found.votes_expected,
        tied=len(found.tied),
        identical=len(found.identical),
        of=fit.of,
    )


def recommendation_from_fit(
    fit: StudyFit,
    *,
    delta: float = 0.05,
    tolerance: float = 0.0,
    unit: str = "utility",
    seed: int = 0,
    supply: RaterSupply | None = None,
) -> StudyRecommendation:
    """Return the recommended arm, its probability, and the arms not ruled out.

    `tolerance` and `unit` are as in a policy's `recommend`. Votes that the
    raters of `supply` cannot give are not expected; the advice says so.
    """
    delta, within = check_delta(delta), utility_tolerance(tolerance, unit)
    if not len(fit.among):
        raise InvalidInput("There are no arms.", "Add some first.")
    warn_if_disconnected(fit)
    posterior, names = fit.posterior, fit.ids
    leader, gap, variance, before, kept = compare_with_leader(fit, delta, within)
    alike, connected = before <= 0.0, fit.connected(leader)
    order = sorted(np.flatnonzero(kept).tolist(), key=lambda arm: (arm != leader, gap[arm], arm))
    apart = [arm for arm in order if arm == leader or not alike[arm]]
    chance = fit.once(("lead", seed, *apart), lambda: _chance_of_first(posterior.among(np.array(apart)), seed))
    foreseen = forecast_votes(gap, variance, before, fit.votes, delta, within) if connected.all() else None
    alike[leader] = False
    found = StudyRecommendation(
        best=names[leader],
        probability=float(chance),
        interval=lead_interval(leader, gap, variance),
        candidates=tuple(names[k] for k in order),
        delta=delta,
        identical=tuple(names[k] for k in np.flatnonzero(alike)),
        tolerance=within,
        votes_expected=foreseen,
        tied=tuple(names[k] for k in tied_with_best(leader, gap, variance)),
        tolerance_given=(float(tolerance), unit),
        of=fit.of,
    )
    if found.decided:
        return found
    rivals = [(found.best, arm) for arm in found.candidates[1:] if arm not in found.identical]
    hint = stopping_hint(fit, rivals, foreseen, within)
    others = np.delete(np.arange(len(names)), leader)
    shortage = shortage_of(fit, np.full(len(others), leader), others, (kept & ~alike)[others], supply, delta, within)
    if shortage is None:
        return replace(found, advice=hint)
    return replace(found, votes_expected=None, advice="; ".join(filter(None, (str(shortage), hint))))


class LeaderComparison(NamedTuple):
    """The leader, and the gap of each arm behind it with its posterior and prior variances; `possible` arms are not ruled out."""

    leader: int
    gap: Floats
    variance: Floats
    prior_variance: Floats
    possible: NDArray[np.bool_]


def compare_with_leader(fit: StudyFit, delta: float, within: float) -> LeaderComparison:
    """Compare all arms with the leader; arms with the same features as the leader have the prior variance 0 and stay possible."""
    posterior = fit.posterior
    leader = int(np.argmax(posterior.mean))
    gap, variance = behind(posterior, leader)
    before = posterior.prior_variance(np.full(len(gap), leader), np.arange(len(gap)))
    alike = before <= 0.0  # identical features: no vote can tell them apart
    gap, variance = np.where(alike, 0.0, gap), np.where(alike, 0.0, variance)
    kept = still_possible(gap, variance, before, fit.connected(leader), delta, within) | alike
    return LeaderComparison(leader, gap, variance, before, kept)


def _chance_of_first(posterior: Posterior, seed: int) -> float:
    """Return the probability that the first of some arms is the best of them."""
    return float(chances_of_best(posterior, seed)[0]) if len(posterior.mean) > 1 else 1.0


def stopping_hint(fit: StudyFit, open_pairs: Sequence[tuple[str, str]], foreseen: int | None, tolerance: float) -> str:
    """Return advice on comparisons that more votes may never settle; empty if votes will settle them.

    `foreseen` is None if there are too few votes for a forecast, if it is too
    long, or if no votes connect arms.
    """
    place, x = {arm: k for k, arm in enumerate(fit.ids)}, fit.posterior.features
    many = fit.votes >= MIN_VOTES_TO_FORECAST
    apart = [(a, b) for a, b in open_pairs if not fit.connected(place[a])[place[b]]]
    if apart:  # no tolerance closes these
        first, others = _partners_of_first(apart)
        said = f"no chain of votes connects {first} with {join_names(others)}: collect votes between their groups"
        return said if many else ""
    far = many and foreseen is None
    if tolerance:
        return "a larger tolerance ends it sooner" if far else ""
    same = [] if x is None else [(a, b) for a, b in open_pairs if np.array_equal(x[place[a]], x[place[b]])]
    ends = 'only a tolerance ends it, such as tolerance=0.05, unit="chance"'
    if not same:
        return f"where arms are nearly equal, {ends}" if far else ""
    first, twins = _partners_of_first(same)
    have = f"{join_names(twins)} {'has' if len(twins) == 1 else 'have'} the same features as {first}"
    return f"{have}, so that votes alone tell them apart: if they are equally good, {ends}"


def _partners_of_first(pairs: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    """Return the first arm of the first pair, with all arms that are paired with it."""
    first = pairs[0][0]
    return first, [other for one, other in pairs if one == first]
