"""Threads: a policy that computes for long stops neither other threads nor the interpreter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import duelist as dl

RNG = np.random.default_rng(0)


def with_features(policy: dl.Policy, n_arms: int, dim: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return functions that suggest a duel, and that learn an outcome, of arms with features."""
    arms = RNG.normal(size=(n_arms, dim))
    policy.initialize(arms)
    return lambda: policy.suggest(arms), lambda: policy.learn(arms[0] - arms[1], 1)


def with_effects(policy: dl.Policy, n_arms: int, dim: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same of arms with features and effects."""
    arms = dl.ArmTable(range(n_arms), RNG.normal(size=(n_arms, dim)))
    policy.initialize(arms)
    return lambda: policy.suggest(arms), lambda: policy.learn(arms[[0, 1]], 1)


def ticks_during(compute: Callable[[], object]) -> int:
    """Return how often another thread runs while this one computes."""
    ticks, stopped = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stopped.is_set():
            ticks += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    compute()
    found = ticks - before
    stopped.set()
    thread.join()
    return found


@pytest.mark.parametrize(
    "functions",
    [
        with_features(dl.FGTS(horizon=1000, random_state=0), 40, 200),
        with_features(dl.VACDB(horizon=1000, random_state=0), 300, 600),
        with_effects(dl.BestArmPair(estimator="online", random_state=0), 300, 600),
    ],
    ids=["FGTS", "VACDB", "BestArmPair"],
)
def test_other_threads_run_while_a_policy_computes(
    functions: tuple[Callable[[], object], Callable[[], object]],
) -> None:
    """In a server, all other requests waited for a choice among arms with many features."""
    suggest, learn = functions
    learn()
    # A thread that waits for the interpreter lock runs once or twice: before and after. One of many tries must do more.
    assert any(ticks_during(suggest) > 4 for _ in range(100))


def test_threads_that_share_a_policy_take_turns() -> None:
    """The result is that of some order of the calls, and no vote is lost."""
    arms = RNG.normal(size=(30, 40))
    policy = dl.MaxPairUCB(random_state=0)
    policy.initialize(arms)

    def use(number: int) -> None:
        for k in range(20):
            chosen = policy.suggest(arms, seed=number)
            policy.learn(arms[chosen.first] - arms[chosen.second], k % 2, layer=chosen.layer, share=chosen.share)
            policy.snapshot()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(4)))
    assert policy.rounds_ == 80
    assert np.isfinite(policy.theta_).all()
