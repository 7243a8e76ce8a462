"""`make bench-system-intervals`: coverage of intervals of systems on prompts; writes docs/evidence/system-intervals.md.

    python -m benchmarks.quality.system_intervals [--logs 1000] [--adaptive-logs 1000] [--page FILE]

8 systems answer 40 prompts, and 20 raters vote. Each answer deviates from its system's utility, and raters differ in their
tastes; both are drawn anew for every log, as are utilities. The truth is the utility of the crowd: that of the model
closest to how an average rater votes on an average prompt.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.quality.intervals import answers, made_log
from duelist.core.arms import ArmTable
from duelist.model.answers import PAIR, PAIR_WITH_TIES
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes
from duelist.policies import make_policy
from duelist.research.origin import with_origin
from duelist.study.analysis import VoteTable, fit_votes

SYSTEMS, PROMPTS, RATERS = 8, 40, 20
TIES = {"none": 0.0, "some": 0.55, "many": 1.75}
FEW, MANY = 200, 2000
SPREAD_95 = 1.959963984540054
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class SystemCell(NamedTuple):
    """The settings of a cell."""

    ties: str = "some"
    votes: int = FEW
    prompts: float = 0.0
    """Standard deviation of an answer's utility about its system's."""
    raters: float = 0.0
    """Standard deviation of a rater's utility of a system about the crowd's."""
    adaptive: bool = False


class Coverage(NamedTuple):
    """Share of intervals that hold, with clusters and without, and the standard error over logs."""

    logs: int
    ties: float
    held: float
    error: float
    naive: float
    half_width: float


def crowd(utilities: np.ndarray, deviation: float, nu: float) -> np.ndarray:
    """Return the utilities of the model closest to all votes together, for gaps with this standard deviation."""
    first, second = np.triu_indices(SYSTEMS, 1)
    gap = (utilities[first] - utilities[second])[:, None] + deviation * _NODES
    one, other = np.exp(gap / 2.0), np.exp(-gap / 2.0)
    shares = np.stack([one, other, np.full_like(one, nu)]) / (one + other + nu) @ _WEIGHTS
    answer = PAIR_WITH_TIES if nu else PAIR
    counts = 1e4 * shares[: len(answer.outcomes)].T
    return fit(Votes(SYSTEMS, np.stack([first, second], axis=1), counts), Utility((arm_effects(SYSTEMS),)), answer).mean


class World:
    """One log's utilities, deviations and tastes."""

    def __init__(self, rng: np.random.Generator, cell: SystemCell) -> None:
        self.rng, self.nu = rng, TIES[cell.ties]
        self.utilities = rng.normal(size=SYSTEMS)
        self.answers = cell.prompts * rng.normal(size=(PROMPTS, SYSTEMS))
        self.tastes = cell.raters * rng.normal(size=(RATERS, SYSTEMS))
        self.truth = crowd(self.utilities, float(np.sqrt(2.0 * (cell.prompts**2 + cell.raters**2))), self.nu)

    def vote(self, first: np.ndarray, second: np.ndarray, prompt: np.ndarray, rater: np.ndarray) -> np.ndarray:
        """Return outcomes of votes."""
        one, other = (self.utilities[k] + self.answers[prompt, k] + self.tastes[rater, k] for k in (first, second))
        return answers(one - other, self.nu, self.rng.random(len(first)))


def random_log(world: World, votes: int) -> VoteTable:
    """Return votes on random pairs and prompts, by raters in turn."""
    rng, rater = world.rng, np.arange(votes) % RATERS
    first, prompt = rng.integers(SYSTEMS, size=votes), rng.integers(PROMPTS, size=votes)
    second = (first + rng.integers(1, SYSTEMS, size=votes)) % SYSTEMS
    return made_log(first, second, world.vote(first, second, prompt, rater), SYSTEMS, rater, prompt)


