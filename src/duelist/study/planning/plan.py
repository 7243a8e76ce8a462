"""`plan_study`: votes, money, and the chance of a decision, by simulated studies, before the first vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import expit, ndtri

from duelist.core.arrays import Floats, check_integer
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, format_count, format_percent
from duelist.model.stopping import check_delta, utility_tolerance
from duelist.policies.goals import find_goal, policy_for
from duelist.study.analysis.fit.study_fit import fit_votes
from duelist.study.analysis.intervals import binomial_interval
from duelist.study.planning.simulated_study import Design, End, seconds_per_study, simulate_study
from duelist.study.records import counted_votes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from duelist.study.protocol import StudyProtocol

MAX_ITEMS: Final = 500
MAX_BUDGET: Final = 200_000
MAX_RUNS: Final = 2000
_SECONDS: Final = 5.0
"""Without a given number of runs, as many studies are simulated as take about so long."""
FEWEST_RUNS: Final = 20
_MOST_RUNS: Final = 60
_LEVEL: Final = 0.95
TARGET: Final = 0.8
"""The chance of a decision for which `votes_needed` is."""
_NODES: Final = 201
_LEAST_EFFECT: Final = 0.505
_MOST_EFFECT: Final = 0.99


@dataclass(frozen=True, repr=False)
class StudyPlan(TabularResult):
    """What to expect of a study, from simulated studies that end when they can stop or when their votes are used up."""

    goal: str
    items: int
    raters: int
    votes_per_rater: int
    effect: float
    """The share of votes that the better of two items wins, on average over all pairs."""
    budget: int
    """The most votes that the raters can give."""
    ends: tuple[End, ...]
    """How each simulated study ended."""
    pay_per_rater: float = 0.0
    pay_per_vote: float = 0.0

    @property
    def runs(self) -> int:
        """The number of simulated studies."""
        return len(self.ends)

    @property
    def chance_decided(self) -> float:
        """The chance that the study can stop before its votes are used up."""
        return self._share("decided")

    @property
    def chance_right(self) -> float:
        """The chance that the item or the order named at the end is right, whether decided or not."""
        return self._share("right")

    @property
    def chance_wrong(self) -> float:
        """The chance of a decision that is wrong."""
        return sum(end.decided and not end.right for end in self.ends) / self.runs

    @property
    def agreement(self) -> float:
        """The share of pairs of items whose order the study has right at the end, on average."""
        return sum(end.agreement for end in self.ends) / self.runs

    @property
    def votes(self) -> tuple[int, int, int]:
        """Votes until the end: a tenth of studies need fewer than the first number, half the second, and a tenth more than the third."""
        low, middle, high = np.quantile([end.votes for end in self.ends], (0.1, 0.5, 0.9)).round().astype(int)
        return int(low), int(middle), int(high)

    @property
    def votes_needed(self) -> int | None:
        """Votes after which four in five studies are decided; None if more than those of the raters."""
        if self.chance_decided < TARGET:
            return None
        decided = sorted(end.votes for end in self.ends if end.decided)
        return decided[math.ceil(TARGET * self.runs) - 1]

    @property
    def costs(self) -> tuple[float, float, float]:
        """Money until the end: a tenth of studies cost less than the first amount, half the second, and a tenth more than the third."""
        low, middle, high = np.quantile([self._cost(end.votes, end.raters) for end in self.ends], (0.1, 0.5, 0.9))
        return float(low), float(middle), float(high)

    @property
    def most_cost(self) -> float:
        """The money if all raters give all their votes."""
        return self._cost(self.budget, self.raters)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Plot the share of decided studies against the number of votes; with `path`, also write it to a file."""
        from duelist.study.planning.figure import draw_plan

        figure = draw_plan(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def decided_by(self, votes: int, rightly: bool = False) -> float:
        """Return the share of studies decided by this number of votes; with `rightly`, of those whose decision is right."""
        return sum(end.decided and end.votes <= votes and (end.right or not rightly) for end in self.ends) / self.runs

    def interval(self, share: float) -> tuple[float, float]:
        """Return the 95 % interval of a share of the simulated studies."""
        return binomial_interval(round(share * self.runs), self.runs, _LEVEL)

    def _share(self, name: str) -> float:
        return sum(getattr(end, name) for end in self.ends) / self.runs

    def _cost(self, votes: int, raters: int) -> float:
        return votes * self.pay_per_vote + raters * self.pay_per_rater

    def to_dict(self) -> dict[str, Any]:
        """Return the expectations and the curve of decided studies as plain values."""
        spread = ("low", "median", "high")
        curve = [
            {
                "votes": votes,
                "decided": self.decided_by(votes),
                "right": self.decided_by(votes, rightly=True),
                **dict(zip(("low", "high"), self.interval(self.decided_by(votes)), strict=True)),
            }
            for votes in sorted({0, *(end.votes for end in self.ends), self.budget})
        ]
        names = ("runs", "budget", "chance_decided", "chance_right", "chance_wrong", "agreement", "most_cost")
        return {
            **{name: getattr(self, name) for name in names},
            "votes": dict(zip(spread, self.votes, strict=True)),
            "costs": dict(zip(spread, self.costs, strict=True)),
            "votes_needed": self.votes_needed,
            "advice": self.advice,
            "curve": curve,
        }

    @property
    def advice(self) -> str:
        """What to change if a decision is unlikely; empty otherwise."""
        if self.chance_decided >= TARGET:
            return ""
        ways = ["plan more raters or votes per rater", "accept a tolerance", "compare fewer items"]
        if self.goal == "rank":
            ways.insert(1, "rank only the first few places")
        return f"To raise the chance of a decision, {', '.join(ways[:-1])}, or {ways[-1]}."

    def _table(self) -> TableContent:
        def chance(share: float) -> str:
            low, high = self.interval(share)
            return f"{format_percent(share)} [{format_percent(low)}, {format_percent(high)}]"

        low, middle, high = self.votes
        rows = [
            ["chance of a decision", chance(self.chance_decided)],
            *(
                []
                if self.goal == "learn"
                else [[f"chance that the {_result(self.goal)} is right", chance(self.chance_right)]]
            ),
            *([] if self.goal == "learn" else [["chance of a wrong decision", chance(self.chance_wrong)]]),
            ["pairs of items in the right order", format_percent(self.agreement)],
            ["votes: median (10 % to 90 % of studies)", f"{middle:,} ({low:,} to {high:,})"],
            ["votes for a decision in 80 % of studies", "-" if self.votes_needed is None else f"{self.votes_needed:,}"],
        ]
        if self.pay_per_rater or self.pay_per_vote:
            least, usual, most = self.costs
            rows += [
                ["cost: median (10 % to 90 % of studies)", f"{usual:,.2f} ({least:,.2f} to {most:,.2f})"],
                ["cost of all votes", f"{self.most_cost:,.2f}"],
            ]
        title = (
            f"{self.goal}: {format_count(self.items, 'item')}, {format_count(self.raters, 'rater')} with up to "
            f"{format_count(self.votes_per_rater, 'vote')} each; the better of two items wins {format_percent(self.effect)} of the votes"
        )
        notes = [f"{self.runs} simulated studies; intervals are 95 % intervals of the simulation.", self.advice]
        return TableContent(["", "expected"], rows, [note for note in notes if note], title=title)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {name: [getattr(end, name) for end in self.ends] for name in End._fields}


def plan_study(
    items: int | None = None,
    goal: str = "best",
    *,
    raters: int = 20,
    votes_per_rater: int = 50,
    effect: float | None = None,
    pilot: StudyProtocol | None = None,
    top: int | None = None,
    tolerance: float = 0.0,
    unit: str = "utility",
    delta: float = 0.05,
    pay_per_rater: float = 0.0,
    pay_per_vote: float = 0.0,
    repeat_pairs: bool = False,
    runs: int | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
) -> StudyPlan:
    """Return how many votes and how much money a study will need, and its chances of a decision and of the right one.

    Studies are simulated from the first vote to the decision, with the policy
    of the goal and the rule of `can_stop`; ten raters vote at a time. Each
    simulated study draws new utilities of the items, from a normal distribution
    or from what a pilot says. Items have no features: with features that
    explain the votes, fewer votes suffice.

    Parameters
    ----------
    items
        Number of items; default: that of the pilot.
    goal, top, tolerance, unit, delta
        As in `create_study` and `can_stop`.
    raters, votes_per_rater
        Number of raters, and the maximum number of votes per rater.
    effect
        The share of votes that the better of two items wins, on average over
        all pairs: 0.5 if nobody sees a difference, 1 if everyone agrees.
        Default: 0.7.
    pilot
        A study with votes on some of these items or similar ones, from which
        the differences of items are estimated.
    pay_per_rater, pay_per_vote
        Money, in any currency.
    repeat_pairs
        Whether a rater may see a pair again.
    runs, seed
        The number of simulated studies, and the seed of their random numbers.
        Default: as many as take a few seconds.
    max_seconds
        Reject a plan whose simulation would probably take longer, for a server
        on which others wait.
    """
    goal = find_goal(goal).name
    if effect is not None and pilot is not None:
        raise InvalidInput("Both effect and pilot are given.", "Give one of them.", field="effect")
    items, effect, draw = _pilot_utilities(pilot, items) if pilot is not None else _utilities(items, effect)
    design = Design(
        items=items,
        goal=goal,
        raters=check_integer("raters", raters, 1),
        votes_per_rater=check_integer("votes_per_rater", votes_per_rater, 1),
        top=None if top is None else check_integer("top", top, 1),
        tolerance=tolerance,
        unit=unit,
        delta=check_delta(delta),
        repeats=bool(repeat_pairs),
    )
    utility_tolerance(tolerance, unit)
    if top is not None and goal != "rank":
        raise InvalidInput(
            f"top is {top!r}, and the goal is {goal!r}.", "Only the goal 'rank' has places.", field="top"
        )
    if design.budget > MAX_BUDGET:
        raise InvalidInput(
            f"{raters:,} raters with {votes_per_rater:,} votes each are {design.budget:,} votes.",
            f"Plan at most {MAX_BUDGET:,} votes.",
            field="raters",
        )
    for name, value in (("pay_per_rater", pay_per_rater), ("pay_per_vote", pay_per_vote)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < math.inf:
            raise InvalidInput(f"{name} is {value!r}.", "Give an amount of money, or 0.", field=name)
    if runs is None:
        runs = min(max(int(_SECONDS / seconds_per_study(design)), FEWEST_RUNS), _MOST_RUNS)
    if check_integer("runs", runs, 1) > MAX_RUNS:
        raise InvalidInput(f"runs is {runs}.", f"Simulate at most {MAX_RUNS:,} studies.", field="runs")
    if max_seconds is not None and runs * seconds_per_study(design) > max_seconds:
        raise InvalidInput(
            f"Simulating studies of {items} items with {design.budget:,} votes would take minutes.",
            "Plan fewer items or votes, or use `duelist study plan` in the shell.",
            field="raters",
        )
    ends = []
    for sequence in np.random.SeedSequence(check_integer("seed", seed, 0)).spawn(runs):
        rng = np.random.default_rng(sequence)
        policy = policy_for(goal, features=False, top=design.top, random_state=int(rng.integers(2**31)))
        ends.append(simulate_study(design, policy, draw(rng), rng))
    return StudyPlan(
        goal,
        items,
        raters,
        votes_per_rater,
        effect,
        design.budget,
        tuple(ends),
        float(pay_per_rater),
        float(pay_per_vote),
    )


def _utilities(items: int | None, effect: float | None) -> tuple[int, float, Callable[[np.random.Generator], Floats]]:
    """Return the number of items, the effect size, and a function that draws their utilities."""
    if items is None:
        raise InvalidInput("The number of items is missing.", "Give items, or a pilot.", field="items")
    _check_items(items)
    effect = 0.7 if effect is None else effect
    if isinstance(effect, bool) or not isinstance(effect, (int, float)) or not _LEAST_EFFECT <= effect <= _MOST_EFFECT:
        raise InvalidInput(
            f"effect is {effect!r}.", f"Give a share from {_LEAST_EFFECT} to {_MOST_EFFECT}.", field="effect"
        )
    spread = spread_for(effect)
    return items, float(effect), lambda rng: spread * rng.normal(size=items)


def _pilot_utilities(
    pilot: StudyProtocol, items: int | None
) -> tuple[int, float, Callable[[np.random.Generator], Floats]]:
    """Return utilities for the pilot's items, or for similar ones if `items` is another number."""
    arms = [arm.id for arm in pilot.arms() if not arm.retired]
    active = set(arms)
    votes = [vote for vote in counted_votes(pilot.votes()) if vote.first in active and vote.second in active]
    if len(arms) < 2 or not votes:
        raise InvalidInput("The pilot has no votes on active items.", "Give effect instead.", field="pilot")
    posterior = fit_votes(votes, arms, ridge="auto").whole
    effect = min(max(effect_of(posterior.ridge**-0.5), _LEAST_EFFECT), _MOST_EFFECT)
    if items is not None and items != len(arms):
        return _utilities(items, effect)
    sample = posterior.sampler(np.arange(len(arms)))
    return len(arms), effect, lambda rng: np.asarray(sample(rng, 1)[0], np.float64)


def _check_items(items: int) -> None:
    if check_integer("items", items, 2) > MAX_ITEMS:
        raise InvalidInput(f"items is {items}.", f"Plan at most {MAX_ITEMS} items.", field="items")


def effect_of(spread: float) -> float:
    """Return the share of votes that the better of two items wins, if utilities have this standard deviation.

    >>> round(effect_of(0.0), 3), round(effect_of(spread_for(0.75)), 3)
    (0.5, 0.75)
    """
    quantile = ndtri((np.arange(_NODES) + 0.5) / _NODES / 2 + 0.5)  # of the absolute value of a normal variable
    return float(expit(math.sqrt(2.0) * spread * quantile).mean())


def spread_for(effect: float) -> float:
    """Return the standard deviation of utilities with which the better of two items wins this share of the votes."""
    from scipy.optimize import brentq  # slow to import and rarely needed

    return float(brentq(lambda spread: effect_of(spread) - effect, 0.0, 1000.0))


def _result(goal: str) -> str:
    return "order" if goal == "rank" else "item"
