"""Regret on raw features: in other units, its worst runs, with odd first arms, late votes and late arms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.special import expit

import duelist as dl
from benchmarks.quality.raw_features.decisions import ARM_EFFECTS, estimators_of, table_of
from benchmarks.quality.raw_features.problems import wins, world_of
from duelist.policies import POLICIES
from duelist.simulation.environments import DelayedVotes, Environment, FixedArms, Hypercube, LateArms, RawFeatures
from duelist.simulation.environments.raw_features import KINDS
from duelist.simulation.simulate import worlds_of

HORIZON = 2000
DELAY = 50
JOINING = 100
BLOCK, HEAVY = 128, 5.0
SERVERS = ("LocalPairUCB", "MaxPairUCB", "ThompsonPair", "VACDB", "MaxInP", "CoLSTIM", "StaD", "SupCoLSTIM", "RCDB")


def regret(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Regret over {HORIZON:,} rounds, {runs} runs each: raw features, and the same standardised"
    yield ""
    yield "| problem | policy | raw | standardised | ratio | raw, worst / median |"
    yield "|---|---|---|---|---|---|"
    for kind in KINDS:
        for name in SERVERS:
            policy = getattr(dl, name)(horizon=HORIZON)
            raw, standard = (
                dl.simulate([policy], RawFeatures(kind, standardised=flag), horizon=HORIZON, runs=runs, seed=0).regret(
                    name, kind="average"
                )[:, -1]
                for flag in (False, True)
            )
            tail = raw.max() / max(float(np.median(raw)), 1e-12)
            ratio = raw.mean() / standard.mean()
            yield f"| {kind} | {name} | {raw.mean():.0f} | {standard.mean():.0f} | {ratio:.2f} | {tail:.1f} |"


def units(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    rounds = HORIZON // 2
    yield f"## Regret on raw features over that on the same standardised, every policy, {rounds:,} rounds, {runs} runs"
    yield ""
    yield "| policy | estimator | " + " | ".join(KINDS) + " |"
    yield "|---|---|" + "---|" * len(KINDS)
    for name, make in POLICIES.items():
        for estimator in ("exact", "online"):
            policy = make(horizon=rounds, estimator=estimator)
            means = [
                [
                    dl.simulate(
                        [policy], RawFeatures(kind, standardised=flag), horizon=rounds, runs=runs, seed=0, keep="curves"
                    )
                    .final(name)
                    .mean()
                    for flag in (False, True)
                ]
                for kind in KINDS
            ]
            yield f"| {name} | {estimator} | " + " | ".join(f"{raw / standard:.2f}" for raw, standard in means) + " |"


# -- the ridge -----------------------------------------------------------------------------


class WithOneRidge(dl.LocalPairUCB):
    """With the ridge of five features or less, however many there are."""

    ridge_reference_dim = np.inf


def ridges(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    runs = max(runs // BLOCK, 1) * BLOCK
    yield f"## A ridge that grows with the number of features, for LocalPairUCB over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield "The ridge is max(1, dim / 5) times the size of a feature, beside 1 for all. Worst: the worst run over the median, the middle"
    yield f"one of blocks of {BLOCK} runs."
    yield ""
    yield "| problem | 1: mean | worst | dim / 5: mean | worst | ratio of means |"
    yield "|---|---|---|---|---|---|"
    rng = np.random.default_rng(5)
    problems: dict[str, Environment] = {
        f"32 arms, dim {dim}, scale {scale:g}": FixedArms(
            rng.standard_normal((32, dim)) * np.sqrt(5 / dim), scale=scale
        )
        for dim in (10, 20, 50)
        for scale in (0.5, 2.0, 8.0)
    }
    wide = ("correlated", "sparse binary", "more features than arms")
    for title, environment in (problems | {kind: RawFeatures(kind) for kind in wide}).items():
        policies = {"one": WithOneRidge(horizon=HORIZON), "grown": dl.LocalPairUCB(horizon=HORIZON)}
        found = dl.simulate(policies, environment, horizon=HORIZON, runs=runs, seed=4, keep="curves")
        before, after = found.final("one"), found.final("grown")
        ratio, error = after.mean() / before.mean(), (after - before).std() / np.sqrt(runs) / before.mean()
        cells = [f"{each.mean():.0f} | {np.median(worst_of_blocks(each)):.1f}" for each in (before, after)]
        yield f"| {title} | {cells[0]} | {cells[1]} | {ratio:.2f} ± {error:.2f} |"


# -- tails -------------------------------------------------------------------------------


def tails(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    blocks = max(runs // BLOCK, 1)
    yield f"## Worst runs of LocalPairUCB over {HORIZON:,} rounds, in {blocks} blocks of {BLOCK} runs, and what lighter tails cost"
    yield ""
    yield f"Good: blocks whose worst run has under {HEAVY:g} times the regret of their median run; worst: that ratio in the middle block."
    yield ""
    scales = (1.0, 1.5, 2.0)
    yield "| problem | " + " | ".join(f"scale {s:g}: mean | good | worst" for s in scales) + " |"
    yield "|---|" + "---|" * 3 * len(scales)
    hypercubes: dict[str, Environment] = {f"hypercube, scale {s:g}": Hypercube(dim=5, scale=s) for s in (0.5, 1, 2, 4)}
    for title, environment in (hypercubes | {kind: RawFeatures(kind) for kind in KINDS}).items():
        cells = []
        for scale in scales:
            policy = dl.LocalPairUCB(scale=scale)
            found = dl.simulate([policy], environment, horizon=HORIZON, runs=blocks * BLOCK, seed=1)
            cells.append(in_blocks(found.regret("LocalPairUCB", kind="average")[:, -1]))
        yield f"| {title} | " + " | ".join(cells) + " |"


def in_blocks(regrets: np.ndarray) -> str:
    """The mean, in how many blocks the worst run is not heavy, and how heavy it is in the middle block."""
    worst = worst_of_blocks(regrets)
    return f"{regrets.mean():.3g} | {np.sum(worst < HEAVY)} of {len(worst)} | {np.median(worst):.1f}"


def worst_of_blocks(regrets: np.ndarray) -> np.ndarray:
    """The worst run over the median, block by block."""
    blocks = regrets.reshape(-1, BLOCK)
    return np.asarray(blocks.max(axis=1) / np.median(blocks, axis=1))


def own_tails(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    blocks = max(runs // BLOCK, 1)
    yield "## The same with arm effects, and properties of the problems"
    yield ""
    yield f"`ArmTable(n, features)` over {HORIZON:,} rounds, in {blocks} blocks of {BLOCK} runs, beside features alone in the same worlds."
    yield "Blind: the regret of a round with random arms, the best utility minus the mean. It does not depend on the policy: if its worst"
    yield "run is heavy, so is the regret of every policy that needs some rounds to learn."
    yield ""
    yield "| problem | features alone: mean | good | worst | arm effects: mean | good | worst | blind: mean | good | worst |"
    yield "|---|" + "---|" * 9
    for kind in KINDS:
        found = [
            np.array(list(pool.map(partial(one_run, kind, free), range(blocks * BLOCK), chunksize=16)))
            for free in (False, True)
        ]
        cells = [in_blocks(each[:, 0]) for each in found] + [in_blocks(found[0][:, 1])]
        yield f"| {kind} | " + " | ".join(cells) + " |"


def one_run(kind: str, free: bool, seed: int) -> tuple[float, float]:
    """Regret of LocalPairUCB, and what one blind round costs."""
    arms, utilities = world_of(RawFeatures(kind), seed)
    policy = dl.LocalPairUCB(horizon=HORIZON, random_state=seed, estimator="online" if free else "exact")
    rng, shown = np.random.default_rng([seed, 2]), table_of(arms, free)
    total = 0.0
    for _ in range(HORIZON):
        duel = policy.ask(shown, distinct=False)
        total += utilities.max() - 0.5 * (utilities[duel.first] + utilities[duel.second])
        policy.tell(duel, wins(rng, utilities, duel))
    return total, float(utilities.max() - utilities.mean())


# -- first arms --------------------------------------------------------------------------

FIRST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "typical": lambda arms: arms,
    "alike": lambda arms: arms.mean(axis=0) + 0.03 * (arms - arms.mean(axis=0)),
    "nearly alike": lambda arms: arms.mean(axis=0) + 0.001 * (arms - arms.mean(axis=0)),
    "alone": lambda arms: arms[:1],
    "huge": lambda arms: arms.mean(axis=0) + 100.0 * (arms - arms.mean(axis=0)),
}


def play(environment: Environment, name: str, estimator: str, first: str, seed: int) -> float:
    """Regret of one run with the published rule, after a round in which the `first` arms were shown."""
    arms, utilities = world_of(environment, seed)
    arm_effects = estimator == ARM_EFFECTS
    policy = getattr(dl, name)(horizon=HORIZON, random_state=seed, estimator="online" if arm_effects else estimator)
    rng, total = np.random.default_rng([seed, 2]), 0.0
    if first != "typical":
        shown = FIRST[first](np.column_stack([arms, utilities]))  # utilities are linear in what is done to arms
        duel = policy.ask(table_of(np.ascontiguousarray(shown[:, :-1]), arm_effects), distinct=False)
        policy.tell(duel, wins(rng, shown[:, -1], duel))
    table = table_of(arms, arm_effects)
    for _ in range(HORIZON):
        duel = policy.ask(table, distinct=False)
        total += utilities.max() - 0.5 * (utilities[duel.first] + utilities[duel.second])
        policy.tell(duel, wins(rng, utilities, duel))
    return total


def first_arms(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## First arms that are not typical: mean regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield "With the standard error of the worst ratio, over runs in the same worlds."
    yield ""
    yield "| policy | estimator | " + " | ".join(FIRST) + " | worst ratio |"
    yield "|---|---|" + "---|" * (len(FIRST) + 1)
    environment = FixedArms(np.random.default_rng(0).standard_normal((20, 5)))
    for name in SERVERS:
        for estimator in estimators_of(name):
            played = [
                np.array(list(pool.map(partial(play, environment, name, estimator, first), range(runs), chunksize=16)))
                for first in FIRST
            ]
            typical, worst = played[0], max(played, key=np.mean)
            ratio = worst.mean() / typical.mean()
            error = (worst - ratio * typical).std() / np.sqrt(runs) / typical.mean()
            means = " | ".join(f"{each.mean():.0f}" for each in played)
            yield f"| {name} | {estimator} | {means} | {ratio:.2f} ± {error:.2f} |"


# -- late votes and late arms ------------------------------------------------------------


def regrets(name: str, environment: Environment, runs: int) -> np.ndarray:
    """Average regret at the end of every run; the same worlds in the same order, whatever is late."""
    policy = getattr(dl, name)(horizon=HORIZON)
    return dl.simulate([policy], environment, horizon=HORIZON, runs=runs, seed=2, keep="curves").final(name)


def delays(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Votes that come {DELAY} rounds late: mean regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield f"Blind: {DELAY + 1} times the best utility minus the mean: the regret of as many rounds without a vote. On"
    yield "the hypercube all arms are equal before the first vote, since theta has no favoured direction: this is the minimum."
    yield "Free: blind, plus the regret of showing the arm that looks best after the votes so far, on random pairs of opposite"
    yield "arms, by an estimate that knows the size of theta: the cost of learning is left aside."
    yield ""
    yield "| problem | policy | at once | late | ratio | blind | (late - blind) / at once | free / at once |"
    yield "|---|---|---|---|---|---|---|---|"
    problems: dict[str, Environment] = {f"hypercube, scale {s:g}": Hypercube(dim=5, scale=s) for s in (1.0, 2.0)}
    for title, environment in (problems | {"mixed units": RawFeatures("mixed units")}).items():
        utilities = worlds_of(environment, 2, range(runs)).next_rounds(1).utilities[:, 0]
        blind = (DELAY + 1) * float((utilities.max(axis=1) - utilities.mean(axis=1)).mean())
        free = blind + sum(pool.map(partial(free_regret, environment), range(runs))) / runs
        for name in SERVERS:
            now, late = (regrets(name, e, runs).mean() for e in (environment, DelayedVotes(environment, DELAY)))
            rest = (late - blind) / now
            yield f"| {title} | {name} | {now:.0f} | {late:.0f} | {late / now:.2f} | {blind:.0f} | {rest:.2f} | {free / now:.2f} |"


LOOKS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)


def free_regret(environment: Environment, seed: int) -> float:
    """Regret from the first vote on, of who shows the arm that looks best and is told votes on pairs of opposite arms for nothing."""
    world = environment.draw_world(np.random.default_rng([seed, 1]))
    arms, utilities = world_of(environment, seed)
    rng, centred = np.random.default_rng([seed, 3]), arms - arms.mean(axis=0)
    first = rng.integers(len(arms), size=LOOKS[-1])
    second = (centred @ centred[first].T).argmin(axis=0)
    won = (rng.random(len(first)) < expit(utilities[first] - utilities[second])).astype(float)
    ridge = arms.shape[1] / np.square(world.theta * arms.std(axis=0)).sum() * arms.var(axis=0)
    costs = []
    for votes in LOOKS:
        looks = (
            arms @ dl.fit_mle((arms[first] - arms[second])[:votes], won[:votes], ridge=ridge).theta
            if votes
            else 0.0 * utilities
        )
        costs.append(utilities.max() - utilities[looks == np.max(looks)].mean())
    return float(np.interp(np.arange(HORIZON - DELAY - 1), LOOKS, costs).sum())


def late_arms(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Arms that come late: regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield f"Half of the arms are there from the beginning, the others join one by one, every {JOINING} rounds, the best as likely as"
    yield "any other. Regret is against the best arm on the table."
    yield ""
    yield "| problem | policy | all at once | late | late, worst / median |"
    yield "|---|---|---|---|---|"
    for kind in KINDS:
        for name in SERVERS:
            table = RawFeatures(kind)
            now, late = (regrets(name, e, runs) for e in (table, LateArms(table, JOINING)))
            yield f"| {kind} | {name} | {now.mean():.0f} | {late.mean():.0f} | {late.max() / np.median(late):.1f} |"
