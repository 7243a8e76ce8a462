"""`make bench-systems`: ways to choose pairs and prompts in a study of systems; writes docs/evidence/systems.md.

    python -m benchmarks.quality.systems [--runs 100] [--data FOLDER] [--page FILE]

Three ways to ask are compared: that of a study of systems, uniform pairs on uniform prompts, and a policy that takes every
answer for an arm of its own, on uniform prompts. Whatever asks, systems are ranked by the same fit, so that the ways
differ in their votes alone.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from scipy.stats import kendalltau

from benchmarks.quality.intervals import answers, made_log
from duelist.core.arms import ArmTable
from duelist.policies import Policy, make_policy
from duelist.research.datasets import load_llmfao
from duelist.research.origin import with_origin
from duelist.study import Outcome
from duelist.study.analysis import fit_votes

NU = 0.55
"""About 20 % ties between equal systems."""
GOALS = {"best": "BestArmPair", "rank": "RankingPair"}
TAU = 0.9
RESAMPLES = 2000
OUTCOMES = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE)


class Place(NamedTuple):
    """What is compared, and how votes vary, in log-odds."""

    name: str
    systems: int
    prompts: int
    budget: int
    runs: int
    prompt_sd: float = 0.5
    """Standard deviation of an answer's utility about its system's."""
    rater_sd: float = 0.5
    """Standard deviation of a rater's utility of a system about the crowd's."""
    nu: float = NU
    utilities: tuple[float, ...] = ()
    """Those of the systems; drawn from a standard normal distribution for each run if empty."""
    raters: int = 20
    tau: float = TAU


class World:
    """The systems, answers and raters of one run."""

    def __init__(self, place: Place, rng: np.random.Generator) -> None:
        self.place, self.rng = place, rng
        drawn = rng.normal(size=place.systems)
        utilities = np.array(place.utilities) if place.utilities else drawn
        self._answers = utilities + place.prompt_sd * rng.normal(size=(place.prompts, place.systems))
        self._tastes = place.rater_sd * rng.normal(size=(place.raters, place.systems))
        self.truth = self._answers.mean(axis=0) + self._tastes.mean(axis=0)

    def vote(self, first: int, second: int, prompt: int, rater: int) -> int:
        """Return 0 if the first system wins, 1 if the second does, 2 for a tie."""
        gap = self._answers[prompt, first] - self._answers[prompt, second]
        gap += self._tastes[rater, first] - self._tastes[rater, second]
        return int(answers(np.array([gap]), self.place.nu, self.rng.random(1))[0])


class Asking(Protocol):
    """A way to choose two systems and a prompt."""

    def ask(self) -> tuple[int, int, int]: ...
    def tell(self, outcome: int) -> None: ...


class Uniform:
    """Uniform pairs of systems on uniform prompts."""

    def __init__(self, place: Place, goal: str, rng: np.random.Generator) -> None:
        self._place, self._rng = place, rng

    def ask(self) -> tuple[int, int, int]:
        first, second = self._rng.choice(self._place.systems, 2, replace=False).tolist()
        return first, second, int(self._rng.integers(self._place.prompts))

    def tell(self, outcome: int) -> None:
        pass


class PerSystem:
    """The rule of a study of systems: the policy chooses two systems, shown on the prompt where their answers were least."""

    def __init__(self, place: Place, goal: str, rng: np.random.Generator) -> None:
        self._rng, self._policy = rng, _policy(goal, rng)
        self._arms = ArmTable.from_checked(np.arange(place.systems), np.empty((place.systems, 0)))
        self._shown = np.zeros((place.systems, place.prompts), np.int64)

    def ask(self) -> tuple[int, int, int]:
        self._duel = self._policy.ask(self._arms, distinct=True)
        pair = list(self._duel)
        order = np.lexsort(
            (self._rng.random(self._shown.shape[1]), self._shown.sum(axis=0), self._shown[pair].sum(axis=0))
        )
        prompt = int(order[0])
        self._shown[pair, prompt] += 1
        return pair[0], pair[1], prompt

    def tell(self, outcome: int) -> None:
        self._policy.tell(self._duel, (1.0, 0.0, 0.5)[outcome])


class PerArm:
    """Every answer is an arm; the prompt is drawn at random, and the policy chooses among its answers."""

    def __init__(self, place: Place, goal: str, rng: np.random.Generator) -> None:
        self._place, self._rng, self._policy = place, rng, _policy(goal, rng)

    def ask(self) -> tuple[int, int, int]:
        n = self._place.systems
        prompt = int(self._rng.integers(self._place.prompts))
        arms = ArmTable.from_checked(np.arange(prompt * n, (prompt + 1) * n), np.empty((n, 0)))
        self._duel = self._policy.ask(arms, distinct=True)
        return (*self._duel, prompt)

    def tell(self, outcome: int) -> None:
        self._policy.tell(self._duel, (1.0, 0.0, 0.5)[outcome])


WAYS: dict[str, type[PerSystem | Uniform | PerArm]] = {"systems": PerSystem, "uniform": Uniform, "per answer": PerArm}


def _policy(goal: str, rng: np.random.Generator) -> Policy:
    return make_policy(GOALS[goal], estimator="online", random_state=int(rng.integers(2**31)))


def run(place: Place, way: str, goal: str, seed: int) -> float:
    """Return the votes from which on the fit names the best system, or ranks at `TAU`; infinity if beyond the budget."""
    world = World(place, np.random.default_rng((seed, 0)))
    asking = WAYS[way](place, goal, np.random.default_rng((seed, 1)))
    names = [f"s{k}" for k in range(place.systems)]
    rows, reached = [], float("inf")
    step = max(place.budget // 40, 1)
    for k in range(place.budget):
        first, second, prompt = asking.ask()
        outcome = world.vote(first, second, prompt, k % place.raters)
        asking.tell(outcome)
        rows.append((first, second, outcome, k % place.raters, prompt))
        if (k + 1) % step:
            continue
        one, other, said, rater, about = np.array(rows).T
        log = made_log(one, other, said, place.systems, rater, about)
        mean = fit_votes(log, names, clusters=False, of="system").whole.mean
        at_best = np.argmax(mean) == np.argmax(world.truth)
        right = at_best if goal == "best" else kendalltau(mean, world.truth).statistic >= place.tau
        reached = min(reached, k + 1) if right else float("inf")
    return reached


def median_with_interval(votes: list[float]) -> tuple[float, float, float]:
    """Return the median, and its 95 % interval by the bootstrap."""
    rng = np.random.default_rng(0)
    drawn = rng.choice(np.sort(votes), (RESAMPLES, len(votes)))
    low, high = np.quantile(np.quantile(drawn, 0.5, axis=1, method="lower"), [0.025, 0.975], method="lower")
    return float(np.quantile(votes, 0.5, method="lower")), float(low), float(high)


def llmfao_place(folder: str | None) -> Place:
    """Return a place like the log of llmfao: the utilities, deviations and ties that are fitted to its votes."""
    votes = list(load_llmfao(folder))
    names, prompts, raters = (
        sorted(each)
        for each in (
            {v.first for v in votes} | {v.second for v in votes},
            {v.context for v in votes},
            {v.rater for v in votes},
        )
    )
    columns = [
        (
            names.index(v.first),
            names.index(v.second),
            OUTCOMES.index(v.outcome),
            raters.index(v.rater),
            prompts.index(v.context),
        )
        for v in votes
    ]
    first, second, outcome, rater, prompt = np.array(columns).T
    fit = fit_votes(made_log(first, second, outcome, len(names), rater, prompt), names, of="system").whole
    sizes = [float(np.sqrt(fit.taste[kind])) for kind in ("prompt", "rater")]
    utilities = tuple(fit.mean.tolist())
    return Place(
        "like llmfao", len(names), len(prompts), 4000, 20, *sizes, float(np.exp(fit.tie)), utilities, len(raters), 0.8
    )


def places(folder: str | None, runs: int) -> tuple[Place, ...]:
    """Return what is compared."""
    return (
        Place("12 x 40", 12, 40, 1600, runs),
        Place("20 x 500", 20, 500, 4000, runs // 2),
        llmfao_place(folder)._replace(runs=runs // 2),
    )


def _measured(job: tuple[Place, str, str]) -> list[float]:
    place, way, goal = job
    return [run(place, way, goal, seed) for seed in range(place.runs)]


def cell(votes: list[float], budget: int) -> str:
    """Return the median votes with interval, and the share of runs that came so far."""

    def said(number: float) -> str:
        return f"> {budget:,}" if number == float("inf") else f"{number:,.0f}"

    middle, low, high = median_with_interval(votes)
    share = float(np.mean(np.isfinite(votes)))
    return f"{said(middle)} ({said(low)} to {said(high)}), {share:.0%}"


PROSE = """# Choosing pairs and prompts

