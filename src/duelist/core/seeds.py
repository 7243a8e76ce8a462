"""`random_state`: seeds, and the state of the engine's random generator, NumPy's SFC64."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelist.core.arrays import Words, is_integer
from duelist.core.errors import InvalidInput


def seed_words(seed: int | np.random.SeedSequence | None) -> Words:
    """Return four words of generator state for a NumPy seed."""
    state = np.random.SFC64(seed).state["state"]["state"]
    return np.asarray(state, dtype=np.uint64)


RandomState = int | np.random.Generator | None
"""A seed, a generator to draw one from, or None to draw one from the operating system."""


def check_random_state(random_state: Any) -> int | None:
    """Return a seed: the given one, or one drawn from a generator; None stays None."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if not is_integer(random_state) or random_state < 0:
        raise InvalidInput(
            f"random_state is {random_state!r}.",
            "Give a whole number of at least 0 or a numpy.random.Generator, or leave it out.",
            field="random_state",
        )
    return int(random_state)


def draw_seed(random_state: Any) -> int:
    """Return a seed, drawn from the operating system if `random_state` is None."""
    seed = check_random_state(random_state)
    return int(np.random.default_rng().integers(2**63)) if seed is None else seed
