"""The frontier: every policy on a grid of problems, with one setting each. Which one should a user take?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from duelist.datasets import load_eventtime, load_photos
from duelist.environments import Environment, FixedArms, FlippedVotes, Hypercube, RandomArms
from duelist.experiments.catalog.figure_1b import SCALES
from duelist.experiments.catalog.figure_2 import event_world, fit_utilities, photo_worlds
from duelist.experiments.lab import Cell, Lab, Result
from duelist.experiments.outcome import BEYOND, DOES_NOT_HOLD, HOLDS, Claim, Outcome
from duelist.experiments.problems import ALL_POLICIES, DIM, HORIZON, RUNS
from duelist.experiments.stopping import Race, race
from duelist.experiments.tuning import TUNING_SEED, tune
from duelist.links import get_link
from duelist.policies import RCDB, CompiledPolicy, LocalPairUCB, MaxPairUCB, ThompsonPair, UniformPair, make_policy
from duelist.radius import log_loss

Floats = NDArray[np.float64]

NAME: Final = "frontier"
SEED: Final = 4_000_037
"""Used by no tuning."""
OTHER_RUNS: Final = 48
LONG: Final = 2000
SHORT: Final = 1000
TUNING_RUNS: Final = 8
NEW: Final = ("LocalPairUCB", "ThompsonPair", "RCDB")
PLAYED: Final = (*NEW, *ALL_POLICIES, "GreedyChallenger", "UniformPair")
WANTED: Final = {0.5: 0.75, 1.0: 0.75, 2.0: 1.0, 4.0: 1.0}
"""The share of the best tuned policy's regret that one default setting should stay under, at each scale of theta*."""
TAIL: Final = 5.0
FLIPPED: Final = 0.1
DELTA: Final = 0.05
COVERAGE_RUNS: Final = 200
COVERAGE_ROUNDS: Final = 1000
STOP_RUNS: Final = 1000
RESAMPLES: Final = 2000


class Problem(NamedTuple):
    """What is played, for how long and how often; `settings` go to every policy."""

    environment: Environment
    horizon: int
    runs: int
    settings: Mapping[str, Any]


def problems() -> dict[str, Problem]:
    """The grid."""
    grid = {f"scale {s:g}": Problem(Hypercube(dim=DIM, scale=s), HORIZON, RUNS, {}) for s in SCALES}
    rng = np.random.default_rng(SEED)
    for dim in (20, 50):
        arms = rng.standard_normal((32, dim)) / np.sqrt(dim) * np.sqrt(DIM)
        grid[f"dim {dim}"] = Problem(FixedArms(arms, scale=2.0), LONG, OTHER_RUNS, {})
    for dim in (5, 20):
        changing = RandomArms(dim=dim, n_arms=32)
        grid[f"changing arms, dim {dim}"] = Problem(changing, SHORT, OTHER_RUNS, {"estimator": "online"})
    for link in ("probit", "exponential"):
        grid[f"{link} link"] = Problem(Hypercube(dim=DIM, link=link), LONG, OTHER_RUNS, {"link": link})
        grid[f"{link} votes, logistic policy"] = Problem(Hypercube(dim=DIM, link=link), LONG, OTHER_RUNS, {})
    grid["events"] = Problem(event_world(fit_utilities(load_eventtime().counts)), LONG, OTHER_RUNS, {})
    simulated, replayed = photo_worlds(load_photos())
    grid["photos, fitted model"] = Problem(simulated, SHORT, OTHER_RUNS, {})
    grid["photos, real votes"] = Problem(replayed, SHORT, OTHER_RUNS, {})
    cube = Hypercube(dim=DIM)
    grid["first 10 % of votes flipped"] = Problem(FlippedVotes(cube, first=int(FLIPPED * LONG)), LONG, OTHER_RUNS, {})
    grid["10 % of votes flipped"] = Problem(FlippedVotes(cube, share=FLIPPED), LONG, OTHER_RUNS, {})
    return grid


def run(lab: Lab) -> Outcome:
    """All policies with their defaults, the paper's tuned once; the claims of the new ones."""
    outcome = Outcome(
        NAME,
        "The frontier: which policy to take",
        "Every policy plays every problem with one setting: its default, or the one that was best on average over the four "
        "scales of θ* (tuned, on other seeds). A number is mean regret divided by that of the best policy on the problem, so 1 is best. "
        "No policy is told which problem it plays.",
    )
    worlds = [Hypercube(dim=DIM, scale=s) for s in SCALES]
    tuned = {
        name: tune(lab, name, list(worlds), HORIZON, first_runs=TUNING_RUNS, label=f"{name}, frontier").make
        for name in ALL_POLICIES
    }
    grid = problems()
    results: dict[str, dict[str, Result]] = {}
    for title, problem in grid.items():
        policies = {name: make_policy(name, horizon=problem.horizon, **problem.settings) for name in PLAYED}
        policies |= {f"{n}, tuned": make(problem.horizon, **problem.settings) for n, make in tuned.items()}
        cells = [Cell(p, problem.environment, problem.horizon, problem.runs, SEED) for p in policies.values()]
        results[title] = dict(zip(policies, lab.run(f"frontier: {title}", cells), strict=True))
    outcome.add_table("relative", "mean regret divided by that of the best", *_relative(results))
    outcome.add_table("regret", "mean average regret, and the worst run over the median", *_absolute(results, grid))
    outcome.claims += [_against_best(results, scale) for scale in SCALES]
    outcome.claims += [_tail(results), _coverage(lab), _robust(lab), _stopping(lab, outcome)]
    outcome.add_figure("relative", _draw(results), "Mean regret divided by that of the best policy on each problem.")
    outcome.settings = {"seed": SEED, "tuning seed": TUNING_SEED, "runs": RUNS, "runs elsewhere": OTHER_RUNS}
    return outcome


