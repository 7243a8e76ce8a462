"""Claims about policies beyond the paper: how far each one holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.model.links import get_link
from duelist.policies import (
    RCDB,
    BestArmPair,
    LocalPairUCB,
    MaxPairUCB,
    NativePolicy,
    Policy,
    ThompsonPair,
    UniformPair,
)
from duelist.reference.local_pair_ucb import log_loss_radius
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.findings import DOES_NOT_HOLD, HOLDS, Claim, Findings
from duelist.research.experiments.reports.text_templates import TextTemplates
from duelist.research.paper.figure_1b import SCALES
from duelist.research.paper.problems import DIM, HORIZON, RUNS
from duelist.research.paper.regret_bound import least_regret
from duelist.research.paper.stopping import DIM as STOP_DIM
from duelist.research.paper.stopping import MOST_VOTES, N_ARMS, Race, race
from duelist.simulation.environments import FlippedVotes, Hypercube

PROSE: Final = TextTemplates.of("duelist.research.paper", "frontier.md")
SEED: Final = 4_000_037
"""Seeds that no tuning uses."""
WANTED: Final = {0.5: 0.75, 1.0: 0.75, 2.0: 1.0, 4.0: 1.0}
"""The share of the best tuned policy's regret that one default setting should stay under, at each scale of theta*."""
TAIL: Final = 5.0
CAUTIOUS: Final = 1.5
"""The scale of LocalPairUCB that trades a higher mean regret for a lighter tail."""
BOLD: Final = 0.7
"""The scale of LocalPairUCB with the smallest mean regret."""
IDEAL_RUNS: Final = 512
FLIPPED: Final = 0.1
DELTA: Final = 0.05
COVERAGE_RUNS: Final = 200
COVERAGE_ROUNDS: Final = 1000
STOP_RUNS: Final = 1000
RESAMPLES: Final = 2000
TUNED: Final = ", tuned"

Panels = Mapping[str, Mapping[str, Result]]
"""Results by problem, then by policy."""


def claims(lab: Lab, results: Panels, tuned: Mapping[str, Callable[..., Policy]], outcome: Findings) -> list[Claim]:
    """Return all claims; their tables are added to the findings."""
    return [
        *(against_best(results, scale) for scale in SCALES),
        *against_plain(lab, results),
        near_the_ideal(lab, tuned, best_tuned(results), outcome),
        tail(results),
        cautious(lab, results),
        coverage(lab),
        robust(lab),
        stopping(lab, outcome),
    ]


def ratio_interval(mine: Floats, theirs: Floats) -> tuple[float, float, float]:
    """Return mean(mine) / mean(theirs) over paired runs, with a 95 % interval from resampling runs."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(mine), size=(RESAMPLES, len(mine)))
    ratios = mine[picks].mean(axis=1) / theirs[picks].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(mine.mean() / theirs.mean()), float(low), float(high)


def _format_ratio(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.2f} [{low:.2f}, {high:.2f}]"


def best_tuned(results: Panels) -> str:
    """Return the paper's policy that is best over all four scales, each tuned once."""
    over_scales = {
        name: np.mean([results[f"scale {s:g}"][name].final.mean() / s for s in SCALES])
        for name in next(iter(results.values()))
        if name.endswith(TUNED)
    }
    return min(over_scales, key=lambda name: float(over_scales[name]))


def against_best(results: Panels, scale: float) -> Claim:
    """Compare one default with the best of the paper's policies, each tuned once over all four scales."""
    best = best_tuned(results)
    panel = results[f"scale {scale:g}"]
    ratio, low, high = ratio_interval(panel["LocalPairUCB"].final, panel[best].final)
    return PROSE.claim(
        "against the best",
        HOLDS if ratio <= WANTED[scale] else DOES_NOT_HOLD,
        wanted=WANTED[scale],
        scale=scale,
        runs=RUNS,
        horizon=HORIZON,
        best=best,
        ratio=_format_ratio(ratio, low, high),
        mine=panel["LocalPairUCB"].final.mean(),
        theirs=panel[best].final.mean(),
    )


def against_plain(lab: Lab, results: Panels) -> list[Claim]:
    """Compare LocalPairUCB, by default and with the bold scale, with a plain MaxPairUCB.

    Its setting is the one that a coarse search finds: ridge 1, radius sqrt(d log T).
    """
    plain = _finals(
        lab, "plain MaxPairUCB", MaxPairUCB(horizon=HORIZON, ridge=1.0, radius=float(np.sqrt(DIM * np.log(HORIZON))))
    )
    default = {s: results[f"scale {s:g}"]["LocalPairUCB"].final for s in SCALES}
    bold = _finals(lab, "bold", LocalPairUCB(horizon=HORIZON, scale=BOLD))
    return [
        _shares("against MaxPairUCB", default, plain),
        _shares(
            "boldly against MaxPairUCB",
            bold,
            plain,
            bold=BOLD,
            tails=", ".join(f"{_worst_over_median(final):.1f}" for final in bold.values()),
        ),
    ]


