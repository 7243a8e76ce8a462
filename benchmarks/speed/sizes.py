"""What size costs: dimensions, contexts at once, and one decision of VACDB among 100,000 arms."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import duelist as dl
from duelist import native

DIMS = (16, 64, 256, 1024, 4096)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def dimension_rows(rounds: int = 30) -> list[str]:
    """Milliseconds of ask and tell with 8 changing arms, by dimension and estimator."""
    rows = []
    for dim in DIMS:
        cells = []
        for estimator in ("exact", "online"):
            policy = dl.MaxPairUCB(horizon=1000, estimator=estimator, random_state=0)
            rng, costs = np.random.default_rng(0), []
            for _ in range(rounds):
                arms = rng.standard_normal((8, dim)) / np.sqrt(dim)
                start = time.perf_counter()
                policy.tell(policy.ask(arms, distinct=False), float(rng.random() < 0.5))
                costs.append(time.perf_counter() - start)
            cells.append(f"{np.median(costs[rounds // 2 :]) * 1e3:.3g}")
        rows.append(f"| {dim:,} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def batch_rows(contexts: int = 10_000, candidates: int = 8, dim: int = 256) -> list[str]:
    """Seconds of one `ask_batch`, all contexts and the 100 most informative."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((contexts, candidates, dim)) / np.sqrt(dim)
    rows = []
    for name in ("MaxPairUCB", "MaxInP", "VACDB", "LocalPairUCB"):
        policy = dl.make_policy(name, horizon=100_000, random_state=0)
        for _, duel in policy.ask_batch(arms[:200]):
            policy.tell(duel, float(rng.random() < 0.5))
        everything = min(seconds(lambda: policy.ask_batch(arms, distinct=False)) for _ in range(2))  # noqa: B023
        best = min(seconds(lambda: policy.ask_batch(arms, k=100, distinct=False)) for _ in range(2))  # noqa: B023
        rows.append(f"| {name} | {everything:.2f} | {best:.2f} |")
        print(rows[-1], flush=True)
    return rows


def decision_rows(n_arms: int = 100_000, dim: int = 32) -> list[str]:
    """One VACDB decision among changing arms, and calls that do a part of its work; milliseconds."""
    policy = dl.VACDB(horizon=10_000, random_state=0)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(dim) / np.sqrt(dim)
    whole = []
    for _ in range(40):
        arms = rng.standard_normal((n_arms, dim))
        start = time.perf_counter()
        duel = policy.ask(arms, distinct=False)
        whole.append(time.perf_counter() - start)
        margin = (arms[duel.first] - arms[duel.second]) @ truth
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(-margin))))
    factor, estimate = policy._player.precision_factor(0), policy.estimate(0)
    calls = {
        "utilities": lambda: native.utilities(arms, estimate),
        "whiten, and find the widest pair": lambda: native.widest_pair(arms, factor),
        "whiten, utilities, and find the best pair": lambda: native.best_pair(arms, estimate, factor, 1.0),
    }
    rows = [f"| {name} | {_milliseconds(action):.2f} |" for name, action in calls.items()]
    return [f"| a whole `ask` (median of the last 20) | {np.median(whole[20:]) * 1e3:.1f} |", *rows]


def _milliseconds(action: Callable[[], object]) -> float:
    action()
    return float(np.median([seconds(action) for _ in range(5)]) * 1e3)
