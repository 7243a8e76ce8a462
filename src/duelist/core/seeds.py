"""Seeds: the state of the engine's random generator, NumPy's SFC64."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelist.core.arrays import Words, is_integer
from duelist.core.errors import InvalidInput


def seed_words(seed: int | np.random.SeedSequence | None) -> Words:
    """Return four words of generator state for a NumPy seed."""
    state = np.random.SFC64(seed).state["state"]["state"]
    return np.asarray(state, dtype=np.uint64)


def check_random_state(random_state: Any) -> int | None:
    """Return a seed; None to draw one from the operating system."""
    if random_state is None:
        return None
    if not is_integer(random_state) or random_state < 0:
        raise InvalidInput(
            f"random_state is {random_state!r}.",
            "Give a whole number of at least 0, or leave it out to draw one from the operating system.",
            field="random_state",
        )
    return int(random_state)
