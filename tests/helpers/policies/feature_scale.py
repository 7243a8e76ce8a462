"""How large each feature is, by the rule that `native/model/feature_scale.hpp` states: written once more, from the log and nothing else."""

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
    sizes = np.array(
        [_first_size([arms[:, k] for arms in (first_arms, *shown_before)], half) for k, half in enumerate(halves.T)]
    )
    low, high = 0.0, FIRST_STRETCH
    while len(ends) and ends[-1] >= high:
        inside = np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0.0, None)
        spread = [any(np.ptp(arms[:, k]) > 0.0 for arms in (first_arms, *shown_before)) for k in range(len(sizes))]
        known = int((np.array(spread) | (halves[starts < high] > 0.0).any(axis=0)).sum())
        sizes = _after(sizes, inside @ halves / (high - low), halves[inside > 0.0].max(axis=0), known)
        low, high = high, high + 2.0 * (high - low)
    return sizes


def _first_size(tables: list[Floats], halves: Floats) -> float:
    """Arms that differ tell; else the first duel in which it matters does."""
    telling = next((shown for shown in tables if np.ptp(shown) > 0.0), None)
    return float(next((half for half in halves if half > 0.0), 1.0) if telling is None else telling.var())


def _after(sizes: Floats, means: Floats, largest: Floats, known: int) -> Floats:
    """What sizes are after a stretch, some of which are known."""
    parts = [mean / size for size, mean, most in zip(sizes, means, largest, strict=True) if 0.0 < most < size / FACTOR]
    least = sorted(parts)[len(parts) // 2] / 2.0 if len(parts) > known / 2.0 else 0.0
    new = []
    for size, mean, most in zip(sizes, means, largest, strict=True):
        if 0.0 < most < size / FACTOR:
            new.append(max(mean, least * size))
        else:
            new.append(mean if mean >= FACTOR * size else size)
    return np.array(new)


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
    if getattr(policy, "radius", None) in ("tight", "theory"):
        spread = first_arms.var(axis=0).mean()
        return np.full(dim, policy.practical_ridge * (spread if spread > 0.0 else 1.0))
    multiple = policy.practical_ridge
    if type(policy).__name__ in ("BestArmPair", "LocalPairUCB", "RankingPair", "ThompsonPair"):
        multiple *= max(1.0, dim / 5.0)
    if type(policy).__name__ == "RewardDesign":
        multiple *= dim
    return multiple * squared_sizes(first_arms, told, shown_before)
