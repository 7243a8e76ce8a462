"""Compile everything now, so that nobody waits for the first duel later."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from duelist.environments import Hypercube
from duelist.estimation import SOLVERS, fit_mle
from duelist.kernels.many import MANY_ARMS, search_address
from duelist.links import LINKS
from duelist.policies import POLICIES, make_policy
from duelist.selection import best_pair, widest_pair
from duelist.simulation import simulate

_SHARED = "UniformPair"
"""Compiled first, and alone: what it needs, all policies need."""


def warm(shown: Callable[[str, int, int], None], processes: int | None = None) -> None:
    """Call every compiled function once; `shown(what, done, total)` reports.

    The machine code is kept on disk beside the package (or in the user's cache folder where the
    package is read-only) and is loaded in milliseconds afterwards. Numba compiles one function at a time in a
    process, so several processes share the work.
    """
    others: list[tuple[Callable[[str], None], str]] = [(warm_search, "pair search"), (warm_estimators, "estimators")]
    others += [(warm_policy, name) for name in sorted(POLICIES, key=lambda name: name != "VACDB") if name != _SHARED]
    total = len(others) + 1
    shown(_SHARED, 0, total)
    warm_policy(_SHARED)
    # A fresh interpreter each: a forked one could inherit a lock that a thread holds.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=context) as pool:
        tasks = {pool.submit(action, name): name for action, name in others}
        for done, task in enumerate(as_completed(tasks), start=1):
            task.result()
            shown(tasks[task], done, total)
    shown("done", total, total)


def warm_policy(name: str) -> None:
    """A policy, live and simulated."""
    policy = make_policy(name, horizon=8, random_state=0)
    policy.tell(policy.ask(np.eye(2)), 1)
    policy.estimate(0)
    simulate(policy, Hypercube(dim=2), horizon=2, runs=2)


def warm_estimators(_name: str) -> None:
    """`fit_mle` and the links."""
    for solver in SOLVERS:
        fit_mle(np.eye(2), [1.0, 0.0], solver=solver)
    for link in LINKS.values():
        link.mean(0.0), link.slope(0.0), link.potential(0.0)


def warm_search(_name: str) -> None:
    """Pairs of few and of many arms."""
    for arms in (np.eye(2), np.zeros((MANY_ARMS, 2))):
        best_pair(arms, np.zeros(2), np.eye(2), 1.0)
        widest_pair(arms, np.eye(2))
    search_address()
