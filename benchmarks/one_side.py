"""One side of `benchmarks.before`: answers requests to time a line, with whichever duelist it finds.

Started as a script with the interpreter and the `src` of one checkout. A request is the name of a case a line; the answer is
the wall-clock and the processor seconds of one block of it, a line too. What a block needs is made when it is first
asked for. Only what every version of the library has is used.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import duelist as dl

Block = Callable[[], tuple[float, float]]

HORIZON, DIM = 4000, 5
ARMS = np.array(list(product((-1.0, 1.0), repeat=DIM)))
POLICIES = tuple(dl.policies.POLICIES)
SIMULATED = ("VACDB", "MaxInP", "MaxPairUCB", "CoLSTIM", "LocalPairUCB", "ThompsonPair")
BATCHED = ("MaxPairUCB", "MaxInP", "VACDB", "LocalPairUCB")


class Clock:
    """Adds up the wall-clock and the processor time of what runs inside it; the latter is that of all threads."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def __enter__(self) -> Clock:
        self.wall -= time.perf_counter()
        self.processor -= time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.processor += time.process_time()
        self.wall += time.perf_counter()


def timed(action: Callable[[], object]) -> tuple[float, float]:
    with Clock() as clock:
        action()
    return clock.wall, clock.processor


def published(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Ask by the published rule, which was the only one once."""
    return partial(ask, distinct=False) if "distinct" in inspect.signature(ask).parameters else ask


# -- cases -------------------------------------------------------------------------------


def simulation(name: str) -> Block:
    """16 runs of 4,000 rounds on the hypercube."""
    policy, environment = dl.make_policy(name, horizon=HORIZON), dl.environments.Hypercube(dim=DIM)
    dl.simulate(policy, environment, 2, 2)
    return lambda: timed(lambda: dl.simulate(policy, environment, HORIZON, 16, 0))


class Live:
    """Ask and tell from Python on given sets of arms; a block is some rounds, the outcomes drawn outside the clock."""

    def __init__(self, policy: Any, sets: np.ndarray, truth: np.ndarray, rounds: int) -> None:
        self.ask, self.tell = published(policy.ask), policy.tell
        self.sets, self.truth, self.rounds = sets, truth, rounds
        self.luck = np.random.default_rng(0)
        self.t = 0

    def __call__(self) -> tuple[float, float]:
        wall, before = 0.0, time.process_time()
        around = 0.0
        for _ in range(self.rounds):
            arms = self.sets[self.t % len(self.sets)]
            start = time.perf_counter()
            duel = self.ask(arms)
            middle = time.perf_counter()
            gap = (arms[duel.first] - arms[duel.second]) @ self.truth
            outcome = 1.0 if self.luck.random() < 1.0 / (1.0 + np.exp(-gap)) else 0.0
            again = time.perf_counter()
            self.tell(duel, outcome)
            end = time.perf_counter()
            wall += end - again + middle - start
            around += again - middle
            self.t += 1
        return wall / self.rounds, max(time.process_time() - before - around, 0.0) / self.rounds


def direction(dim: int) -> np.ndarray:
    theta = np.random.default_rng(0).standard_normal(dim)
    return theta / np.linalg.norm(theta)


def live(name: str) -> Block:
    """32 arms, 5 features, one run from its first round on."""
    warm = dl.make_policy(name, horizon=HORIZON, random_state=0)
    warm.tell(published(warm.ask)(ARMS), 1.0)
    return Live(dl.make_policy(name, horizon=HORIZON, random_state=0), ARMS[None], direction(DIM), 200)


def later(name: str, kind: str, begin: int) -> Block:
    """From round `begin` on: fixed arms and the exact estimator, or changing arms and the one-pass estimator."""
    estimator = "exact" if kind == "fixed" else "online"
    policy = dl.make_policy(name, horizon=100_500, estimator=estimator, random_state=0)
    sets = np.random.default_rng(1).standard_normal((1 if kind == "fixed" else 1000, 32, DIM))
    play = Live(policy, sets, 0.05 * direction(DIM), begin)
    play()
    play.rounds = 25
    return play


def dimension(dim: int, estimator: str) -> Block:
    """8 changing arms."""
    policy = dl.MaxPairUCB(horizon=1000, estimator=estimator, random_state=0)
    sets = np.random.default_rng(0).standard_normal((30, 8, dim)) / np.sqrt(dim)
    play = Live(policy, sets, np.zeros(dim), 15)
    play()
    play.rounds = 1
    return play


def best_pair(n_arms: int, dim: int, duels: int, fitted: bool) -> Block:
    """`duelist.best_pair` of normal arms after random duels; without an estimate, widths alone count."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((n_arms, dim))
    truth = rng.standard_normal(dim)
    truth /= np.linalg.norm(truth)
    i, j = rng.integers(n_arms, size=(2, duels))
    z = arms[i] - arms[j]
    outcomes = (rng.random(duels) < 1.0 / (1.0 + np.exp(-z @ truth))).astype(float)
    theta = np.asarray(dl.fit_mle(z, outcomes).theta) if fitted else np.zeros(dim)
    precision, radius = np.eye(dim) + z.T @ z, float(np.sqrt(dim * np.log(duels)))
    action = partial(dl.best_pair, arms, theta, precision, radius)
    action()
    return lambda: timed(action)


def batch(name: str, k: int | None) -> Block:
    """`ask_batch` of 10,000 contexts with 8 candidates each, 256 features."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((10_000, 8, 256)) / 16.0
    policy = dl.make_policy(name, horizon=100_000, random_state=0)
    ask_batch = published(policy.ask_batch)
    for _, duel in ask_batch(arms[:200]):
        policy.tell(duel, float(rng.random() < 0.5))
    ask_batch(arms[:8], k=1)
    return lambda: timed(lambda: ask_batch(arms, k=k))


def large_decision() -> Block:
    """VACDB among 100,000 changing arms, 32 features: one ask."""
    policy = dl.VACDB(horizon=10_000, random_state=0)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(32) / np.sqrt(32)
    ask = published(policy.ask)

    def one() -> tuple[float, float]:
        arms = rng.standard_normal((100_000, 32))
        with Clock() as clock:
            duel = ask(arms)
        gap = (arms[duel.first] - arms[duel.second]) @ truth
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(-gap))))
        return clock.wall, clock.processor

    for _ in range(20):
        one()
    return one


def cases() -> Iterator[tuple[str, Callable[[], Block]]]:
    """Every line by its name, the part of the page first."""
    for name in SIMULATED:
        yield f"simulation: {name}", partial(simulation, name)
    for name in POLICIES:
        yield f"live: {name}", partial(live, name)
    for kind, begin, name in product(("fixed", "changing"), (1_000, 10_000, 100_000), POLICIES):
        yield f"horizon: {kind} arms, t = {begin:,}, {name}", partial(later, name, kind, begin)
    for dim, duels, fitted in product((16, 64), (200, 5000), (True, False)):
        title = f"pair: 100,000 x {dim}, {duels:,} duels, {'fitted' if fitted else 'none'}"
        yield title, partial(best_pair, 100_000, dim, duels, fitted)
    for n_arms in (32, 1_000, 10_000, 1_000_000):
        yield f"pair: {n_arms:,} x 16, 5,000 duels, fitted", partial(best_pair, n_arms, 16, 5000, True)
    yield "decision: VACDB among 100,000 arms, dim 32", large_decision
    for dim, estimator in product((16, 64, 256, 1024, 4096), ("exact", "online")):
        yield f"dimension: {dim:,}, {estimator}", partial(dimension, dim, estimator)
    for name, k in product(BATCHED, (None, 100)):
        yield f"batch: {name}, {'all' if k is None else f'{k} best'}", partial(batch, name, k)


def main() -> None:
    known = dict(cases())
    at, block = "", None
    sys.stdout.write("\n".join([*known, "", ""]))
    sys.stdout.flush()
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name != at or block is None:
            block = None  # before the next one is made, so that both need not fit into memory
            at, block = name, known[name]()
        wall, processor = block()
        sys.stdout.write(f"{wall!r} {processor!r}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