def adaptive_log(world: World, votes: int) -> VoteTable:
    """Return votes on pairs that the policy of the goal rank chooses, on the prompt where their answers were shown least."""
    policy = make_policy("RankingPair", estimator="online", random_state=int(world.rng.integers(2**31)))
    arms = ArmTable.from_checked(np.arange(SYSTEMS), np.empty((SYSTEMS, 0)))
    shown = np.zeros((SYSTEMS, PROMPTS), np.int64)
    rows = []
    for k in range(votes):
        duel = policy.ask(arms, distinct=True)
        pair = np.array([tuple(duel)])
        total = shown[pair[0]].sum(axis=0)
        prompt = int(world.rng.choice(np.flatnonzero(total == total.min())))
        shown[pair[0], prompt] += 1
        outcome = int(world.vote(pair[:, 0], pair[:, 1], np.array([prompt]), np.array([k % RATERS]))[0])
        policy.tell(duel, (1.0, 0.0, 0.5)[outcome])
        rows.append((*pair[0], outcome, k % RATERS, prompt))
    first, second, outcome, rater, prompt = np.array(rows).T
    return made_log(first, second, outcome, SYSTEMS, rater, prompt)


def coverage(cell: SystemCell, logs: int, seed: int = 0) -> Coverage:
    """Return how often intervals hold over simulated logs."""
    names = [f"s{k}" for k in range(SYSTEMS)]
    held, naive, ties, widths = [], [], [], []
    for k in range(logs):
        world = World(np.random.default_rng((seed, k)), cell)
        log = (adaptive_log if cell.adaptive else random_log)(world, cell.votes)
        ties.append(np.mean(log.outcome == 2))
        for clusters, found in ((True, held), (False, naive)):
            posterior = fit_votes(log, names, clusters=clusters, of="system").posterior
            half = SPREAD_95 * np.sqrt(posterior.variance)
            found.append(np.mean(np.abs(world.truth - posterior.mean) <= half))
            if clusters:
                widths.append(half.mean())
    return Coverage(
        logs,
        float(np.mean(ties)),
        float(np.mean(held)),
        float(np.std(held) / np.sqrt(logs)),
        float(np.mean(naive)),
        float(np.mean(widths)),
    )


@cache
def cells() -> tuple[SystemCell, ...]:
    """Return all cells: random pairs in every combination; fewer with chosen pairs, which take longer."""
    deviations = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5), (1.0, 1.0)]
    random = [SystemCell(ties, votes, *sizes) for votes in (FEW, MANY) for sizes in deviations for ties in TIES]
    few = [
        SystemCell(ties, FEW, *sizes, adaptive=True)
        for sizes in deviations
        for ties in TIES
        if ties == "some" or sizes in {(0.0, 0.0), (0.5, 0.5)}
    ]
    many = [SystemCell("some", MANY, *sizes, adaptive=True) for sizes in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0))]
    return (*random, *few, *many)


def table(rows: list[tuple[SystemCell, Coverage]]) -> str:
    """Return the rows of one table."""
    lines = [
        "| votes | prompts | raters | ties | logs | intervals that hold | without clusters | half width |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {cell.votes:,} | {cell.prompts:g} | {cell.raters:g} | {found.ties:.0%} | {found.logs:,} "
        f"| {100 * found.held:.1f} ± {100 * found.error:.1f} % | {100 * found.naive:.1f} % | {found.half_width:.2f} |"
        for cell, found in rows
    ]
    return "\n".join(lines)


PROSE = """# Intervals of systems on prompts

{systems} systems answer {prompts} prompts, and {raters} raters vote. "prompts" is the standard
deviation of an answer's utility about that of its system, "raters" that of a rater's own utility of a system about the crowd's;
both in log-odds, drawn anew for every log, as are the utilities (standard deviation 1). The truth is the utility of the crowd.
"Intervals that hold" is the share of all systems' 95 % intervals that hold it, with the standard error over logs; the aim is 93
to 97 %. "Without clusters" takes all votes for independent (`clusters=False`).

## Random pairs and prompts

{random}

{conclusion_random}

## Pairs that the policy chooses

Pairs by the policy of the goal rank, each on the prompt where the two answers were shown least.

{adaptive}

{conclusion_adaptive}

## What breaks coverage

{breaks}
"""