def _finals(lab: Lab, label: str, policy: Policy) -> dict[float, Floats]:
    """Return the regret of a policy's runs at the four scales of theta*."""
    cells = [Cell(policy, Hypercube(dim=DIM, scale=s), HORIZON, RUNS, SEED) for s in SCALES]
    return {s: r.final for s, r in zip(SCALES, lab.run(f"frontier: {label}", cells), strict=True)}


def _shares(claim: str, mine: Mapping[float, Floats], theirs: Mapping[float, Floats], **values: Any) -> Claim:
    ratios = {s: ratio_interval(mine[s], theirs[s]) for s in SCALES}
    return PROSE.claim(
        claim,
        HOLDS if all(ratios[s][0] <= WANTED[s] for s in SCALES) else DOES_NOT_HOLD,
        runs=RUNS,
        horizon=HORIZON,
        wanted=", ".join(f"{w:g} at scale {s:g}" for s, w in WANTED.items()),
        ratios=", ".join(f"scale {s:g}: {_format_ratio(*ratio)}" for s, ratio in ratios.items()),
        **values,
    )


def near_the_ideal(lab: Lab, tuned: Mapping[str, Callable[..., Policy]], best: str, outcome: Findings) -> Claim:
    """Compare regret with a lower bound for every policy (`paper.regret_bound`)."""
    policies = [LocalPairUCB(horizon=HORIZON), tuned[best.removesuffix(TUNED)](HORIZON)]
    rows, shares = [], {}
    for scale in SCALES:
        world = Hypercube(dim=DIM, scale=scale, prior="normal")
        cells = [Cell(p, world, HORIZON, IDEAL_RUNS, SEED) for p in policies]
        mine, theirs = (r.final for r in lab.run(f"frontier: room left, scale {scale:g}", cells))
        least = least_regret(DIM, scale, HORIZON)
        shares[scale] = float(mine.mean() / least)
        errors = (float(x.std(ddof=1) / np.sqrt(IDEAL_RUNS)) for x in (mine, theirs))
        numbers = (least, mine.mean(), next(errors), theirs.mean(), next(errors), least / theirs.mean())
        rows.append((f"{scale:g}", *(round(float(x), 2) for x in numbers)))
    columns = ("scale", "least possible", "LocalPairUCB", "s.e.", best, "s.e.", "least / tuned")
    outcome.add_table(
        "ideal", "mean regret against a bound that no policy can beat, coordinates of θ* normal", columns, rows
    )
    return PROSE.claim(
        "near the ideal",
        HOLDS if max(shares[0.5], shares[1.0]) <= 1.25 else DOES_NOT_HOLD,
        runs=IDEAL_RUNS,
        horizon=HORIZON,
        shares=", ".join(f"scale {s:g}: {share:.2f} times the bound" for s, share in shares.items()),
    )


def tail(results: Panels) -> Claim:
    """Compare the worst run with the median run, by default."""
    worst = {s: _worst_over_median(results[f"scale {s:g}"]["LocalPairUCB"].final) for s in SCALES}
    return PROSE.claim(
        "no heavy tail",
        HOLDS if max(worst.values()) < TAIL else DOES_NOT_HOLD,
        tail=TAIL,
        runs=RUNS,
        horizon=HORIZON,
        worst=", ".join(f"scale {s:g}: {w:.1f}" for s, w in worst.items()),
    )


def cautious(lab: Lab, results: Panels) -> Claim:
    """Report the price of a light tail."""
    finals = _finals(lab, "cautious", LocalPairUCB(horizon=HORIZON, scale=CAUTIOUS))
    worst = {s: _worst_over_median(final) for s, final in finals.items()}
    price = {s: finals[s].mean() / results[f"scale {s:g}"]["LocalPairUCB"].final.mean() for s in SCALES}
    return PROSE.claim(
        "cautious",
        HOLDS if max(worst.values()) < TAIL else DOES_NOT_HOLD,
        cautious=CAUTIOUS,
        tail=TAIL,
        runs=RUNS,
        horizon=HORIZON,
        worst=", ".join(f"scale {s:g}: {w:.1f}, for {price[s]:.2f} times the mean" for s, w in worst.items()),
    )


