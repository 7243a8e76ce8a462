"""The logs that are fitted, and the designs among which programs find the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelist.research.datasets import load_llmfao

SIDE, PEAK, WIDTH, OWN = 6, 3.0, 2.0, 0.2
VOTES, LOOKS = 60, (10, 20, 30, 40, 50, 60)
NU = 0.8
"""Parameter of ties in the made log."""


def real_log() -> dict[str, Any]:
    """Return the votes of llmfao, without prompts and raters."""
    names: dict[str, int] = {}
    rows = []
    for vote in load_llmfao():
        pair = [names.setdefault(name, len(names)) for name in (vote.first, vote.second)]
        rows.append((*pair, {"first": 1.0, "second": 0.0, "tie": 0.5}[vote.outcome.value]))
    first, second, share = zip(*rows, strict=True)
    return {"names": list(names), "first": first, "second": second, "share": share}


def made_log(votes: int, items: int) -> dict[str, Any]:
    """Return votes by Davidson's model on random pairs of items whose utilities are standard normal."""
    rng = np.random.default_rng(0)
    utility = rng.normal(size=items)
    first = rng.integers(items, size=votes)
    second = (first + rng.integers(1, items, size=votes)) % items
    wins = np.exp((utility[first] - utility[second]) / 2.0)
    weights = np.stack([wins, np.full(votes, NU), 1.0 / wins])
    place = rng.random(votes) * weights.sum(axis=0)
    share = np.where(place < weights[0], 1.0, np.where(place < weights[:2].sum(axis=0), 0.5, 0.0))
    names = [f"item {k}" for k in range(items)]
    return {"names": names, "first": first.tolist(), "second": second.tolist(), "share": share.tolist()}


def world(run: int) -> dict[str, Any]:
    """Return designs on a square grid whose utility has one smooth peak at a random place, and something of its own each."""
    rng = np.random.default_rng([1, run])
    place = np.array([(x, y) for x in range(SIDE) for y in range(SIDE)], dtype=float)
    peak = rng.uniform(0.0, SIDE - 1.0, 2)
    smooth = PEAK * np.exp(-((place - peak) ** 2).sum(axis=1) / (2.0 * WIDTH**2))
    return {
        "place": place.tolist(),
        "utility": (smooth + OWN * rng.normal(size=len(place))).tolist(),
        "luck": rng.random(VOTES).tolist(),
        "looks": LOOKS,
        "seed": run,
    }
