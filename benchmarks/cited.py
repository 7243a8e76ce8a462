"""`make cited`: what the policies that people look for by name are good at, and what not. Written to docs/cited.md.

Each is judged at four jobs on the same worlds and the same luck. For "serve" it plays its published rule, where an arm may meet itself, and
its regret counts. For the others it asks about two different arms; then one and the same estimator reads all votes, and names the best arm,
orders the arms and predicts votes.
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
from scipy.special import expit, xlogy
from scipy.stats import kendalltau

import duelist as dl
from duelist.environments import Environment, Hypercube, RawFeatures, World

PAGE = Path(__file__).parents[1] / "docs" / "cited.md"
VOTES = 1000
LOOKS = (100, 300, 1000)
SLOW = {"FGTS": 3}
"""Policies in plain Python are played in one run of so many."""
POLICIES: dict[str, Callable[..., Any]] = {
    "LocalPairUCB": dl.LocalPairUCB,
    "BestArmPair": dl.BestArmPair,
    "ThompsonPair": dl.ThompsonPair,
    "UniformPair": dl.UniformPair,
    "MaxMinLCB": dl.MaxMinLCB,
    "FGTS": dl.FGTS,
    "DRTS": dl.DRTS,
    "DeltaUCB": dl.DeltaUCB,
    "InfoMax": dl.InfoMax,
    "DesignPair, D": dl.DesignPair,
    "DesignPair, A": partial(dl.DesignPair, criterion="A"),
    "APO": dl.APO,
}


INTRODUCTION = f"""# Algorithms by name, at four jobs

Made by `make cited` with duelist {dl.__version__}. {VOTES:,} votes, logistic; every policy with its defaults, in the same worlds with
the same luck (FGTS, which is slow, in every third); mean and 95 % interval over the runs. *serve*: cumulative average regret of the
published rule, where an arm may meet itself. The other jobs ask about two different arms, and one estimator reads the votes of all
policies alike. Excess log-loss is over all pairs of arms on the table.
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


def judged(
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
    """Regret of the published rule; then for each look of votes on different arms, what `judged` says."""
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
            found += judged(arms, utilities, differences, outcomes)
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
    n, p, z = len(found), float(found.mean()), 1.96
    middle, half = (
        (p + z**2 / (2 * n)) / (1 + z**2 / n),
        z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n),
    )
    return f"{p:.2f} ({middle - half:.2f} to {middle + half:.2f})"


def table(title: str, runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
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
        rows = np.array(list(pool.map(partial(play, title, name), chosen)))
        right, tau, loss = (rows[:, 1 + k :: 3].T for k in range(3))
        cells = [
            interval(rows[:, 0], 0),
            " / ".join(share(found) for found in right),
            " / ".join(interval(found, 2) for found in tau),
            " / ".join(interval(1000.0 * found, 1) for found in loss),
        ]
        yield f"| {name} | {len(chosen)} | " + " | ".join(cells) + " |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    began = time.perf_counter()
    lines = [*INTRODUCTION.splitlines(), ""]
    with ProcessPoolExecutor(given.processes) as pool:
        for title in PROBLEMS:
            for line in table(title, given.runs, pool):
                print(line, flush=True)
                lines.append(line)
    lines.append(f"({time.perf_counter() - began:,.0f} s)")
    given.page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
