"""RankingPair: the comparison that is most informative about the ranking of the arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from duelist.reference.base import Reference
from duelist.reference.links import Floats, smoothed_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, Pair, best_pair, fixed_pair


def tie_break_keys(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A pseudo-random key per arm id: ties go to the smaller key, whatever the order of the arms."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def sort_by_tie_break(pairs: list[Pair], lot: NDArray[np.uint64]) -> list[Pair]:
    """Sort pairs in the order in which ties are broken."""
    return sorted(pairs, key=lambda pair: sorted((int(lot[pair[0]]), int(lot[pair[1]]))))


def misorder_probability(u: Floats, width: Floats, top: int | None) -> Floats:
    """Probability that the pair is ordered wrongly; with `top`, times that of the better arm being in the top."""
    apart = width > 0.0
    wide = np.where(apart, width, 1.0)
    chance = ndtr(-np.abs(u[:, None] - u) / wide)
    if top is not None and top < len(u) - 1:
        descending = np.sort(u)[::-1]
        border = (descending[top - 1] + descending[top]) / 2.0
        chance = chance * ndtr(math.sqrt(2.0) * (np.maximum(u[:, None], u) - border) / wide)
    return np.where(apart, chance, 0.0)


def order_information(link: str, u: Floats, covariance: Floats, width: Floats, top: int | None) -> Floats:
    """For each pair, the sum over (i, j) of misorder_probability_ij times the share of W_ij^2 that a vote on the pair
    removes.
    """
    weight = misorder_probability(u, width, top) / np.where(width > 0.0, width**2, 1.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    through = covariance @ laplacian @ covariance
    spread = np.diagonal(through)
    slope = smoothed_slope(link, u[:, None] - u, width)
    return np.asarray(slope * (spread[:, None] + spread - 2.0 * through) / (1.0 + slope * width**2))


@dataclass(kw_only=True, eq=False, repr=False)
class RankingPair(Reference):
    """With Phi(-|D_ij| / W_ij) the probability that i and j are ordered wrongly, the pair with difference z of

    argmax sum_{i < j} Phi(-|D_ij| / W_ij) mu' ((x_i - x_j)' H^-1 z)^2 / (1 + mu' |z|^2_{H^-1}) / W_ij^2,

    where mu' = mu'(z . theta): how much a vote on z reduces the uncertainty about the order.
    """

    top: int | None = None

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = sort_by_tie_break(allowed.different(allowed.arms), tie_break_keys(np.arange(len(arms))))
        if not pairs:
            allowed.raise_no_pair()
        u, width = self.local_utilities_and_widths(arms)
        centred = arms - arms.mean(axis=0)  # only differences matter
        covariance = centred @ np.linalg.inv(self.layer(1).curvature) @ centred.T
        return best_pair(order_information(self.link, u, covariance, width, self.top), pairs)