Systems answer prompts, and raters vote. Three ways to choose the two systems and the prompt of
a vote are compared; all votes are then fitted alike, by system.

- systems: the rule of a study of systems. The policy of the goal chooses two systems, which are compared on the prompt where
  their two answers were shown least.
- uniform: two systems and a prompt at random.
- per answer: every answer is a separate arm. The prompt is drawn at random, and the policy of the goal chooses two of its
  answers.

"Best" counts votes until the best system leads for good, with the policy of the goal "best" ({best}); "rank" until
Kendall's tau with the true order stays at {tau} or above ({low_tau} like llmfao, which has 59 systems), with that of the goal "rank"
({rank}). The entries are the median over runs, its 95 % interval (bootstrap), and the share of runs that came so far within the
budget. The truth is the mean utility over the prompts and raters of the run. Utilities of systems have the standard deviation
1, those of an answer about its system's 0.5, and those of a rater 0.5, with about 20 % ties among equals. "Like llmfao" has the
values fitted to that log: {llmfao}. Where intervals overlap, these runs do not tell the ways apart.

| systems x prompts | goal | runs | votes at most | systems | uniform | per answer |
|---|---|---:|---:|---:|---:|---:|
{table}
"""


def main() -> None:
    """Measure what the file of rows has not, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--data", help="the folder of the real logs")
    parser.add_argument("--jobs", type=int, help="processes; one per core by default")
    parser.add_argument("--rows", type=Path, default=Path("out/evidence/systems.jsonl"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    compared = places(options.data, options.runs)
    jobs = [(place, way, goal) for place in compared for goal in GOALS for way in WAYS]
    known = {
        tuple(row["key"]): row["votes"]
        for row in map(json.loads, options.rows.read_text().splitlines() if options.rows.exists() else [])
    }
    missing = [job for job in jobs if (job[0].name, job[1], job[2]) not in known]
    with ProcessPoolExecutor(options.jobs) as pool, options.rows.open("a") as file:
        for (place, way, goal), votes in zip(missing, pool.map(_measured, missing), strict=True):
            print(json.dumps({"key": (place.name, way, goal), "votes": votes}), file=file, flush=True)
            known[place.name, way, goal] = votes
            print(place.name, goal, way, cell(votes, place.budget), flush=True)
    lines = [
        f"| {place.name} | {goal} | {place.runs} | {place.budget:,} | "
        + " | ".join(cell(known[place.name, way, goal], place.budget) for way in WAYS)
        + " |"
        for place in compared
        for goal in GOALS
    ]
    real = compared[-1]
    llmfao = (
        f"{real.systems} systems on {real.prompts} prompts, {real.raters} raters, standard deviations {np.std(real.utilities):.2f} of "
        f"systems, {real.prompt_sd:.2f} of answers and {real.rater_sd:.2f} of raters"
    )
    table = "\n".join(lines)
    page = PROSE.format(table=table, tau=TAU, low_tau=real.tau, llmfao=llmfao, **GOALS)
    print(page)
    if options.page is not None:
        options.page.write_text(with_origin(page, "make bench-systems"))


if __name__ == "__main__":
    main()
