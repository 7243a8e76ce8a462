"""`make bench-cited`: evaluate every policy that takes features, for each of the four goals.

All policies play on the same worlds with the same random numbers. For "serve" a policy plays its published rule, where an arm may meet
itself, and its regret counts. For the other goals it asks about two different arms; then one estimator fits the votes of all policies,
names the best arm, orders the arms and predicts votes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.special import expit, xlogy
from scipy.stats import kendalltau

import duelist as dl
from benchmarks import DOCS
from duelist.research.origin import with_origin
from duelist.simulation.environments import Environment, Hypercube, RawFeatures, World
from duelist.simulation.evaluation import wilson

PAGE = DOCS / "cited.md"
VOTES = 1000
LOOKS = (100, 300, 1000)
SLOW = {"FGTS": 3}
"""Policies in plain Python play only every n-th run."""
POLICIES: dict[str, Callable[..., Any]] = {
    "LocalPairUCB": dl.LocalPairUCB,
    "BestArmPair": dl.BestArmPair,
    "RankingPair": dl.RankingPair,
    "RewardDesign": dl.RewardDesign,
    "UniformPair": dl.UniformPair,
    "ThompsonPair": dl.ThompsonPair,
    "MaxPairUCB": dl.MaxPairUCB,
    "VACDB": dl.VACDB,
    "MaxInP": dl.MaxInP,
    "CoLSTIM": dl.CoLSTIM,
    "StaD": dl.StaD,
    "SupCoLSTIM": dl.SupCoLSTIM,
    "RCDB": dl.RCDB,
    "MaxMinLCB": dl.MaxMinLCB,
    "FGTS": dl.FGTS,
    "DRTS": dl.DRTS,
    "DeltaUCB": dl.DeltaUCB,
    "InfoMax": dl.InfoMax,
    "DesignPair, D": dl.DesignPair,
    "DesignPair, A": partial(dl.DesignPair, criterion="A"),
    "APO": dl.APO,
}


INTRODUCTION = f"""# Every policy for four goals

{VOTES:,} votes, logistic; every policy with its defaults, in the same worlds with
the same luck (FGTS, which is slow, in every third); mean and 95 % interval over the runs. *serve*: cumulative average regret of the
published rule, where an arm may meet itself. The other goals ask about two different arms, and one estimator fits the votes of all
policies alike. Excess log-loss is over all pairs of arms on the table. The first four are those that `policy_for` recommends.

![the result of each policy for each goal, one mark per problem](cited.png)
"""


class Gaussian(Environment):
    """30 arms with 10 features, and a direction of length 2."""

    dim = 10
    link = dl.get_link("logistic")

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = rng.standard_normal((30, 10)), rng.standard_normal(10)
        return World(2.0 * theta / np.linalg.norm(theta), arms)


PROBLEMS: dict[str, Environment] = {
    "hypercube, 32 arms, dim 5": Hypercube(dim=5),
    "Gaussian, 30 arms, dim 10": Gaussian(),
    "mixed units, 10 arms, dim 3": RawFeatures("mixed units"),
    "correlated, 32 arms, dim 8": RawFeatures("correlated"),
}


def world_of(environment: Environment, run: int) -> tuple[np.ndarray, np.ndarray]:
    world = environment.draw_world(np.random.default_rng([run, 42]))
    arms = np.asarray(world.arms)
    return arms, arms @ world.theta if world.utilities is None else world.utilities


def evaluate_votes(
    arms: np.ndarray, utilities: np.ndarray, differences: list[np.ndarray], outcomes: list[float]
) -> list[float]:
    """Whether the best arm is named; Kendall's tau; the excess log-loss of votes on random pairs of arms."""
    ridge = np.where(arms.var(axis=0) > 0.0, arms.var(axis=0), 1.0)
    seen = arms @ dl.fit_mle(np.array(differences), outcomes, ridge=ridge).theta
    first, second = np.triu_indices(len(arms), 1)
    truth, said = expit(utilities[first] - utilities[second]), expit(seen[first] - seen[second])
    excess = xlogy(truth, truth / said) + xlogy(1.0 - truth, (1.0 - truth) / (1.0 - said))
    return [
        float(np.argmax(seen) == np.argmax(utilities)),
        float(kendalltau(seen, utilities).statistic),
        float(excess.mean()),
    ]


