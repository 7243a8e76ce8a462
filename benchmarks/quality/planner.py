"""Compare the forecasts of `plan_study` with what then happens in simulated studies.

The studies are real ones, `create_study` with `ask`, `tell` and `can_stop`, in memory. Their items have new utilities of the same
distribution; the forecasts were made before, with other random numbers.

    python -m benchmarks.quality.planner --studies 200 --write planner.json --page docs/evidence/planner.md
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import expit

import duelist as dl
from benchmarks import DOCS
from duelist.core.arrays import Floats
from duelist.core.errors import NoPairsLeft
from duelist.core.figures import new_figure
from duelist.model.stopping import utility_tolerance
from duelist.research.origin import origin, stored_origin, with_origin
from duelist.study import Study
from duelist.study.analysis.intervals import binomial_interval
from duelist.study.planning.plan import StudyPlan, spread_for
from duelist.study.planning.simulated_study import AT_ONCE, Design

RUNS: Final = 250
"""Simulated studies of a forecast."""
SHARES: Final = (0.25, 0.5, 0.75, 1.0)
"""Shares of all votes at which the decisions are compared."""
PICTURE: Final = DOCS / "planner.png"


class Case(NamedTuple):
    """A study that is planned and then carried out."""

    items: int
    goal: str
    raters: int
    votes_per_rater: int
    effect: float
    tolerance: float
    top: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `plan_study`."""
        return {**self._asdict(), "unit": "chance"}

    @property
    def design(self) -> Design:
        """The same as simulations have it."""
        size = (self.items, self.goal, self.raters, self.votes_per_rater, self.top)
        return Design(*size, self.tolerance, "chance", delta=0.05, repeats=False)

    def __str__(self) -> str:
        goal = self.goal if self.top is None else f"{self.goal} {self.top}"
        within = f", tolerance {100 * self.tolerance:g} points" if self.tolerance else ""
        return (
            f"{goal}, {self.items} items, {self.raters} raters × {self.votes_per_rater}, effect {self.effect:g}{within}"
        )


CASES: Final = (
    Case(6, "best", 20, 12, 0.8, 0.05),
    Case(10, "best", 30, 15, 0.85, 0.1),
    Case(8, "best", 5, 28, 0.85, 0.05),
    Case(5, "rank", 30, 10, 0.85, 0.05, 2),
)


class Finished(NamedTuple):
    """A study that was carried out: votes until it was decided or they were used up, whether it was, and rightly so."""

    votes: int
    decided: bool
    right: bool


def carry_out(case: Case, number: int) -> Finished:
    """Collect votes until the study can stop or all raters have finished."""
    rng = np.random.default_rng([number, case.items, case.raters])
    utility = spread_for(case.effect) * rng.normal(size=case.items)
    study = dl.create_study(f"study {number}", storage="memory", goal=case.goal, seed=number, top=case.top)
    study.add_arms([f"{k}" for k in range(case.items)])
    study.limit(per_rater=case.votes_per_rater)
    checks = set(case.design.checks.tolist())
    waiting = [f"rater {k}" for k in range(case.raters)]
    present, votes = [waiting.pop(0) for _ in range(min(AT_ONCE, case.raters))], 0
    while present:
        rater = present[int(rng.integers(len(present)))]
        try:
            duel = study.ask(rater)
        except (NoPairsLeft, dl.errors.LimitReached):
            present.remove(rater)
            present += waiting[:1]
            del waiting[:1]
            continue
        wins = rng.random() < expit(utility[int(duel.first.id)] - utility[int(duel.second.id)])
        study.tell(duel, "first" if wins else "second", rater)
        votes += 1
        if votes in checks and study.can_stop(tolerance=case.tolerance, unit="chance"):
            return Finished(votes, True, _is_right(case, study, utility))
    return Finished(votes, False, _is_right(case, study, utility))


def _is_right(case: Case, study: Study, utility: Floats) -> bool:
    """Whether each named place is held by an item that is better than all below it, to within the tolerance."""
    within = utility_tolerance(case.tolerance, "chance")
    ordered = [float(utility[int(row.arm)]) for row in study.leaderboard().standings]
    return all(ordered[k] >= max(ordered[k + 1 :]) - within for k in range(case.top or 1))


