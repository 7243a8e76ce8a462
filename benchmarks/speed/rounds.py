"""What a round costs on small problems: against the textbook, by part, and as t grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import duelist as dl
from benchmarks.speed import textbook

HORIZON, RUNS, DIM = 4000, 128, 5
REPEATS = 5
BLOCKS = 8
ARMS = np.array(list(product((-1.0, 1.0), repeat=DIM)))
LATER = (1_000, 10_000, 100_000)

BASELINES: dict[str, Callable[[int], Any]] = {
    "VACDB": lambda seed: textbook.TextbookVACDB(
        ARMS, HORIZON, seed, dl.VACDB.practical_multiplier, dl.VACDB.practical_ridge
    ),
    "MaxInP": lambda seed: textbook.TextbookMaxInP(ARMS, HORIZON, seed),
    "MaxPairUCB": lambda seed: textbook.TextbookMaxPairUCB(ARMS, HORIZON, seed),
    "CoLSTIM": lambda seed: textbook.TextbookCoLSTIM(ARMS, HORIZON, seed),
}


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def spread(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def theta(seed: int, dim: int = DIM) -> np.ndarray:
    direction = np.random.default_rng(seed).standard_normal(dim)
    return direction / np.linalg.norm(direction)


def simulation_rows() -> list[str]:
    """128 runs of 4,000 rounds against one textbook run of 4,000 rounds, in alternating blocks."""
    rows, totals = [], np.zeros(2)
    for name in BASELINES:
        dl.simulate(dl.make_policy(name, horizon=HORIZON), dl.environments.Hypercube(dim=DIM), 2, 2)
        costs = [simulation_costs(name, repeat) for repeat in range(REPEATS)]
        ours, theirs = ([float(side) for side in sides] for sides in zip(*costs, strict=True))
        ratio = np.median(theirs) * RUNS / np.median(ours)
        totals += np.median(theirs) * RUNS, np.median(ours)
        rows.append(f"| {name} | {spread(ours)} | {spread(theirs)} | {ratio:.0f} |")
        print(rows[-1], flush=True)
    rows.append(f"| all four | {totals[1]:.3g} | {totals[0] / RUNS:.3g} | {totals[0] / totals[1]:.0f} |")
    return rows


def simulation_costs(name: str, repeat: int) -> tuple[float, float]:
    """Seconds of all runs of duelist and of one textbook run, an eighth of each in turn.

    A slow second of the machine then hits both alike. Every block of ours is a whole `simulate`, set-up included.
    """
    policy, environment = dl.make_policy(name, horizon=HORIZON), dl.environments.Hypercube(dim=DIM)
    book = BASELINES[name](repeat)
    ours = theirs = 0.0
    for block in range(BLOCKS):
        seed = BLOCKS * repeat + block
        theirs += seconds(partial(textbook.play, book, theta(repeat), HORIZON // BLOCKS, seed))
        ours += seconds(partial(dl.simulate, policy, environment, HORIZON, RUNS // BLOCKS, seed))
    return ours, theirs


def live_rows() -> list[str]:
    """Ask and tell from Python over a whole run, against the textbook's on the same problem, in alternating blocks.

    Both play the published rule, under which an arm may meet itself.
    """
    rows = []
    for name in dl.policies.POLICIES:
        policy = dl.make_policy(name, horizon=HORIZON, random_state=0)
        sides = [Side(partial(policy.ask, ARMS, distinct=False), policy.tell)]
        if name in BASELINES:
            book = BASELINES[name](0)
            sides.append(Side(book.ask, partial(_tell_book, book)))
        play_live(sides, HORIZON)
        ours, *theirs = (float(np.mean(side.costs)) * 1e6 for side in sides)
        arithmetic = one_run(name) * 1e6
        cells = f"{theirs[0]:.0f} | {theirs[0] / ours:.0f}" if theirs else " | "
        rows.append(f"| {name} | {ours:.1f} | {arithmetic:.2f} | {ours - arithmetic:.1f} | {cells} |")
        print(rows[-1], flush=True)
    return rows


def one_run(name: str) -> float:
    """Seconds per round of one simulated run of the same problem: the arithmetic without Python."""
    environment = dl.environments.FixedArms(ARMS, theta=theta(0))
    policy = dl.make_policy(name, horizon=HORIZON)
    play = partial(dl.simulate, policy, environment, HORIZON, 8, 0, threads=1)
    play()
    return min(seconds(play) for _ in range(3)) / (8 * HORIZON)


def _tell_book(book: Any, duel: tuple[int, int], outcome: float) -> None:
    book.tell(*duel, outcome)


class Side:
    """One of several policies played side by side: its two verbs, its own outcomes, and what each round cost."""

    def __init__(self, ask: Callable, tell: Callable) -> None:
        self.ask, self.tell = ask, tell
        self.rng = np.random.default_rng(0)
        self.costs: list[float] = []

    def play(self, rounds: int, truth: np.ndarray) -> None:
        """Some rounds; the outcome is drawn outside the clock."""
        for _ in range(rounds):
            start = time.perf_counter()
            duel = self.ask()
            middle = time.perf_counter()
            i, j = duel
            outcome = float(self.rng.random() < 1.0 / (1.0 + np.exp(-(ARMS[i] - ARMS[j]) @ truth)))
            again = time.perf_counter()
            self.tell(duel, outcome)
            self.costs.append(time.perf_counter() - again + middle - start)


def play_live(sides: list[Side], rounds: int, block: int = 50) -> None:
    """All sides, a block of rounds each in turn, so that a slow minute of the machine hits them alike."""
    truth = theta(0)
    for _ in range(rounds // block):
        for side in sides:
            side.play(block, truth)


# -- by part ---------------------------------------------------------------------------


def part_rows(rounds: int = 300, times: int = 500) -> list[str]:
    """Nanoseconds of the parts of a round that can be called on their own, in the state after some rounds of play."""
    rows = []
    for name in BASELINES:
        policy = dl.make_policy(name, horizon=HORIZON, random_state=0)
        play_live([Side(partial(policy.ask, ARMS, distinct=False), policy.tell)], rounds)
        player, layer, z = policy._player, policy.main_layer_, ARMS[3] - ARMS[9]
        costs: dict[str, list[float]] = {"nothing": [], "learn": [], "select": [], "update": []}
        for k in range(times):
            outcome = float(k % 2)
            costs["nothing"].append(seconds(partial(player.forget, -1)))
            costs["learn"].append(seconds(partial(player.learn, z, outcome, 1.0, layer, 1.0)))
            costs["select"].append(seconds(partial(player.ask, ARMS, False)))
        for k in range(times):
            duel = player.ask(ARMS, True)  # two arms, so that there is something to learn
            costs["update"].append(seconds(partial(player.tell, duel, float(k % 2), 1.0)))
        nothing, learn, select, update = (1e9 * float(np.median(taken)) for taken in costs.values())
        cells = select - nothing, update - nothing, max(learn - update, 0.0), nothing
        rows.append(f"| {name} | {' | '.join(f'{cell:.0f}' for cell in cells)} |")
        print(rows[-1], flush=True)
    return rows


# -- as t grows ------------------------------------------------------------------------


def horizon_rows() -> tuple[list[str], dict[str, dict[str, list[float]]]]:
    """Microseconds per round at t = 1,000, 10,000 and 100,000; the last column is the growth."""
    cases = [(n, "fixed", "exact") for n in dl.policies.POLICIES]
    cases += [(n, "changing", "online") for n in dl.policies.POLICIES]
    rows: list[str] = []
    curves: dict[str, dict[str, list[float]]] = {}
    for name, kind, estimator in cases:
        costs = _costs_at(name, kind, estimator)
        curves.setdefault(f"{kind} arms, {estimator} estimator", {})[name] = costs
        cells = " | ".join(f"{c:.2f}" for c in costs)
        rows.append(f"| {name} | {kind} | {estimator} | {cells} | {costs[-1] / costs[0]:.2f} |")
        print(rows[-1], flush=True)
    return rows, curves


class Marathon:
    """One policy on fixed or changing arms, from its first round to its last.

    Fixed arms are 32 random ones, so that their differences are all distinct. The self-duels of a policy that has
    made up its mind cost nothing and would flatter it: the truth is flat enough to keep every policy asking.
    """

    def __init__(self, policy: dl.NativePolicy, kind: str) -> None:
        rng = np.random.default_rng(1)
        self.policy = policy
        self.sets = rng.standard_normal((1000 if kind == "changing" else 1, 32, DIM))
        self.uniform = rng.random(1009)
        self.truth = 0.05 * theta(1)
        self.t = 0

    def play(self, rounds: int) -> list[float]:
        """Some rounds; the seconds of each, its outcome drawn outside the clock."""
        costs = []
        for _ in range(rounds):
            arms = self.sets[self.t % len(self.sets)]
            start = time.perf_counter()
            duel = self.policy.ask(arms, distinct=False)
            middle = time.perf_counter()
            margin = (arms[duel.first] - arms[duel.second]) @ self.truth
            outcome = 1.0 if self.uniform[self.t % 1009] < 1.0 / (1.0 + np.exp(-margin)) else 0.0
            again = time.perf_counter()
            self.policy.tell(duel, outcome)
            costs.append(time.perf_counter() - again + middle - start)
            self.t += 1
        return costs


def _costs_at(name: str, kind: str, estimator: str, blocks: int = 20, block: int = 25, twins: int = 2) -> list[float]:
    """Median microseconds per round from each t on: policies of every age, timed in alternating blocks.

    The fastest of some policies of the same age counts, since the place of its memory makes one slower than another.
    """
    runners = []
    for begin, _ in product(LATER, range(twins)):
        policy = dl.make_policy(name, horizon=LATER[-1] + 500, estimator=estimator, random_state=0)
        runners.append(Marathon(policy, kind))
        runners[-1].play(begin)
    costs: list[list[float]] = [[] for _ in runners]
    for _ in range(blocks):
        for mine, runner in zip(costs, runners, strict=True):
            mine += runner.play(block)
    medians = np.array([np.median(mine) for mine in costs]).reshape(len(LATER), twins)
    return [float(cost) * 1e6 for cost in medians.min(axis=1)]
