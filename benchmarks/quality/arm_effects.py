"""Arms without features, and features with arm effects: what they cost, and what they are worth.

    python -m benchmarks.quality.arm_effects --page docs/evidence/arm-effects.md

Every number of the page comes from one run of this program: about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.engine import arm_effects
from duelist.research.origin import with_origin
from duelist.study import create_study

NAMES = ("LocalPairUCB", "BestArmPair", "UniformPair")
SIZES = (100, 1000, 2000, 10_000)
FEATURES = 16
ONE_HOT = (100, 1000)
ROUNDS = 60
RUNS = 200


def chance(gap: float) -> float:
    return float(1.0 / (1.0 + np.exp(-gap)))


# -- what it costs ---------------------------------------------------------------------------


def milliseconds(policy: Any, arms: Any, utility: np.ndarray, votes: int, rounds: int = ROUNDS) -> float:
    """Return the median CPU time of an ask with its tell, after some votes on random pairs."""
    rng = np.random.default_rng(1)
    policy.initialize(arms)
    for _ in range(votes):
        i, j = rng.permutation(len(utility))[:2] if len(utility) < 500 else rng.integers(len(utility), size=2)
        if i != j:
            seen = arms[[i, j]] if isinstance(arms, dl.ArmTable) else arms[i] - arms[j]
            policy.learn(seen, float(rng.random() < chance(utility[i] - utility[j])), layer=0)
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < chance(utility[duel.first] - utility[duel.second])))
        spent.append(time.process_time() - start)
    return 1e3 * float(np.median(spent))


def costs() -> list[str]:
    lines = [
        f"| policy | arms | {FEATURES} features | none | {FEATURES} features and arm effects | a feature each | snapshot, none |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in NAMES:
        for n in SIZES:
            rng = np.random.default_rng(n)
            features, utility = rng.normal(size=(n, FEATURES)), rng.normal(size=n)
            tables = (features, dl.ArmTable(n), dl.ArmTable(n, features))
            policies = [POLICIES[name](estimator="online", random_state=0) for _ in tables]
            spent = [milliseconds(policy, arms, utility, 2 * n) for policy, arms in zip(policies, tables, strict=True)]
            size = len(json.dumps(policies[1].snapshot())) / 1024
            if n in ONE_HOT:  # one feature per arm: the whole system is solved for every arm
                policy = POLICIES[name](estimator="online", random_state=0)
                spent.append(milliseconds(policy, np.eye(n), utility, 20, rounds=3))
            lines.append(
                f"| {name} | {n:,} | "
                + " | ".join(f"{ms:,.3f} ms" for ms in spent)
                + " |" * (n not in ONE_HOT)
                + f" | {size:,.0f} KiB |"
            )
    return lines


def study_costs(n: int = 2000, out: int = 16, rounds: int = 60) -> list[str]:
    """Time ask and tell in a study in memory, with some pending duels of other raters."""
    lines = ["| goal | features | ask | tell |", "|---|---:|---:|---:|"]
    rng = np.random.default_rng(0)
    features, utility = rng.normal(size=(n, FEATURES)), rng.normal(size=n)
    for goal in ("serve", "best", "rank"):
        for given in (features, None):
            study = create_study("s", storage="memory", goal=goal)
            study.add_arms([str(k) for k in range(n)], given)
            for k in range(out):
                study.ask(f"other {k}")
            spent = np.zeros((rounds, 2))
            for k in range(rounds):
                start = time.process_time()
                duel = study.ask("ana")
                middle = time.process_time()
                won = rng.random() < chance(utility[int(duel.first.id)] - utility[int(duel.second.id)])
                study.tell(duel, "first" if won else "second", rater="ana")
                spent[k] = middle - start, time.process_time() - middle
            ask, tell = 1e3 * np.median(spent, axis=0)
            lines.append(f"| {goal} | {FEATURES if given is not None else 'none'} | {ask:.1f} ms | {tell:.1f} ms |")
    return lines


# -- what it is worth ------------------------------------------------------------------------


def right_pairs(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of pairs in the right order."""
    first, second = np.triu_indices(len(truth), 1)
    return float(((found[first] - found[second]) * (truth[first] - truth[second]) > 0.0).mean())


Made = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray | None]]


