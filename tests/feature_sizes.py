"""How large each feature is, by the rule that `native/sizes.hpp` states: written once more, from the log and nothing else."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FACTOR, FIRST_STRETCH = 8.0, 4.0


def squared_sizes(
    first_arms: Floats, told: Sequence[tuple[Floats, float]] = (), shown_before: Sequence[Floats] = ()
) -> Floats:
    """The squared size of each feature after the outcomes `told`, each (difference, weight), in their order.

    An outcome of weight w takes up w of a line on which the first stretch is 4 long and each other twice as long as the one
    before, so that a weight of 2 is the same outcome twice. Duels of an arm with itself are no outcomes. `shown_before` are the arms of
    later rounds before the first outcome.
    """
    counted = [(z, weight) for z, weight in told if np.any(z)]
    halves = np.array([z for z, _ in counted]).reshape(len(counted), first_arms.shape[1]) ** 2 / 2.0
    ends = np.cumsum([weight for _, weight in counted])
    starts = ends - [weight for _, weight in counted]
    tables = [[arms[:, k] for arms in (first_arms, *shown_before)] for k in range(first_arms.shape[1])]
    return np.array([_of_one(tables[k], halves[:, k], starts, ends) for k in range(first_arms.shape[1])])


def _of_one(tables: list[Floats], halves: Floats, starts: Floats, ends: Floats) -> float:
    # Arms that differ tell; else the first duel in which it matters does.
    telling = next((shown for shown in tables if np.ptp(shown) > 0.0), None)
    size = next((half for half in halves if half > 0.0), 1.0) if telling is None else telling.var()
    low, high = 0.0, FIRST_STRETCH
    while len(ends) and ends[-1] >= high:
        inside = np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0.0, None)
        mean, largest = inside @ halves / (high - low), halves[inside > 0.0].max()
        if mean > 0.0 and (mean >= FACTOR * size or largest < size / FACTOR):
            size = mean
        low, high = high, high + 2.0 * (high - low)
    return float(size)


def default_ridge(
    policy: Any,
    first_arms: Floats,
    told: Sequence[tuple[Floats, float]] = (),
    shown_before: Sequence[Floats] = (),
) -> Floats:
    """The ridge of each feature: as given, or the policy's multiple of its squared size; "theory" has one for all."""
    dim = first_arms.shape[1]
    if policy.ridge is not None:
        return np.full(dim, float(policy.ridge))
    if getattr(policy, "radius", None) == "theory":
        spread = first_arms.var(axis=0).mean()
        return np.full(dim, policy.practical_ridge * (spread if spread > 0.0 else 1.0))
    multiple = policy.practical_ridge
    if type(policy).__name__ in ("BestArmPair", "RankingPair", "ThompsonPair"):
        multiple *= max(1.0, dim / 5.0)
    if type(policy).__name__ == "RewardDesign":
        multiple *= dim
    return multiple * squared_sizes(first_arms, told, shown_before)
