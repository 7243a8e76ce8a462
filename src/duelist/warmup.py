"""Compile everything now, so that nobody waits for the first duel later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from duelist.environments import Hypercube
from duelist.estimation import SOLVERS, fit_mle
from duelist.links import LINKS
from duelist.policies import POLICIES, make_policy
from duelist.selection import best_pair, widest_pair
from duelist.simulation import simulate


def warm(shown: Callable[[str, int, int], None]) -> None:
    """Call every compiled function once; `shown(what, done, total)` reports.

    The machine code is kept on disk beside the package (or in the user's cache folder where the
    package is read-only) and is loaded in milliseconds afterwards.
    """
    total = len(POLICIES) + 1
    for done, name in enumerate(POLICIES):
        shown(name, done, total)
        policy = make_policy(name, horizon=8, random_state=0)
        policy.tell(policy.ask(np.eye(2)), 1)
        policy.estimate(0)
        simulate(policy, Hypercube(dim=2), horizon=2, runs=2)
    shown("estimators", total - 1, total)
    for solver in SOLVERS:
        fit_mle(np.eye(2), [1.0, 0.0], solver=solver)
    for link in LINKS.values():
        link.mean(0.0), link.slope(0.0), link.potential(0.0)
    best_pair(np.eye(2), np.zeros(2), np.eye(2), 1.0)
    widest_pair(np.eye(2), np.eye(2))
    shown("done", total, total)
