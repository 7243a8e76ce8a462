"""One simulated study: raters with a known preference vote on pairs that the study's policy chooses, until it can stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import Posterior
from duelist.model.stopping import utility_tolerance
from duelist.policies.engine import NativePolicy
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.votes import FIRST, NO_TIME, NORMAL, SECOND, VoteTable
from duelist.study.analysis.goal_stopping import learning_decision, ranking_decision
from duelist.study.analysis.progress import compare_with_leader

AT_ONCE: Final = 10
"""Raters who vote at the same time; the next one begins when one of them has finished."""
CHECKS: Final = 20
"""How often a simulated study is checked until its votes are used up."""

_SECONDS_PER_VOTE: Final = 1e-4
_SECONDS_PER_CHECK: Final = 5e-3


@dataclass(frozen=True, slots=True)
class Design:
    """A study to simulate: its goal, its raters, and when it stops. `top` is the number of places that matter, None for all."""

    items: int
    goal: str
    raters: int
    votes_per_rater: int
    top: int | None
    tolerance: float
    unit: str
    delta: float
    repeats: bool

    @property
    def budget(self) -> int:
        """The most votes that the raters can give."""
        return self.raters * self.most_per_rater

    @property
    def most_per_rater(self) -> int:
        """The most votes that a rater can give."""
        return self.votes_per_rater if self.repeats else min(self.votes_per_rater, self.items * (self.items - 1) // 2)

    @property
    def checks(self) -> Ints:
        """The numbers of votes after which the study is checked."""
        return np.unique(np.linspace(0, self.budget, min(CHECKS, self.budget) + 1).round().astype(np.int64))[1:]


def seconds_per_study(design: Design) -> float:
    """Estimate how long the simulation of one study takes, from times measured on one core."""
    vote = _SECONDS_PER_VOTE * (1.0 + (design.items**2 / 350.0 if design.goal == "rank" else design.items / 60.0))
    check = _SECONDS_PER_CHECK * (1.0 + design.items / 60.0) * (11.0 if design.goal == "learn" else 1.0)
    return design.budget * vote + len(design.checks) * check


class End(NamedTuple):
    """How a simulated study ended: its votes, the raters who voted, and whether it was decided, and rightly so.

    `right` is about the item or order that it names at the end, decided or not. `agreement` is the share of all pairs whose order its
    estimates have right.
    """

    votes: int
    raters: int
    decided: bool
    right: bool
    agreement: float


def simulate_study(design: Design, policy: NativePolicy, utility: Floats, rng: np.random.Generator) -> End:
    """Let raters vote on pairs of items with these utilities until the study can stop or their votes are used up."""
    votes = _Votes(design, policy, utility, rng)
    start: Posterior | None = None
    decided, right, agreement, end = False, False, 0.5, 0
    for check in design.checks:
        votes.collect(int(check))
        fit = fit_votes(votes.table(), votes.ids, start=start)
        start, end = fit.whole, len(votes.outcomes)
        decided = _is_decided(design, fit)
        if decided or end < check or check == design.budget:
            right, agreement = _is_right(design, fit, utility), _agreement(fit.posterior.mean, utility)
            break
    return End(end, votes.begun, decided, right, agreement)


class _Votes:
    """The votes of a simulated study, as they come in."""

    def __init__(self, design: Design, policy: NativePolicy, utility: Floats, rng: np.random.Generator) -> None:
        self._design, self._policy, self._utility, self._rng = design, policy, utility, rng
        self._arms = ArmTable(design.items)
        self.ids = [str(k) for k in range(design.items)]
        self.pairs: list[tuple[int, int]] = []
        self.outcomes: list[int] = []
        self._raters: list[int] = []
        self._answered: dict[int, list[tuple[int, int]]] = {}
        self.begun = 0
        self._next_raters()

    def _next_raters(self) -> None:
        while len(self._answered) < AT_ONCE and self.begun < self._design.raters:
            self._answered[self.begun] = []
            self.begun += 1

    def collect(self, until: int) -> None:
        """Ask for votes until there are `until`; stop early if no rater is left."""
        while len(self.outcomes) < until and self._answered:
            raters = list(self._answered)
            rater = raters[int(self._rng.integers(len(raters)))]
            seen = self._answered[rater]
            first, second = duel = self._policy.ask(
                self._arms, distinct=True, exclude=() if self._design.repeats else seen
            )
            shown = (first, second) if self._rng.random() < 0.5 else (second, first)
            wins = self._rng.random() < 1.0 / (1.0 + np.exp(self._utility[shown[1]] - self._utility[shown[0]]))
            self._policy.tell(duel, float(wins == (shown[0] == first)))
            self.pairs.append(shown)
            self.outcomes.append(FIRST if wins else SECOND)
            self._raters.append(rater)
            seen.append(shown)
            if len(seen) == self._design.most_per_rater:
                del self._answered[rater]
                self._next_raters()

    def table(self) -> VoteTable:
        """Return the votes as analyses read them."""
        n, pairs = len(self.outcomes), np.array(self.pairs, np.int64).reshape(-1, 2)
        constant: dict[str, Any] = {
            "context": np.zeros(n, np.int32),
            "voted_at": np.full(n, NO_TIME),
            "seconds": np.full(n, np.nan),
            "chosen_by": np.zeros(n, np.int8),
            "propensity": np.full(n, np.nan),
            "kind": np.full(n, NORMAL, np.int8),
            "expected": np.full(n, -1, np.int8),
        }
        return VoteTable(
            n_arms=self._design.items,
            raters=tuple(str(k) for k in range(self.begun)),
            first=pairs[:, 0],
            second=pairs[:, 1],
            outcome=np.array(self.outcomes, np.int8),
            rater=np.array(self._raters, np.int32),
            duel=np.arange(1, n + 1),
            **constant,
        )


def _is_decided(design: Design, fit: StudyFit) -> bool:
    """Whether the study can stop, by the rule of `Study.can_stop`."""
    if design.goal == "learn":
        return learning_decision(fit.log, None).done
    if design.goal == "rank":
        return ranking_decision(fit, design.top, design.delta, design.tolerance, design.unit).done
    within = utility_tolerance(design.tolerance, design.unit)
    return int(compare_with_leader(fit, design.delta, within).possible.sum()) == 1


def _is_right(design: Design, fit: StudyFit, utility: Floats) -> bool:
    """Whether the item or the order that the study names is right, to within its tolerance."""
    within = utility_tolerance(design.tolerance, design.unit)
    order = np.argsort(-fit.posterior.mean, kind="stable")
    top = 1 if design.goal != "rank" else min(design.top or design.items, design.items - 1)
    ordered = utility[order]
    best_after = np.maximum.accumulate(ordered[::-1])[::-1]
    compared = ordered[1 : top + 1].copy()
    compared[-1] = best_after[top]
    return bool((ordered[:top] >= compared - within).all())


def _agreement(estimated: Floats, utility: Floats) -> float:
    """Return the share of pairs of items that are ordered by the estimates as by their utilities; ties count half."""
    one, other = np.triu_indices(len(utility), 1)
    return float((np.sign(estimated[one] - estimated[other]) * np.sign(utility[one] - utility[other]) + 1.0).mean() / 2)