# -- tables ------------------------------------------------------------------------------


def _means(results: Mapping[str, Mapping[str, Result]]) -> Floats:
    return np.array([[r.final.mean() for r in panel.values()] for panel in results.values()])


def _relative(results: Mapping[str, Mapping[str, Result]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
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


def _absolute(
    results: Mapping[str, Mapping[str, Result]], grid: Mapping[str, Problem]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    rows = []
    for title, panel in results.items():
        for name, result in panel.items():
            final = result.final
            worst = float(final.max() / max(np.median(final), 1e-12))
            numbers = (
                round(float(x), 2) for x in (final.mean(), final.std(ddof=1), np.median(final), final.max(), worst)
            )
            rows.append((title, grid[title].horizon, grid[title].runs, name, *numbers))
    return ("problem", "rounds", "runs", "policy", "mean", "sd", "median", "worst", "worst / median"), rows


def _draw(results: Mapping[str, Mapping[str, Result]]) -> Figure:
    columns, rows = _relative(results)
    share = np.array([row[3:] for row in rows], dtype=float)
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(np.log2(share), cmap="YlOrRd", vmin=0.0, vmax=4.0, aspect="auto")
    ax.set_xticks(range(len(columns) - 3), columns[3:], rotation=40, ha="right", fontsize=8)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=9)
    for (y, x), value in np.ndenumerate(share):
        ax.text(x, y, f"{value:.2g}", ha="center", va="center", fontsize=7, color="white" if value > 8 else "black")
    bar = figure.colorbar(image, ax=ax, ticks=range(5), shrink=0.6)
    bar.ax.set_yticklabels([f"{2**k} x" for k in range(5)])
    bar.set_label("regret / best")
    return figure


# -- claims ------------------------------------------------------------------------------


def ratio_interval(mine: Floats, theirs: Floats) -> tuple[float, float, float]:
    """mean(mine) / mean(theirs) over paired runs, with a 95 % interval from resampling runs."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(mine), size=(RESAMPLES, len(mine)))
    ratios = mine[picks].mean(axis=1) / theirs[picks].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(mine.mean() / theirs.mean()), float(low), float(high)


def _against_best(results: Mapping[str, Mapping[str, Result]], scale: float) -> Claim:
    """One default against the best of the paper's policies, each tuned once over all four scales."""
    over_scales = {
        name: np.mean([results[f"scale {s:g}"][name].final.mean() / s for s in SCALES])
        for name in next(iter(results.values()))
        if name.endswith(", tuned")
    }
    best = min(over_scales, key=lambda name: float(over_scales[name]))
    panel = results[f"scale {scale:g}"]
    ratio, low, high = ratio_interval(panel["LocalPairUCB"].final, panel[best].final)
    return Claim(
        BEYOND,
        f"LocalPairUCB by default has at most {WANTED[scale]:g} of the regret of the paper's best policy, tuned once",
        f"θ* at scale {scale:g}, hypercube, {RUNS} runs of {HORIZON} rounds; tuned best over all scales: {best}",
        f"{ratio:.2f} [{low:.2f}, {high:.2f}] ({panel['LocalPairUCB'].final.mean():.0f} against {panel[best].final.mean():.0f})",
        HOLDS if ratio <= WANTED[scale] else DOES_NOT_HOLD,
    )


def _tail(results: Mapping[str, Mapping[str, Result]]) -> Claim:
    tails = {s: results[f"scale {s:g}"]["LocalPairUCB"].final for s in SCALES}
    worst = {s: float(final.max() / np.median(final)) for s, final in tails.items()}
    return Claim(
        BEYOND,
        f"No heavy tail: the worst run of LocalPairUCB is under {TAIL:g} times its median",
        f"hypercube, {RUNS} runs of {HORIZON} rounds at each scale",
        ", ".join(f"scale {s:g}: {w:.1f}" for s, w in worst.items()),
        HOLDS if max(worst.values()) < TAIL else DOES_NOT_HOLD,
    )


def _coverage(lab: Lab) -> Claim:
    """Whether |theta_hat - theta*|_H stays under the published radius through a whole run."""
    ratios = []
    for number in range(COVERAGE_RUNS):
        lab.report("frontier: coverage", number, COVERAGE_RUNS)
        ratios.append(_largest_error(number))
    lab.report("frontier: coverage", COVERAGE_RUNS, COVERAGE_RUNS)
    covered = float(np.mean(np.array(ratios) <= 1.0))
    return Claim(
        BEYOND,
        "The confidence set of LocalPairUCB with its published radius holds with probability at least 1 - δ",
        f"hypercube, |θ*| = 1, {COVERAGE_RUNS} runs of {COVERAGE_ROUNDS} rounds, δ = {DELTA}, looked at in rounds 1, 2, 4, ...",
        f"covered in {covered:.1%} of runs; the error is {np.median(ratios):.2f} of the radius in the median run, "
        f"{max(ratios):.2f} at most",
        HOLDS if covered >= 1.0 - DELTA else DOES_NOT_HOLD,
    )


def _largest_error(number: int) -> float:
    rng = np.random.default_rng([SEED, number])
    world = Hypercube(dim=DIM).draw_world(rng)
    arms, theta = np.asarray(world.arms), world.theta
    policy = LocalPairUCB(radius="theory", delta=DELTA, random_state=number)
    worst, reach, ridge = 0.0, 2.0 * float(np.linalg.norm(arms, axis=1).max()), float(arms.var(axis=0).mean())
    for t in range(1, COVERAGE_ROUNDS + 1):
        duel = policy.ask(arms)
        chance = float(get_link("logistic").mean((arms[duel.first] - arms[duel.second]) @ theta))
        policy.tell(duel, float(rng.random() < chance))
        if t & (t - 1) == 0 or t == COVERAGE_ROUNDS:
            error = policy.theta_ - theta
            radius = log_loss(DIM, t, 1.0, reach, ridge, DELTA)
            worst = max(worst, float(np.sqrt(error @ policy.curvature_ @ error)) / radius)
    return worst


def _robust(lab: Lab) -> Claim:
    """RCDB against the same policy without its weights, the first tenth of all votes turned round."""
    flipped = int(FLIPPED * HORIZON)
    world = FlippedVotes(Hypercube(dim=DIM), first=flipped)
    with_weights = RCDB(horizon=HORIZON)
    policies: list[CompiledPolicy] = [with_weights, MaxPairUCB(horizon=HORIZON)]
    mine, theirs = lab.run("frontier: flipped votes", [Cell(p, world, HORIZON, RUNS, SEED) for p in policies])
    ratio, low, high = ratio_interval(mine.final, theirs.final)
    return Claim(
        BEYOND,
        "With 10 % adversarial votes RCDB has less regret than the same policy without its weights",
        f"hypercube, the first {flipped} of {HORIZON} votes turned round, {RUNS} runs, both with their defaults",
        f"{ratio:.2f} [{low:.2f}, {high:.2f}] of it ({mine.final.mean():.0f} against {theirs.final.mean():.0f})",
        HOLDS if high < 1.0 else DOES_NOT_HOLD,
    )


def _stopping(lab: Lab, outcome: Outcome) -> Claim:
    """Votes until the best arm is announced, and how often it is wrong."""
    report = partial(lab.report, "frontier: stopping")
    rivals = {
        "ThompsonPair without self-duels": ThompsonPair(allow_self_duel=False),
        "UniformPair": UniformPair(),
    }
    found: dict[str, Race] = race(rivals, STOP_RUNS, DELTA, SEED, report)
    mine, theirs = found.values()
    columns = ("policy", "runs", "wrong", "undecided", "mean votes", "median votes", "90 % of runs under")
    rows = [(name, STOP_RUNS, r.wrong, r.undecided, *_spread(r.votes)) for name, r in found.items()]
    outcome.add_table("stopping", f"votes until the best arm is announced, error rate {DELTA:g}", columns, rows)
    ratio, low, high = ratio_interval(mine.votes, theirs.votes)
    good = mine.wrong <= DELTA * STOP_RUNS and ratio <= 0.5
    return Claim(
        BEYOND,
        f"Stopping: the announced arm is wrong in at most {DELTA:.0%} of runs, at half the votes of uniform sampling or less",
        f"{STOP_RUNS} runs, 12 random arms, dim 4; both stop by the same rule",
        f"wrong in {mine.wrong / STOP_RUNS:.1%} (uniform: {theirs.wrong / STOP_RUNS:.1%}), "
        f"{ratio:.2f} [{low:.2f}, {high:.2f}] of the votes",
        HOLDS if good else DOES_NOT_HOLD,
    )


def _spread(votes: Floats) -> tuple[float, ...]:
    return tuple(round(float(x), 1) for x in (votes.mean(), np.median(votes), np.quantile(votes, 0.9)))
