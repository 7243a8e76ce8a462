"""The frontier: every policy on a grid of problems, with one setting each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.figures import PALETTE, new_figure
from duelist.policies import VACDB, Policy, builtin_policy
from duelist.research.datasets import load_eventtime, load_photos
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.findings import Findings
from duelist.research.experiments.tuning import TUNING_SEED, tune
from duelist.research.paper import frontier_claims
from duelist.research.paper.figure_1b import SCALES
from duelist.research.paper.fitted_models import event_world, fit_utilities, photo_worlds
from duelist.research.paper.frontier_claims import FLIPPED, PROSE, SEED, TUNED, Panels
from duelist.research.paper.problems import ALL_POLICIES, DIM, HORIZON, RUNS
from duelist.simulation.environments import (
    DelayedVotes,
    Environment,
    FixedArms,
    FlippedVotes,
    Hypercube,
    LateArms,
    RandomArms,
    RawFeatures,
)
from duelist.simulation.environments.raw_features import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "frontier"
OTHER_RUNS: Final = 48
LONG: Final = 2000
SHORT: Final = 1000
TUNING_RUNS: Final = 8
NEW: Final = ("LocalPairUCB", "ThompsonPair", "RCDB", "BestArmPair")
FROM_ABOVE: Final = "VACDB from layer 0"
CITED: Final = ("MaxMinLCB", "DRTS", "DeltaUCB", "InfoMax", "DesignPair", "APO")
"""Policies by others since; most are not designed for low regret and no claim is about them, so fewer runs suffice."""
FOR_OTHER_JOBS: Final = ("RankingPair", "RewardDesign")
"""Our policies for ranking and for learning, for which the same holds."""
FEW_RUNS: Final = 24
PLAYED: Final = (*NEW, *ALL_POLICIES, "GreedyChallenger", "UniformPair", *CITED, *FOR_OTHER_JOBS)


@dataclass(frozen=True)
class FrontierProblem:
    """An environment, its horizon and number of runs; every policy gets `settings`."""

    environment: Environment
    horizon: int
    runs: int
    settings: Mapping[str, Any]


def problems() -> dict[str, FrontierProblem]:
    """Return the grid of problems."""
    grid = {f"scale {s:g}": FrontierProblem(Hypercube(dim=DIM, scale=s), HORIZON, RUNS, {}) for s in SCALES}
    rng = np.random.default_rng(SEED)
    for dim in (20, 50):
        arms = rng.standard_normal((32, dim)) / np.sqrt(dim) * np.sqrt(DIM)
        grid[f"dim {dim}"] = FrontierProblem(FixedArms(arms, scale=2.0), LONG, OTHER_RUNS, {})
    for dim in (5, 20):
        changing = RandomArms(dim=dim, n_arms=32)
        grid[f"changing arms, dim {dim}"] = FrontierProblem(changing, SHORT, OTHER_RUNS, {"estimator": "online"})
    for link in ("probit", "exponential"):
        grid[f"{link} link"] = FrontierProblem(Hypercube(dim=DIM, link=link), LONG, OTHER_RUNS, {"link": link})
        grid[f"{link} votes, logistic policy"] = FrontierProblem(Hypercube(dim=DIM, link=link), LONG, OTHER_RUNS, {})
    grid["events"] = FrontierProblem(event_world(fit_utilities(load_eventtime().counts)), LONG, OTHER_RUNS, {})
    simulated, replayed = photo_worlds(load_photos())
    grid["photos, fitted model"] = FrontierProblem(simulated, SHORT, OTHER_RUNS, {})
    grid["photos, real votes"] = FrontierProblem(replayed, SHORT, OTHER_RUNS, {})
    cube = Hypercube(dim=DIM)
    grid["first 10 % of votes flipped"] = FrontierProblem(
        FlippedVotes(cube, first=int(FLIPPED * LONG)), LONG, OTHER_RUNS, {}
    )
    grid |= {kind: FrontierProblem(RawFeatures(kind), LONG, OTHER_RUNS, {}) for kind in KINDS}
    grid["votes 50 rounds late"] = FrontierProblem(DelayedVotes(cube, delay=50), LONG, OTHER_RUNS, {})
    grid["late arms"] = FrontierProblem(LateArms(RawFeatures("mixed units"), every=100), LONG, OTHER_RUNS, {})
    grid["10 % of votes flipped"] = FrontierProblem(FlippedVotes(cube, share=FLIPPED), LONG, OTHER_RUNS, {})
    return grid


def run(lab: Lab) -> Findings:
    """Play all policies with their defaults and the paper's tuned once, and check the claims about the new ones."""
    outcome = Findings(NAME, PROSE("title"), PROSE("summary"))
    worlds = [Hypercube(dim=DIM, scale=s) for s in SCALES]
    tuned = {
        name: tune(lab, name, list(worlds), HORIZON, first_runs=TUNING_RUNS, label=f"{name}, frontier").make
        for name in ALL_POLICIES
    }
    grid = problems()
    results: dict[str, dict[str, Result]] = {}
    for title, problem in grid.items():
        policies: dict[str, Policy] = {
            name: builtin_policy(name, horizon=problem.horizon, **problem.settings) for name in PLAYED
        }
        policies[FROM_ABOVE] = VACDB(horizon=problem.horizon, first_layer=0, **problem.settings)
        policies |= {f"{n}{TUNED}": make(problem.horizon, **problem.settings) for n, make in tuned.items()}
        cells = [
            Cell(policy, problem.environment, problem.horizon, _runs(name, problem), SEED)
            for name, policy in policies.items()
        ]
        results[title] = dict(zip(policies, lab.run(f"frontier: {title}", cells), strict=True))
    outcome.add_table("relative", "mean regret divided by that of the best", *_relative(results))
    outcome.add_table("regret", "mean average regret, and the worst run over the median", *_absolute(results, grid))
    outcome.claims += frontier_claims.claims(lab, results, tuned, outcome)
    outcome.add_figure("relative", draw(_relative(results)[1]), PROSE("caption"))
    outcome.settings = {
        "seed": SEED,
        "tuning seed": TUNING_SEED,
        "runs": RUNS,
        "runs elsewhere": OTHER_RUNS,
        "runs of cited policies, and of those for other goals": FEW_RUNS,
    }
    return outcome