def measure(studies: int) -> list[dict[str, Any]]:
    """Plan each case and carry out its share of the studies."""
    found = []
    for case in CASES:
        started_at = time.process_time()
        plan = dl.plan_study(**case.options, runs=RUNS, seed=1)
        seconds = time.process_time() - started_at
        done = [carry_out(case, number) for number in range(studies // len(CASES))]
        found.append({"forecast": forecast(plan), "seconds": seconds, "studies": [each._asdict() for each in done]})
        print(f"{case}: {plan.chance_decided:.2f}, {np.mean([each.decided for each in done]):.2f}", flush=True)
    return found


def forecast(plan: StudyPlan) -> dict[str, Any]:
    """Return what the page needs of a plan."""
    curve = [[share, plan.decided_by(round(share * plan.budget))] for share in SHARES]
    return {"curve": curve, "right": plan.chance_right, "votes": plan.votes, "budget": plan.budget, "runs": plan.runs}


def compared(cells: list[dict[str, Any]]) -> list[tuple[int, float, int, int]]:
    """Return the case, the forecast share decided, the studies decided and all studies, at each share of the votes."""
    rows = []
    for number, cell in enumerate(cells):
        for share, expected in cell["forecast"]["curve"]:
            limit = round(share * cell["forecast"]["budget"])
            decided = sum(each["decided"] and each["votes"] <= limit for each in cell["studies"])
            rows.append((number, expected, decided, len(cell["studies"])))
    return rows


def draw(cells: list[dict[str, Any]], path: Path) -> None:
    """Draw the observed share of decided studies against the forecast."""
    figure = new_figure(6.4, 5.2)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#8a8a8a", linewidth=1, linestyle="--")
    colors = ("#1f5fa8", "#d1730f", "#2f7d32", "#8a3ab9")
    for number, expected, decided, n in compared(cells):
        low, high = binomial_interval(decided, n, 0.95)
        share = decided / n
        shift = 0.006 * (number - 1.5)
        axes.errorbar(
            expected + shift, share, yerr=[[share - low], [high - share]], fmt="o", color=colors[number], markersize=5
        )
    for number, case in enumerate(CASES):
        axes.plot([], [], "o", color=colors[number], label=str(case))
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="forecast share of studies decided", ylabel="observed")
    axes.legend(frameon=False, fontsize=7, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def page(stored: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    rows = []
    for case, cell in zip(CASES, stored["cells"], strict=True):
        expected, done = cell["forecast"], cell["studies"]
        decided, right = (sum(each[name] for each in done) for name in ("decided", "right"))
        median = int(np.median([each["votes"] for each in done]))
        rows.append(
            f"| {case} | {_forecast(expected, expected['curve'][-1][1])} | {_share(decided, len(done))} "
            f"| {_forecast(expected, expected['right'])} "
            f"| {_share(right, len(done))} | {expected['votes'][1]:,} | {median:,} | {cell['seconds']:.0f} s |"
        )
    points = compared(stored["cells"])
    inside = 0
    for _, expected, decided, n in points:
        low, high = binomial_interval(decided, n, 0.95)
        inside += low <= expected <= high
    total = sum(len(cell["studies"]) for cell in stored["cells"])
    heads = (
        "study",
        "decided: forecast",
        "observed",
        "right at the end: forecast",
        "observed",
        "votes, median: forecast",
    )
    text = f"""# Forecasts of the planner

`plan_study` forecasts a study from {RUNS} simulated ones. Here {total} further studies were carried out in memory, with
`create_study`, `ask`, `tell` and `can_stop`, by raters whose preferences follow the model: the answers are coin flips with
the odds of the utilities, which are new in every study. Brackets are 95 % intervals: forecasts are shares of simulated
studies, too.

![Observed against forecast share of decided studies](planner.png)

Each point is the share of studies decided after {", ".join(f"{share:.0%}" for share in SHARES)} of the votes.
{inside} of {len(points)} intervals contain the forecast.

| {" | ".join(heads)} | observed | processor time of the forecast |
|---|--:|--:|--:|--:|--:|--:|--:|
{chr(10).join(rows)}

The forecast can be wrong where its assumptions are: raters who answer at random or by side, differences of items that are not
normally distributed, and ties. A pilot replaces the assumed differences.
"""
    return with_origin(text, "make bench-planner", origin(stored))


def _forecast(cell: dict[str, Any], share: float) -> str:
    return _share(round(share * cell["runs"]), cell["runs"])


def _share(count: int, n: int) -> str:
    low, high = binomial_interval(count, n, 0.95)
    return f"{count / n:.0%} [{low:.0%}, {high:.0%}]"


def main() -> None:
    """Measure or read, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    stored = {} if options.read is None else json.loads(options.read.read_text())
    if options.read is None:
        stored = {"cells": measure(options.studies), **stored_origin()}
    if options.write is not None:
        options.write.write_text(json.dumps(stored))
    if options.page is not None:
        draw(stored["cells"], PICTURE)
        options.page.write_text(page(stored))


if __name__ == "__main__":
    main()