def _worst_over_median(final: Floats) -> float:
    return float(final.max() / np.median(final))


def coverage(lab: Lab) -> Claim:
    """Report whether |theta_hat - theta*|_H stays under the published radius through a whole run."""
    ratios = []
    for number in range(COVERAGE_RUNS):
        lab.report("frontier: coverage", number, COVERAGE_RUNS)
        ratios.append(_largest_error(number))
    lab.report("frontier: coverage", COVERAGE_RUNS, COVERAGE_RUNS)
    covered = float(np.mean(np.array(ratios) <= 1.0))
    return PROSE.claim(
        "coverage",
        HOLDS if covered >= 1.0 - DELTA else DOES_NOT_HOLD,
        runs=COVERAGE_RUNS,
        rounds=COVERAGE_ROUNDS,
        delta=DELTA,
        covered=covered,
        median=np.median(ratios),
        largest=max(ratios),
    )


def _largest_error(number: int) -> float:
    rng = np.random.default_rng([SEED, number])
    world = Hypercube(dim=DIM).draw_world(rng)
    arms, theta = np.asarray(world.arms), world.theta
    policy = LocalPairUCB(radius="theory", delta=DELTA, random_state=number)
    worst, reach = 0.0, 2.0 * float(np.linalg.norm(arms, axis=1).max())
    for t in range(1, COVERAGE_ROUNDS + 1):
        duel = policy.ask(arms)
        chance = float(get_link("logistic").mean((arms[duel.first] - arms[duel.second]) @ theta))
        policy.tell(duel, float(rng.random() < chance))
        if t & (t - 1) == 0 or t == COVERAGE_ROUNDS:
            error = policy.theta_ - theta
            radius = log_loss_radius(DIM, t, 1.0, reach, float(policy.pooled_ridge_[0]), DELTA)
            worst = max(worst, float(np.sqrt(error @ policy.curvature_ @ error)) / radius)
    return worst


def robust(lab: Lab) -> Claim:
    """Compare RCDB with the same policy without its weights, with the first tenth of all votes flipped."""
    flipped = int(FLIPPED * HORIZON)
    world = FlippedVotes(Hypercube(dim=DIM), first=flipped)
    with_weights = RCDB(horizon=HORIZON)
    policies: list[NativePolicy] = [with_weights, MaxPairUCB(horizon=HORIZON)]
    mine, theirs = lab.run("frontier: flipped votes", [Cell(p, world, HORIZON, RUNS, SEED) for p in policies])
    ratio, low, high = ratio_interval(mine.final, theirs.final)
    return PROSE.claim(
        "robust",
        HOLDS if high < 1.0 else DOES_NOT_HOLD,
        flipped=flipped,
        horizon=HORIZON,
        runs=RUNS,
        ratio=_format_ratio(ratio, low, high),
        mine=mine.final.mean(),
        theirs=theirs.final.mean(),
    )


def stopping(lab: Lab, outcome: Findings) -> Claim:
    """Report the votes until a decision, and how often it is wrong."""
    report = partial(lab.report, "frontier: stopping")
    rivals = {
        "BestArmPair": BestArmPair(),
        "ThompsonPair without self-duels": ThompsonPair(allow_self_duel=False),
        "UniformPair": UniformPair(),
    }
    found: dict[str, Race] = race(rivals, STOP_RUNS, DELTA, SEED, report)
    mine, theirs = found["BestArmPair"], found["UniformPair"]
    columns = ("policy", "runs", "wrong", "undecided", "mean votes", "median votes", "90 % of runs under")
    rows = [(name, STOP_RUNS, r.wrong, r.undecided, *_spread(r.votes)) for name, r in found.items()]
    outcome.add_table("stopping", f"votes until the best arm is decided, error rate {DELTA:g}", columns, rows)
    ratio, low, high = ratio_interval(mine.votes, theirs.votes)
    good = mine.wrong <= DELTA * STOP_RUNS and ratio <= 0.5
    return PROSE.claim(
        "stopping",
        HOLDS if good else DOES_NOT_HOLD,
        delta=DELTA,
        runs=STOP_RUNS,
        n_arms=N_ARMS,
        dim=STOP_DIM,
        most_votes=MOST_VOTES,
        wrong=mine.wrong / STOP_RUNS,
        wrong_uniform=theirs.wrong / STOP_RUNS,
        ratio=_format_ratio(ratio, low, high),
    )


def _spread(votes: Floats) -> tuple[float, ...]:
    return tuple(round(float(x), 1) for x in (votes.mean(), np.median(votes), np.quantile(votes, 0.9)))
