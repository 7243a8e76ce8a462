"""Who votes how: speed, side, agreement, and who stands out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from duelist.errors import InvalidInput
from duelist.study.reading._battles import battles, counted
from duelist.study.reading._posterior import fit_utilities
from duelist.study.reading._text import binomial_interval, check_level, percent, table
from duelist.study.records import Outcome, Vote

Floats = NDArray[np.float64]

FOLDS: Final = 10
_EXACT: Final = 3000
"""Up to so many votes of a rater tails are exact; beyond, normal."""
_DECIDED: Final = (Outcome.FIRST, Outcome.SECOND)

DISAGREES: Final = "disagrees with the other raters' fit"
ONE_SIDED: Final = "prefers a side"


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """One rater. Shares are None where there is nothing to take them of."""

    rater: str
    votes: int
    ties: int
    """Ties and both bad."""
    skips: int
    median_seconds: float | None
    first_share: float | None
    """Share of the decided votes that went to the first, which is shown on the left."""
    first_low: float
    first_high: float
    agreement_others: float | None
    """Mean chance that another decided vote on the same pair, in the same context, is for the same arm."""
    agreement_model: float | None
    """Share of the decided votes that went to the arm which a fit without this rater favours."""
    expected_model: float | None
    """What that share would be on average if the rater voted as the fit says."""
    reasons: tuple[str, ...]
    """Why this rater is an outlier; none for most."""

    @property
    def outlier(self) -> bool:
        """Whether this rater stands out; `rater_statistics` says by which rule."""
        return bool(self.reasons)


@dataclass(frozen=True, slots=True)
class Raters:
    """All raters, those with most votes first."""

    rows: tuple[RaterStatistics, ...]
    level: float
    false_alarms: float

    def __str__(self) -> str:
        rows = [
            (
                each.rater,
                str(each.votes),
                str(each.ties),
                str(each.skips),
                "-" if each.median_seconds is None else f"{each.median_seconds:.1f} s",
                "-"
                if each.first_share is None
                else f"{percent(each.first_share)} ({percent(each.first_low)}-{percent(each.first_high)})",
                percent(each.agreement_others),
                percent(each.agreement_model),
                percent(each.expected_model),
                ", ".join(each.reasons),
            )
            for each in self.rows
        ]
        head = ("rater", "votes", "ties", "skips", "median", "first", "others", "fit", "expected", "outlier")
        return table(head, rows)


def rater_statistics(
    votes: Sequence[Vote],
    arms: Sequence[str],
    features: ArrayLike | None = None,
    *,
    ridge: float = 1.0,
    level: float = 0.95,
    false_alarms: float = 0.01,
    seed: int = 0,
) -> Raters:
    """Statistics of every rater that has a name.

    A rater is an outlier if their decided votes would be too unlikely from somebody who votes as the others' fit says:
    too few for the arm that the fit favours, or too many or too few for the first. Each of the two is tested by the exact
    distribution of a sum of unequal coins, the coins being the chances from a fit to decided votes without this rater's
    (raters are dealt into ten groups, and each group is judged by the others), and holds at false_alarms / (2 raters):
    if all vote as the fit says, the probability that anybody at all is flagged is at most about `false_alarms`.
    """
    check_level(level)
    if not 0.0 < false_alarms < 1.0:
        raise InvalidInput(f"false_alarms is {false_alarms!r}; give a probability between 0 and 1, such as 0.01")
    grouped: dict[str, list[int]] = defaultdict(list)
    for k, vote in enumerate(votes):
        if vote.rater is not None and vote.outcome is not None:
            grouped[vote.rater].append(k)
    chances = _chances(votes, arms, features, list(grouped), ridge, seed)
    alike = _Alike(votes)
    threshold = false_alarms / max(2 * len(grouped), 1)
    rows = [
        _statistics(rater, [votes[k] for k in mine], chances[mine], alike, level, threshold)
        for rater, mine in grouped.items()
    ]
    return Raters(tuple(sorted(rows, key=lambda row: -row.votes)), level, false_alarms)


def _chances(
    votes: Sequence[Vote], arms: Sequence[str], features: ArrayLike | None, raters: list[str], ridge: float, seed: int
) -> Floats:
    """For each decided vote the chance that it is for the first, from a fit to decided votes without those of its rater."""
    met = battles(votes, arms)
    met = met.of(met.share != 0.5)  # half wins would pull the chances towards a half, where no decided vote lies
    order = np.random.default_rng(seed).permutation(len(raters))
    group = {rater: int(place) % FOLDS for rater, place in zip(raters, order, strict=True)}
    fold = np.array([group.get(votes[k].rater or "", -1) for k in met.vote], dtype=np.int64)
    chances = np.full(len(votes), 0.5)
    for k in np.unique(fold[fold >= 0]):
        out = fold == k
        posterior = fit_utilities(counted(met.of(~out)), features, ridge, seed)
        chances[met.vote[out]] = posterior.chances(met.first[out], met.second[out])
    return chances


def _statistics(
    rater: str, mine: list[Vote], chances: Floats, alike: _Alike, level: float, threshold: float
) -> RaterStatistics:
    decided = np.array([vote.outcome in _DECIDED and vote.first != vote.second for vote in mine])
    first = np.array([vote.outcome is Outcome.FIRST for vote in mine])[decided]
    chance = chances[decided]
    n, won = len(first), int(first.sum())
    favoured = first == (chance > 0.5)
    likely = np.maximum(chance, 1.0 - chance)
    low, high = binomial_interval(won, n, level)
    seconds = [vote.response_seconds for vote in mine if vote.response_seconds is not None]
    agreements = [value for vote in mine if (value := alike.with_others(vote)) is not None]
    reasons = (
        *((DISAGREES,) if lower_tail(likely, int(favoured.sum())) <= threshold else ()),
        *((ONE_SIDED,) if 2 * min(lower_tail(chance, won), lower_tail(1.0 - chance, n - won)) <= threshold else ()),
    )
    return RaterStatistics(
        rater=rater,
        votes=len(mine),
        ties=sum(vote.outcome in (Outcome.TIE, Outcome.BOTH_BAD) for vote in mine),
        skips=sum(vote.outcome is Outcome.SKIP for vote in mine),
        median_seconds=float(np.median(seconds)) if seconds else None,
        first_share=won / n if n else None,
        first_low=low,
        first_high=high,
        agreement_others=float(np.mean(agreements)) if agreements else None,
        agreement_model=float(favoured.mean()) if n else None,
        expected_model=float(likely.mean()) if n else None,
        reasons=reasons,
    )


def lower_tail(chances: Floats, successes: int) -> float:
    """P(X <= successes) for X the number of successes of independent coins with these chances."""
    n = len(chances)
    if n > _EXACT:
        deviation = np.sqrt((chances * (1.0 - chances)).sum())
        return float(ndtr((successes + 0.5 - chances.sum()) / max(deviation, 1e-300)))
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for k, p in enumerate(chances):
        mass[1 : k + 2] = mass[1 : k + 2] * (1.0 - p) + mass[: k + 1] * p
        mass[0] *= 1.0 - p
    return float(min(mass[: successes + 1].sum(), 1.0))


class _Alike:
    """Decided votes of each pair in each context, by the arm that won, over all and by rater."""

    def __init__(self, votes: Sequence[Vote]) -> None:
        self._all: Counter[tuple[str | None, str, str]] = Counter()
        self._own: Counter[tuple[str | None, str | None, str, str]] = Counter()
        for vote in votes:
            if vote.outcome in _DECIDED:
                winner, loser = _winner_loser(vote)
                self._all[vote.context, winner, loser] += 1
                self._own[vote.rater, vote.context, winner, loser] += 1

    def with_others(self, vote: Vote) -> float | None:
        """Share of the others' votes on this pair that are for the same arm; None where there is nothing to compare."""
        if vote.outcome not in _DECIDED:
            return None
        winner, loser = _winner_loser(vote)
        same = self._all[vote.context, winner, loser] - self._own[vote.rater, vote.context, winner, loser]
        against = self._all[vote.context, loser, winner] - self._own[vote.rater, vote.context, loser, winner]
        return same / (same + against) if same + against else None


def _winner_loser(vote: Vote) -> tuple[str, str]:
    return (vote.first, vote.second) if vote.outcome is Outcome.FIRST else (vote.second, vote.first)
