"""Tables of preferences, and policies that are asked and told by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.policies.counting import COUNTING_POLICIES, CountingPolicy
from duelist.reference.counting import COUNTING_REFERENCES, CountingReference

HORIZON = 2000
NAMES = tuple(COUNTING_POLICIES)

ORDERED = np.array(
    [
        [0.5, 0.6, 0.7, 0.8, 0.9],
        [0.4, 0.5, 0.6, 0.7, 0.8],
        [0.3, 0.4, 0.5, 0.6, 0.7],
        [0.2, 0.3, 0.4, 0.5, 0.6],
        [0.1, 0.2, 0.3, 0.4, 0.5],
    ]
)
"""Arm 0 beats all, arm 1 all others, and so on."""
CIRCLE = np.array([[0.5, 0.8, 0.2, 0.9], [0.2, 0.5, 0.8, 0.9], [0.8, 0.2, 0.5, 0.9], [0.1, 0.1, 0.1, 0.5]])
"""Arms 0, 1 and 2 beat one another in a circle, and all of them arm 3."""


def made(name: str, random_state: int = 0, **settings: Any) -> CountingPolicy:
    """A policy that knows its horizon."""
    return COUNTING_POLICIES[name](horizon=HORIZON, random_state=random_state, **settings)


def twins(name: str, random_state: int = 0, **settings: Any) -> tuple[CountingPolicy, CountingReference]:
    """A fast policy and its reference."""
    reference = COUNTING_REFERENCES[name](horizon=HORIZON, random_state=random_state, **settings)
    return made(name, random_state, **settings), reference


def voted(table: NDArray[np.float64], duel: Any, luck: float) -> float:
    """Who wins, by a table of chances."""
    return float(luck < table[duel.first, duel.second])


def wins_of(policy: CountingPolicy, table: NDArray[np.float64], rounds: int, seed: int = 0) -> list[tuple[int, int]]:
    """Play rounds of the published rule, and return the duels."""
    rng = np.random.default_rng(seed)
    played = []
    for _ in range(rounds):
        duel = policy.ask(len(table), distinct=False)
        policy.tell(duel, voted(table, duel, rng.random()))
        played.append((duel.first, duel.second))
    return played