def good(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Features explain all of a utility."""
    features = rng.normal(size=(n, 4))
    return features @ rng.normal(size=4) / 2.0 * np.sqrt(2.0), features


def half(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Features explain half of its variance."""
    utility, features = good(rng, n)
    return utility / np.sqrt(2.0) + rng.normal(size=n), features


def noise(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Features say nothing."""
    _, features = good(rng, n)
    return np.sqrt(2.0) * rng.normal(size=n), features


def plain_utilities(policy: Any, table: Any) -> np.ndarray:
    return policy.posterior(table).utilities if isinstance(table, dl.ArmTable) else table @ policy.theta_


def votes_until(
    name: str, table: Any, utility: np.ndarray, seed: int, done: Callable[[np.ndarray], bool], most: int
) -> int:
    """Return the votes until the estimate is good enough for the first time, checked after every fifth."""
    policy = POLICIES[name](estimator="online", random_state=seed)
    rng = np.random.default_rng([seed, 7])
    for t in range(1, most + 1):
        duel = policy.ask(table)
        policy.tell(duel, float(rng.random() < chance(utility[duel.first] - utility[duel.second])))
        if t % 5 == 0 and done(plain_utilities(policy, table)):
            return t
    return most


def interval(values: list[float]) -> str:
    error = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.0f} ± {error:.0f}"


def worth(n: int = 30, share: float = 0.85, most: int = 3000, runs: int = RUNS) -> list[str]:
    lines = [
        "| votes until | policy | features explain | no features | features alone | features and arm effects | more than with none |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for what, name in ((f"{share:.0%} of pairs in order", "UniformPair"), ("the best arm leads", "BestArmPair")):
        for made, words in ((good, "all"), (half, "half of the variance"), (noise, "nothing")):
            needed: list[list[float]] = [[], [], []]
            for seed in range(runs):
                utility, features = made(np.random.default_rng([seed, 11]), n)
                tables = (dl.ArmTable(n), features, dl.ArmTable(n, features))
                best = int(np.argmax(utility))

                def done(found: np.ndarray, utility: np.ndarray = utility, best: int = best, name: str = name) -> bool:
                    if name == "UniformPair":
                        return right_pairs(found, utility) >= share
                    return int(np.argmax(found)) == best and bool(found.any())

                for k, table in enumerate(tables):
                    needed[k].append(votes_until(name, table, utility, seed, done, most))
            cells = " | ".join(
                interval(each) + (" (not reached)" if np.mean(each) > 0.9 * most else "") for each in needed
            )
            more = interval([both - none for none, both in zip(needed[0], needed[2], strict=True)])
            lines.append(f"| {what} | {name} | {words} | {cells} | {more} |")
    return lines


def small(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Features explain all of a utility, and all utilities are close."""
    utility, features = good(rng, n)
    return 0.35 * utility, features


def small_noise(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Features say nothing, and all utilities are close."""
    utility, features = noise(rng, n)
    return 0.35 * utility, features


MARKS = (100, 300, 1000)
POOLED = (
    ("BestArmPair", "simple regret, in hundredths"),
    ("LocalPairUCB", "average regret, summed"),
    ("RankingPair", "% of pairs in order"),
)


def after_votes(name: str, table: Any, utility: np.ndarray, seed: int, ridge: float | None) -> list[float]:
    """What a policy has reached after each number of votes in `MARKS`."""
    policy = POLICIES[name](estimator="online", random_state=seed, ridge=ridge)
    rng, regret, reached = np.random.default_rng([seed, 23]), 0.0, []
    for t in range(1, MARKS[-1] + 1):
        duel = policy.ask(table, distinct=name != "LocalPairUCB")
        policy.tell(duel, float(rng.random() < chance(utility[duel.first] - utility[duel.second])))
        regret += utility.max() - 0.5 * (utility[duel.first] + utility[duel.second])
        if t in MARKS and name == "LocalPairUCB":
            reached.append(regret)
        elif t in MARKS:
            found = policy.posterior(table).utilities
            lost = 100.0 * float(utility.max() - utility[np.argmax(found)])
            reached.append(lost if name == "BestArmPair" else 100.0 * right_pairs(found, utility))
    return reached


def pooling(n: int = 30, runs: int = 40) -> list[str]:
    """Prior variances chosen by evidence, against variances of 1, run by run."""
    lines = [
        "| policy | features explain | arms have | variances of 1: after 100, 300 and 1,000 votes | by evidence | difference after 1,000 |",
        "|---|---|---|---:|---:|---:|",
    ]
    worlds = ((good, "all"), (half, "half"), (noise, "nothing"), (small, "all, small"), (small_noise, "nothing, small"))
    for name, measure in POOLED:
        for made, words in worlds:
            for with_features in (True, False):
                found: list[list[list[float]]] = [[], []]
                for seed in range(runs):
                    utility, features = made(np.random.default_rng([seed, 29]), n)
                    table = dl.ArmTable(n, features if with_features else None)
                    for k, ridge in enumerate((1.0, None)):
                        found[k].append(after_votes(name, table, utility, seed, ridge))
                fixed, chosen = np.array(found)
                cells = [" · ".join(f"{mean:.1f}" for mean in each.mean(axis=0)) for each in (fixed, chosen)]
                change = chosen[:, -1] - fixed[:, -1]
                error = 1.96 * change.std(ddof=1) / np.sqrt(runs)
                shown = "features" if with_features else "no features"
                lines.append(
                    f"| {name}, {measure} | {words} | {shown} | {cells[0]} | {cells[1]} | {change.mean():+.1f} ± {error:.1f} |"
                )
    return lines


def late_arms(n: int = 24, late: int = 8, early: int = 400, more: int = 200, runs: int = RUNS) -> list[str]:
    """Some arms join after 400 votes: pairs with a late arm that are in order, 200 votes later."""
    lines = [
        "| policy | utilities | at once, no votes on them yet | after 200 more votes | all arms there from the beginning |",
        "|---|---|---:|---:|---:|",
    ]
    for made, words, with_features in ((good, "features explain all", True), (noise, "no features", False)):
        found: dict[str, list[list[float]]] = {name: [[], [], []] for name in ("UniformPair", "LocalPairUCB")}
        for name, columns in found.items():
            for seed in range(runs):
                utility, features = made(np.random.default_rng([seed, 13]), n)
                shown = features if with_features else None
                everyone = dl.ArmTable(n, shown)
                first = everyone[np.arange(n - late)]
                for column, start in ((0, first), (2, everyone)):
                    policy = POLICIES[name](estimator="online", random_state=seed)
                    play(policy, start, utility, early, seed)
                    if column == 0:
                        columns[0].append(late_right(policy.posterior(everyone).utilities, utility, late))
                    play(policy, everyone, utility, more, seed + 1)
                    right = late_right(policy.posterior(everyone).utilities, utility, late)
                    columns[1 if column == 0 else 2].append(right)
        for name, columns in found.items():
            cells = " | ".join(percent(each) for each in columns)
            lines.append(f"| {name} | {words} | {cells} |")
    return lines


def play(policy: Any, table: Any, utility: np.ndarray, votes: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 17])
    for _ in range(votes):
        duel = policy.ask(table)
        policy.tell(duel, float(rng.random() < chance(utility[duel.first] - utility[duel.second])))


def late_right(found: np.ndarray, truth: np.ndarray, late: int) -> float:
    gaps, wanted = found[:, None] - found, truth[:, None] - truth
    return float((gaps[-late:, :-late] * wanted[-late:, :-late] > 0.0).mean())


def percent(values: list[float]) -> str:
    error = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{100 * np.mean(values):.1f} ± {100 * error:.1f} %"


def blocks(n: int = 1000, votes: int = 4000, runs: int = 10) -> list[str]:
    """Measure the loss if not all arms fit in the block: the recommended arm, and the order of all arms."""
    lines = [
        "| block | rank of the arm named by BestArmPair | by LocalPairUCB | pairs in order, UniformPair | ask + tell |",
        "|---:|---:|---:|---:|---:|",
    ]
    kept = arm_effects.BLOCK
    for block in (16, 64, 256, n):
        arm_effects.BLOCK = block
        columns: dict[str, list[float]] = {name: [] for name in ("BestArmPair", "LocalPairUCB", "UniformPair")}
        start = time.process_time()
        for name, column in columns.items():
            for seed in range(runs):
                utility = np.sqrt(2.0) * np.random.default_rng([seed, 19]).normal(size=n)
                policy, table = POLICIES[name](estimator="online", random_state=seed), dl.ArmTable(n)
                play(policy, table, utility, votes, seed)
                found = policy.posterior(table).utilities
                rank = 1 + int((utility > utility[np.argmax(found)]).sum())
                column.append(right_pairs(found, utility) if name == "UniformPair" else rank)
        spent = 1e3 * (time.process_time() - start) / (3 * runs * votes)
        cells = f"{interval(columns['BestArmPair'])} | {interval(columns['LocalPairUCB'])} | {percent(columns['UniformPair'])}"
        lines.append(f"| {block} | {cells} | {spent:.2f} ms |")
    arm_effects.BLOCK = kept
    return lines


PAGE = """# Arms without features, and arm effects

[arms.md](../guides/arms.md) says how to use them, [decision 27](../contributing/decisions/0027-arms-without-features.md) how they work.

## What they cost

CPU time of an ask with its tell, median of {rounds}, after two votes for each arm on random pairs.

{costs}

The same in a study in memory with 2,000 arms and 16 duels out with others:

{study}

## What they are worth

{runs} runs; utilities of variance 2, four features, 30 arms; at most 3,000 votes; ± is a 95 % interval of the mean. The last column
compares run by run: features and arm effects with no features.

{worth}

## What it is worth to choose the prior variances by evidence

40 runs, 30 arms, utilities of variance 2 ("small": 0.25). `ridge=1` fixes both prior variances at 1; without it votes choose them
([decision 49](../contributing/decisions/0049-prior-variances-by-evidence.md)). LocalPairUCB may show an arm alone. The last column
compares run by run.

{pooling}

## Arms that join late

8 of 24 arms join after 400 votes. The share of pairs of a late and an early arm that are in the right order:

{late}

## What the block costs

1,000 arms without features, utilities of variance 2, 4,000 votes, 10 runs. With a block of 1,000 the covariance is kept whole.

{blocks}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path)
    parser.add_argument("--only", choices=("costs", "study", "worth", "pooling", "late", "blocks"))
    given = parser.parse_args()
    parts = {
        "costs": costs,
        "study": study_costs,
        "worth": worth,
        "pooling": pooling,
        "late": late_arms,
        "blocks": blocks,
    }
    made = {name: "\n".join(part()) for name, part in parts.items() if given.only in (None, name)}
    for text in made.values():
        print(text, flush=True)
    if given.page is not None and given.only is None:
        text = PAGE.format(rounds=ROUNDS, runs=RUNS, **made)
        given.page.write_text(with_origin(text, "make bench-arm-effects"))


if __name__ == "__main__":
    main()
