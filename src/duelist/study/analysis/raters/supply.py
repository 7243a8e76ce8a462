"""How many votes the raters of a study can still give on the pairs that decide it.

If raters answer each pair at most once, few raters run out of the pairs that matter long before a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from duelist.core.arrays import Floats, Ints
from duelist.core.tables import format_count
from duelist.model.stopping import MIN_VOTES_TO_FORECAST, not_ruled_out
from duelist.study.analysis.fit.study_fit import Bools, StudyFit

CLEAR: Final = 0.75
"""Before the first vote, raters are planned for pairs in which the better item wins this share of the votes."""
_MOST_RATERS: Final = 100_000


@dataclass(frozen=True, slots=True)
class RaterSupply:
    """The raters available, each of whom answers a pair at most once."""

    raters: int
    per_pair: int | None = None
    """The study's limit on votes per pair."""

    @property
    def votes_per_pair(self) -> int:
        """The most votes that a pair can get."""
        return self.raters if self.per_pair is None else min(self.raters, self.per_pair)


@dataclass(frozen=True, slots=True)
class OpenComparisons:
    """The comparisons that decide a study, of which `open` are not settled; arrays end with the leader itself."""

    ahead: Ints
    behind: Ints
    gap: Floats
    variance: Floats
    prior_variance: Floats
    open: Ints
    """Positions in `ahead` and `behind`."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why the raters of a study cannot settle it, and how many could; `votes_left` are those that they can still give."""

    raters: int
    votes_left: int
    raters_needed: int | None

    def __str__(self) -> str:
        own = "your rater has" if self.raters == 1 else f"your {self.raters} raters have"
        if self.votes_left:
            can = "your rater" if self.raters == 1 else f"your {self.raters} raters"
            said = f"{can} can give only {format_count(self.votes_left, 'more vote')} on the pairs that decide, too few"
        else:
            said = f"{own} answered every useful pair"
        few = self.raters_needed is not None
        more = (
            f"about {self.raters_needed - self.raters:,} more raters" if few and self.raters_needed else "more raters"
        )
        return f"{said}: invite {more}, or allow repeated pairs"


def shortage_of(
    fit: StudyFit, ahead: Ints, behind: Ints, is_open: Bools, supply: RaterSupply | None, delta: float, tolerance: float
) -> Shortage | None:
    """Return why the raters cannot settle the open ones of these comparisons; None if they can, or if nothing can be said yet."""
    too_early = fit.votes < MIN_VOTES_TO_FORECAST or not are_connected(fit, ahead, behind).all()
    if supply is None or fit.whole.features is not None or too_early:
        return None
    compared = OpenComparisons(ahead, behind, *compare(fit, ahead, behind), np.flatnonzero(is_open))
    return find_shortage(fit, compared, supply, delta, tolerance)


def compare(fit: StudyFit, ahead: Ints, behind: Ints) -> tuple[Floats, Floats, Floats]:
    """Return gap, variance and prior variance of each comparison.

    The last one is the leader with itself, which the rule expects.
    """
    posterior, own = fit.posterior, np.zeros(1)
    return (
        np.append(posterior.mean[ahead] - posterior.mean[behind], own),
        np.append(posterior.difference_variance(ahead, behind), own),
        np.append(posterior.prior_variance(ahead, behind), own),
    )


def are_connected(fit: StudyFit, ahead: Ints, behind: Ints) -> Bools:
    """Return whether the votes say anything about each comparison."""
    return np.array([*(fit.connected(int(a))[b] for a, b in zip(ahead, behind, strict=True)), True], np.bool_)


def find_shortage(
    fit: StudyFit, compared: OpenComparisons, supply: RaterSupply, delta: float, tolerance: float
) -> Shortage | None:
    """Return why the raters cannot settle the open comparisons; None if they probably can.

    A vote on a pair adds p (1 - p) to the precision of its gap, where p is the probability that the better item wins. Gaps are
    assumed to stay as estimated.
    """
    voted = _raters_by_pair(fit, compared)
    left = int(np.maximum(supply.votes_per_pair - voted, 0).sum())
    needed = _raters_needed(compared, voted, delta, tolerance)
    if left and needed is not None and needed <= supply.votes_per_pair:
        return None
    return Shortage(supply.raters, left, None if supply.per_pair is not None else needed)


def raters_to_plan(n_arms: int, delta: float) -> int:
    """Return how many raters settle pairs whose better item wins the share `CLEAR` of votes, one vote per rater and pair."""
    chance = CLEAR
    gap = float(np.log(chance / (1.0 - chance)))
    pair = OpenComparisons(
        ahead=np.zeros(1, np.int64),
        behind=np.ones(1, np.int64),
        gap=np.append(np.full(max(n_arms - 1, 1), gap), 0.0),
        variance=np.append(np.full(max(n_arms - 1, 1), 2.0), 0.0),
        prior_variance=np.append(np.full(max(n_arms - 1, 1), 2.0), 0.0),
        open=np.arange(max(n_arms - 1, 1)),
    )
    return _raters_needed(pair, np.zeros(max(n_arms - 1, 1), np.int64), delta, 0.0) or _MOST_RATERS


def _raters_by_pair(fit: StudyFit, compared: OpenComparisons) -> Ints:
    """Return how many raters have voted on each open pair."""
    n, log = len(fit.arms), fit.log
    low, high = np.minimum(log.first, log.second), np.maximum(log.first, log.second)
    votes = np.unique(np.column_stack([low.astype(np.int64) * n + high, log.rater]), axis=0)[:, 0]
    ahead, behind = (fit.among[side[compared.open]] for side in (compared.ahead, compared.behind))
    pairs = np.minimum(ahead, behind) * n + np.maximum(ahead, behind)
    return np.searchsorted(votes, pairs, "right") - np.searchsorted(votes, pairs, "left")


def _raters_needed(compared: OpenComparisons, voted: Ints, delta: float, tolerance: float) -> int | None:
    """Return the least number of raters whose votes settle all open comparisons; None if no reasonable number does."""
    gap, variance = compared.gap[compared.open], compared.variance[compared.open]
    chance = expit(np.abs(gap))
    later = compared.variance.copy()

    def settles(raters: int) -> bool:
        later[compared.open] = 1.0 / (1.0 / variance + chance * (1.0 - chance) * np.maximum(raters - voted, 0))
        still = not_ruled_out(compared.gap, later, compared.prior_variance, delta, tolerance)
        return not still[compared.open].any()

    low, high = 0, 1
    while not settles(high):
        low, high = high, 2 * high
        if high > _MOST_RATERS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return high