def _runs(name: str, problem: FrontierProblem) -> int:
    return min(problem.runs, FEW_RUNS) if name in (*CITED, *FOR_OTHER_JOBS) else problem.runs


# -- tables ------------------------------------------------------------------------------


def _means(results: Panels) -> Floats:
    return np.array([[r.final.mean() for r in panel.values()] for panel in results.values()])


def _relative(results: Panels) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    means = _means(results)
    share = means / means.min(axis=1, keepdims=True)
    names = list(next(iter(results.values())))
    order = np.argsort(np.log(share).mean(axis=0))
    columns = ("policy", "geometric mean", "worst", *results)
    rows = [
        (names[k], *(round(float(x), 2) for x in (np.exp(np.log(share[:, k]).mean()), share[:, k].max(), *share[:, k])))
        for k in order
    ]
    return columns, rows


def _absolute(results: Panels, grid: Mapping[str, FrontierProblem]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    rows = []
    for title, panel in results.items():
        for name, result in panel.items():
            final = result.final
            worst = float(final.max() / max(np.median(final), 1e-12))
            numbers = (
                round(float(x), 2) for x in (final.mean(), final.std(ddof=1), np.median(final), final.max(), worst)
            )
            rows.append((title, grid[title].horizon, len(final), name, *numbers))
    return ("problem", "rounds", "runs", "policy", "mean", "sd", "median", "worst", "worst / median"), rows


def draw(rows: Sequence[tuple[Any, ...]]) -> Figure:
    """Return a chart of the table "relative": per policy a dot for each problem, and a bar at the geometric mean."""
    figure = new_figure(8, 0.24 * len(rows) + 0.9)
    ax = figure.subplots()
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        shares = row[3:]
        ax.plot(shares, [place] * len(shares), "o", color=PALETTE[0], alpha=0.35, markersize=5, markeredgewidth=0)
    ax.plot([row[1] for row in rows], places, "|", color=PALETTE[1], markersize=11, markeredgewidth=2.5)
    ax.set_yticks(places, [row[0] for row in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xscale("log", base=2)
    ax.set_xlim(0.93, None)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("mean regret divided by that of the best policy on the problem")
    ax.set_title("Dot: a problem. Bar: geometric mean over all problems.", loc="left", fontsize=9)
    ax.grid(axis="x", alpha=0.3)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure
