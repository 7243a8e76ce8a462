"""`make bench-best`: which policy names the best arm, after how many votes? Written to docs/evidence/goal-best.md.

Finished runs are stored in out/goal-best, by the code that made them; `--runs`, `--problems` and `--policies` select a part.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import numpy as np

import duelist as dl
from benchmarks import DOCS, ROOT
from benchmarks.quality.goals import logs, peers
from benchmarks.quality.goals.evaluation import CHECKPOINTS, DELTA, Finding, play
from benchmarks.quality.goals.problems import GoalWorld, Problem, evaluation_problems, seeds
from duelist.core.arrays import Floats
from duelist.policies.base import Policy
from duelist.policies.engine import code_stamp
from duelist.research.origin import with_origin

PAGE = DOCS / "goal-best.md"
KEPT = ROOT / "out" / "goal-best"
RUNS = 64
SEED = 39
RESAMPLES = 2000
OURS, PEER, PLAIN = "BestArmPair", "TopTwoThompson", "UniformPair"
ARM_EFFECTS, RECOMMENDED = "BestArmPair, arm effects", "BestArmPair as recommended"
Contestant = Callable[[GoalWorld, int], tuple[Policy, Floats | dl.ArmTable]]


def best_arm_pair(world: GoalWorld, seed: int) -> tuple[Policy, Floats | dl.ArmTable]:
    """Return the library's policy: the exact estimate with features, an arm table without."""
    estimator = "exact" if world.features is not None else "online"
    return dl.BestArmPair(estimator=estimator, random_state=seed), world.table()


def with_arm_effects(world: GoalWorld, seed: int) -> tuple[Policy, Floats | dl.ArmTable]:
    """Features and arm effects, as in studies."""
    return dl.BestArmPair(estimator="online", random_state=seed), dl.ArmTable(world.n, world.features)


CONTESTANTS: dict[str, Contestant] = {
    OURS: best_arm_pair,
    ARM_EFFECTS: with_arm_effects,
    "ThompsonPair": lambda world, seed: (dl.ThompsonPair(random_state=seed), world.one_hot()),
    PEER: lambda world, seed: (peers.TopTwoThompson(seed), world.one_hot()),
    "OptimisticRival": lambda world, seed: (peers.OptimisticRival(seed), world.one_hot()),
    "LeastLead": lambda world, seed: (peers.LeastLead(seed), world.one_hot()),
    PLAIN: lambda world, seed: (dl.UniformPair(random_state=seed), world.one_hot()),
}
WITH_FEATURES_ONLY = (ARM_EFFECTS,)


# -- playing -----------------------------------------------------------------------------


@cache
def problems() -> dict[str, Problem]:
    return evaluation_problems()


def one(problem: str, contestant: str, run: int) -> Finding:
    world = problems()[problem].world(SEED, run)
    seed, luck = seeds(SEED, run)
    return play(*CONTESTANTS[contestant](world, seed), world, luck)


def findings(problem: str, contestant: str, runs: int, pool: ProcessPoolExecutor | None) -> list[Finding]:
    """Return all runs of a policy on a problem, stored ones first; without a pool, only those."""
    path = KEPT / stamp(contestant) / f"{problem} - {contestant}.json".replace("/", " ")
    kept = [_read(row) for row in json.loads(path.read_text())] if path.is_file() else []
    if pool is not None and len(kept) < runs:
        kept += pool.map(partial(one, problem, contestant), range(len(kept), runs))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([_written(finding) for finding in kept]))
    return kept[:runs]


def stamp(contestant: str) -> str:
    """Return a hash of the files that a run depends on: of this folder, and for policies of the library also theirs."""
    names = ("evaluation", "logs", "problems", "peers")
    mine = [zlib.crc32((Path(__file__).parent / f"{name}.py").read_bytes()) for name in names]
    engine = None if hasattr(peers, contestant) else code_stamp()
    return f"{zlib.crc32(repr((engine, mine)).encode()):08x}"


def _written(finding: Finding) -> dict[str, object]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(finding).items()}


def _read(row: dict[str, object]) -> Finding:
    return Finding(**{name: np.array(value) if isinstance(value, list) else value for name, value in row.items()})  # type: ignore[arg-type]


# -- the page ----------------------------------------------------------------------------


def interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    drawn = np.random.default_rng(0).choice(values, (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def told(values: Floats, digits: int) -> str:
    low, high = interval(values)
    return f"{values.mean():.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


Results = dict[str, dict[str, list[Finding]]]


def table(title: str, note: str, results: Results, cell: Callable[[str, str], str]) -> Iterator[str]:
    names = [name for name in CONTESTANTS if any(name in row for row in results.values())]
    yield from (f"## {title}", "", note, "")
    yield "| problem | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for problem, row in results.items():
        yield f"| {problem} | " + " | ".join(cell(problem, name) if name in row else "" for name in names) + " |"
    yield ""


def column(results: Results, problem: str, name: str, which: str, k: int) -> Floats:
    return np.array([getattr(finding, which)[k] for finding in results[problem][name]])


def against_the_peer(name: str, results: Results) -> Iterator[str]:
    """Compare simple regret with top-two Thompson sampling, run by run, at every checkpoint."""
    yield from (f"## {name} against {PEER}: simple regret minus that of the peer, run by run", "")
    yield "Below 0: less regret than the peer. The last row is the mean over the problems above."
    yield ""
    yield "| problem | " + " | ".join(f"{votes:,} votes" for votes in CHECKPOINTS) + " |"
    yield "|---|" + "---|" * len(CHECKPOINTS)

    def difference(problem: str, k: int) -> Floats:
        return column(results, problem, name, "regret", k) - column(results, problem, PEER, "regret", k)

    differences = {
        problem: [difference(problem, k) for k in range(len(CHECKPOINTS))]
        for problem in results
        if name in results[problem]
    }
    for problem, columns in differences.items():
        yield f"| {problem} | " + " | ".join(told(values, 4) for values in columns) + " |"
    means = [np.mean([columns[k] for columns in differences.values()], axis=0) for k in range(len(CHECKPOINTS))]
    yield "| **all** | " + " | ".join(told(values, 4) for values in means) + " |"
    yield ""


def as_recommended(results: Results) -> Results:
    """Arm effects where arms have features, since these arms stay; without features every arm has one anyway."""
    return {problem: row | {RECOMMENDED: row.get(ARM_EFFECTS, row[OURS])} for problem, row in results.items()}


def decisions(results: Results) -> Iterator[str]:
    most = CHECKPOINTS[-1]

    def cell(problem: str, name: str) -> str:
        rows = results[problem][name]
        votes = np.array([row.votes for row in rows], float)
        wrong = sum(row.decided is False for row in rows)
        open_runs = sum(row.decided is None for row in rows)
        ratio = ""
        if name != PLAIN and PLAIN in results[problem]:
            plain = np.array([row.votes for row in results[problem][PLAIN]], float)
            ratio = f", {votes.mean() / plain.mean():.2f} of uniform's"
        return f"{told(votes, 0)}{ratio}; {wrong} wrong, {open_runs} undecided"

    note = (
        f"Votes until the stopping rule rules all other arms out at error rate {DELTA:g}; a run without a decision counts {most:,} "
        "votes and is undecided, not wrong."
    )
    yield from table("Votes until a decision", note, results, cell)
    for name in CONTESTANTS:
        rows = [row for by in results.values() for row in by.get(name, ())]
        if rows:
            wrong, made = sum(row.decided is False for row in rows), sum(row.decided is not None for row in rows)
            yield f"- {name}: {wrong} of {made} decisions wrong, in {len(rows)} runs."
    yield ""


def abandoned(results: Results) -> Iterator[str]:
    """Count the runs that hardly ever showed the best arm."""
    few = 10

    def cell(problem: str, name: str) -> str:
        return str(sum(finding.shown <= few for finding in results[problem][name]))

    title = f"Runs in which the best arm was in at most {few} of {CHECKPOINTS[-1]:,} duels"
    yield from table(title, "An arm that features rule out need not be shown often.", results, cell)


SIZES = (
    ("12 arms, dim 4", 12, 4),
    ("100 arms, dim 16", 100, 16),
    ("1,000 arms, dim 64", 1000, 64),
    ("10,000 arms, dim 16", 10_000, 16),
)


def speeds() -> Iterator[str]:
    """Time an ask and a tell after 200 votes on fixed arms."""
    names = ("BestArmPair", "ThompsonPair", "LocalPairUCB", "UniformPair")
    yield from ("## Speed: milliseconds an ask and a tell, one-pass estimator, median of 50", "")
    yield from ("Compare columns, not numbers: other programs were running on the machine.", "")
    yield "| arms | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for title, n, dim in SIZES:
        arms = np.random.default_rng(0).normal(size=(n, dim))
        yield f"| {title} | " + " | ".join(f"{_milliseconds(name, arms):.3f}" for name in names) + " |"
    for n in (100, 1000, 10_000):
        free = [f"{_milliseconds(name, dl.ArmTable(n)):.3f}" if name != "ThompsonPair" else "" for name in names]
        yield f"| {n:,} arms without features | " + " | ".join(free) + " |"
    yield ""


def _milliseconds(name: str, arms: Floats | dl.ArmTable) -> float:
    policy, rng, times = getattr(dl, name)(estimator="online", random_state=0), np.random.default_rng(1), []
    for _ in range(250):
        began = time.perf_counter()
        duel = policy.ask(arms)
        asked = time.perf_counter() - began
        outcome = float(rng.random() < 1.0 / (1.0 + np.exp((duel.first - duel.second) / len(arms))))
        began = time.perf_counter()
        policy.tell(duel, outcome)
        times.append(asked + time.perf_counter() - began)
    return 1000.0 * float(np.median(times[-50:]))


def page(results: Results, runs: int) -> Iterator[str]:
    yield from ("# Naming the best arm", "")
    yield f"{runs} runs per problem; all policies meet the same worlds and the"
    yield "same random numbers. `benchmarks/quality/goals/` describes the problems (`problems.py`), the peers (`peers.py`), and the"
    yield "evaluation (`evaluation.py`), which recommends an arm from the votes alone, by the same rule for every policy. In brackets:"
    yield "95 % bootstrap intervals over runs."
    yield ""
    unplayed = [problem for problem in problems() if problem not in results]
    left_out = [*logs.missing(), *([f"not played this time: {', '.join(unplayed)}"] if unplayed else [])]
    yield from (f"- Not included: {line}" for line in left_out)
    if left_out:
        yield ""
    yield "As recommended: with a term of each arm's own beside what features say (`ArmTable(n, features)`), where there are features."
    yield ""
    for name in (RECOMMENDED, OURS, ARM_EFFECTS):
        yield from against_the_peer(name, as_recommended(results))
    for k, votes in enumerate(CHECKPOINTS):
        cell = partial(lambda k, problem, name: told(column(results, problem, name, "right", k), 2), k)
        yield from table(f"Chance that the named arm is the best, after {votes:,} votes", "", results, cell)
    for k, votes in enumerate(CHECKPOINTS):
        cell = partial(lambda k, problem, name: told(column(results, problem, name, "regret", k), 3), k)
        yield from table(f"Simple regret after {votes:,} votes", "In units of utility (log-odds).", results, cell)
    yield from decisions(results)
    yield from abandoned(results)
    yield from speeds()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--problems", nargs="*", default=None)
    parser.add_argument("--policies", nargs="*", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--kept", action="store_true", help="write the page of the runs there are, and play none")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    for line in logs.missing():
        print(f"not included: {line}")
    names = given.problems or list(problems())
    if given.kept:
        results = {problem: played(problem, given.policies, given.runs, None) for problem in names}
        results = {problem: row for problem, row in results.items() if {OURS, PEER, PLAIN} <= set(row)}
    else:
        with ProcessPoolExecutor(given.workers) as pool:
            results = {problem: played(problem, given.policies, given.runs, pool) for problem in names}
    given.page.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(page(results, given.runs)).rstrip() + "\n"
    given.page.write_text(with_origin(text, "make bench-best"))


def played(problem: str, names: Sequence[str], runs: int, pool: ProcessPoolExecutor | None) -> dict[str, list[Finding]]:
    features = problems()[problem].world(SEED, 0).features is not None
    row = {}
    for name in names:
        if not features and name in WITH_FEATURES_ONLY:
            continue
        began = time.perf_counter()
        found = findings(problem, name, runs, pool)
        if len(found) < runs:
            continue
        row[name] = found
        right = " ".join(f"{np.mean([f.right[k] for f in row[name]]):.2f}" for k in range(len(CHECKPOINTS)))
        regret = " ".join(f"{np.mean([f.regret[k] for f in row[name]]):.4f}" for k in range(len(CHECKPOINTS)))
        votes = np.mean([f.votes for f in row[name]])
        wrong = sum(f.decided is False for f in row[name])
        took = time.perf_counter() - began
        print(
            f"{problem:32} {name:24} right {right}  regret {regret}  votes {votes:5.0f} wrong {wrong} ({took:.0f} s)",
            flush=True,
        )
    return row


if __name__ == "__main__":
    main()