def conclusion(rows: list[tuple[SystemCell, Coverage]]) -> str:
    """Return how many cells are within the aim, and which is worst."""
    inside = sum(0.93 <= found.held <= 0.97 for _, found in rows)
    cell, worst = min(rows, key=lambda row: row[1].held)
    naive = min(found.naive for _, found in rows)
    return (
        f"{inside} of {len(rows)} lines are within 93 to 97 %. The lowest is {100 * worst.held:.1f} %, with {cell.votes:,} votes, prompts "
        f"{cell.prompts:g} and raters {cell.raters:g}. Without clusters the lowest is {100 * naive:.1f} %."
    )


def breaks(random: list[tuple[SystemCell, Coverage]], adaptive: list[tuple[SystemCell, Coverage]]) -> str:
    """Say what breaks coverage, by how much, and the remedy."""
    known = dict(random)
    pairs = [(found, known[cell._replace(adaptive=False)]) for cell, found in adaptive]
    change, error = min(
        (chosen.held - uniform.held, float(np.hypot(chosen.error, uniform.error))) for chosen, uniform in pairs
    )
    cell, worst = min(known.items(), key=lambda row: row[1].naive)
    return (
        f"- Votes of one rater, and on one prompt, depend on each other. Without clusters, {cell.votes:,} votes with deviations of "
        f"{cell.prompts:g} and tastes of {cell.raters:g} hold {100 * worst.naive:.1f} %. The remedy is the default, which counts both "
        f"kinds of clusters: {100 * worst.held:.1f} %.\n"
        f"- Pairs that the policy chooses change the coverage by at most {-100 * change:.1f} ± {100 * error:.1f} points against random "
        "pairs with the same votes, and need no remedy."
    )


def read_rows(path: Path) -> dict[SystemCell, Coverage]:
    """Return the cells that a file of JSON lines holds."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        row = json.loads(line)
        found[SystemCell(**{name: row[name] for name in SystemCell._fields})] = Coverage(**row["found"])
    return found


def main() -> None:
    """Measure all cells that the file of rows has not, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=Path("out/evidence/system-intervals.jsonl"))
    parser.add_argument("--pairs", choices=("random", "adaptive"), help="measure only these cells")
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--adaptive-logs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, help="processes; one per core by default")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    known = read_rows(options.rows)
    wanted = (False, True) if options.pairs is None else (options.pairs == "adaptive",)
    missing = [cell for cell in cells() if cell not in known and cell.adaptive in wanted]
    missing.sort(key=lambda cell: not cell.adaptive)  # they take longest
    logs = [options.adaptive_logs if cell.adaptive else options.logs for cell in missing]
    with ProcessPoolExecutor(options.jobs) as pool, options.rows.open("a") as file:
        for cell, found in zip(missing, pool.map(coverage, missing, logs), strict=True):
            print(json.dumps(cell._asdict() | {"found": found._asdict()}), file=file, flush=True)
            print(cell, found, flush=True)
    rows = list(read_rows(options.rows).items())
    if len(rows) < len(cells()):
        print(f"{len(rows)} of {len(cells())} cells are measured: the page needs all")
        return
    order = {cell: k for k, cell in enumerate(cells())}
    rows.sort(key=lambda row: order[row[0]])
    random, adaptive = ([row for row in rows if row[0].adaptive == flag] for flag in (False, True))
    page = PROSE.format(
        systems=SYSTEMS,
        prompts=PROMPTS,
        raters=RATERS,
        random=table(random),
        conclusion_random=conclusion(random),
        adaptive=table(adaptive),
        conclusion_adaptive=conclusion(adaptive),
        breaks=breaks(random, adaptive),
    )
    print(page)
    if options.page is not None:
        options.page.write_text(with_origin(page, "make bench-system-intervals"))


if __name__ == "__main__":
    main()