def play(title: str, name: str, run: int) -> list[float]:
    """Regret of the published rule; then for each look of votes on different arms, what `evaluate_votes` says."""
    arms, utilities = world_of(PROBLEMS[title], run)
    make = partial(POLICIES[name], horizon=VOTES, random_state=run)
    regret = 0.0
    for duel, _ in voted(make(), arms, utilities, run, distinct=False):
        regret += utilities.max() - 0.5 * (utilities[duel.first] + utilities[duel.second])
    found, differences, outcomes = [regret], [], []
    for duel, outcome in voted(make(), arms, utilities, run, distinct=True):
        differences.append(arms[duel.first] - arms[duel.second])
        outcomes.append(outcome)
        if len(outcomes) in LOOKS:
            found += evaluate_votes(arms, utilities, differences, outcomes)
    return found


def voted(
    policy: Any, arms: np.ndarray, utilities: np.ndarray, run: int, *, distinct: bool
) -> Iterator[tuple[dl.Duel, float]]:
    luck = np.random.default_rng([run, 43]).random(VOTES)
    for t in range(VOTES):
        duel = policy.ask(arms, distinct=distinct)
        outcome = float(luck[t] < expit(utilities[duel.first] - utilities[duel.second]))
        policy.tell(duel, outcome)
        yield duel, outcome


def interval(values: np.ndarray, digits: int) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {half:.{digits}f}"


def share(found: np.ndarray) -> str:
    """A share of runs with its interval by Wilson, which also says something where all or none were right."""
    low, high = wilson(float(found.sum()), len(found), 0.95)
    return f"{found.mean():.2f} ({low:.2f} to {high:.2f})"


Found = dict[str, np.ndarray]
"""For each policy, a row of numbers of `play` for each run."""


def table(title: str, runs: int, pool: ProcessPoolExecutor, found: Found) -> Iterator[str]:
    """Every policy on a problem; what they did goes into `found`."""
    yield f"## {title}"
    yield ""
    after = "after " + " / ".join(f"{look:,}" for look in LOOKS)
    heads = (
        "serve: regret",
        f"best: named right {after}",
        f"rank: tau {after}",
        f"learn: excess log-loss x 1000 {after}",
    )
    yield f"| policy | runs | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|"
    for name in POLICIES:
        chosen = range(0, runs, SLOW.get(name, 1))
        rows = found[name] = np.array(list(pool.map(partial(play, title, name), chosen)))
        right, tau, loss = (rows[:, 1 + k :: 3].T for k in range(3))
        cells = [
            interval(rows[:, 0], 0),
            " / ".join(share(each) for each in right),
            " / ".join(interval(each, 2) for each in tau),
            " / ".join(interval(1000.0 * each, 1) for each in loss),
        ]
        yield f"| {name} | {len(chosen)} | " + " | ".join(cells) + " |"
    yield ""


# Which number of `play` is drawn, under which heading, and whether on a scale of factors.
PANELS = (
    (0, f"serve: regret over {VOTES:,} rounds\n(less is better)", True),
    (4, "best: named right after 300 votes\n(more is better)", False),
    (5, "rank: Kendall's tau after 300 votes\n(more is better)", False),
    (6, "learn: excess log-loss after 300 votes\n(less is better)", True),
)


def draw(found: dict[str, Found], path: Path) -> None:
    """Draw one panel per goal, one line per policy and one mark per problem."""
    names = list(POLICIES)
    figure = Figure(figsize=(15, 0.32 * len(names) + 2.2), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for axis, (number, heading, factors) in zip(axes, PANELS, strict=True):
        for marker, (title, rows) in zip("osD^", found.items(), strict=True):
            means = [rows[name][:, number].mean() for name in names]
            axis.plot(means, range(len(names)), marker, alpha=0.75, markersize=6, label=title)
        axis.axhspan(-0.5, 3.5, color="0.93", zorder=0)
        axis.set_title(heading, fontsize=10)
        if factors:
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(found), frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=96)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    began = time.perf_counter()
    lines = [*INTRODUCTION.splitlines(), ""]
    found: dict[str, Found] = {title: {} for title in PROBLEMS}
    with ProcessPoolExecutor(given.processes) as pool:
        for title in PROBLEMS:
            for line in table(title, given.runs, pool, found[title]):
                print(line, flush=True)
                lines.append(line)
    draw(found, given.page.with_suffix(".png"))
    lines.append(f"({time.perf_counter() - began:,.0f} s)")
    given.page.write_text(with_origin("\n".join(lines) + "\n", "make bench-cited"))


if __name__ == "__main__":
    main()
