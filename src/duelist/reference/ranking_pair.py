"""RankingPair: the comparison that settles most of the order of the arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, slope_in_doubt
from duelist.reference.pair_choice import Allowed, Choice, Pair, best_pair, only


def lots(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A lot for each arm, by its number; of equals the smaller lot is first, so that it does not matter how arms are listed."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def by_lot(pairs: list[Pair], lot: NDArray[np.uint64]) -> list[Pair]:
    """The pairs in the order in which equals are taken."""
    return sorted(pairs, key=lambda pair: sorted((int(lot[pair[0]]), int(lot[pair[1]]))))


def openness(u: Floats, width: Floats, top: int | None) -> Floats:
    """Chance that two arms stand in the wrong order, times, with `top`, the chance that the better one is among the first."""
    apart = width > 0.0
    wide = np.where(apart, width, 1.0)
    chance = ndtr(-np.abs(u[:, None] - u) / wide)
    if top is not None and top < len(u) - 1:
        falling = np.sort(u)[::-1]
        border = (falling[top - 1] + falling[top]) / 2.0
        chance = chance * ndtr(math.sqrt(2.0) * (np.maximum(u[:, None], u) - border) / wide)
    return np.where(apart, chance, 0.0)


def settled(link: str, u: Floats, covariance: Floats, width: Floats, top: int | None) -> Floats:
    """For every pair, the sum over pairs (i, j) of openness_ij times the part of W_ij^2 that a vote on it takes away."""
    weight = openness(u, width, top) / np.where(width > 0.0, width**2, 1.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    through = covariance @ laplacian @ covariance
    spread = np.diagonal(through)
    slope = slope_in_doubt(link, u[:, None] - u, width)
    return np.asarray(slope * (spread[:, None] + spread - 2.0 * through) / (1.0 + slope * width**2))


@dataclass(kw_only=True, eq=False, repr=False)
class RankingPair(Reference):
    """With chances Phi(-|D_ij| / W_ij) that i and j stand in the wrong order, the pair with difference z of

    argmax sum_{i < j} Phi(-|D_ij| / W_ij) mu' ((x_i - x_j)' H^-1 z)^2 / (1 + mu' |z|^2_{H^-1}) / W_ij^2,

    where mu' = mu'(z . theta): how much of the doubt about the order a vote on it takes away.
    """

    top: int | None = None

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The pair of different arms that settles most."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = by_lot(allowed.different(allowed.arms), lots(np.arange(len(arms))))
        if not pairs:
            allowed.refuse()
        u, width = self.look_locally(arms)
        middle = arms - arms.mean(axis=0)  # only differences matter
        covariance = middle @ np.linalg.inv(self.layer(1).curvature) @ middle.T
        return best_pair(settled(self.link, u, covariance, width, self.top), pairs)
