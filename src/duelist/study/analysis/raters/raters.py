"""Rater statistics: speed, side bias, agreement, and outliers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, columns_of, format_percent
from duelist.study.analysis.fit.cross_validation import CrossFits, chances_without_own
from duelist.study.analysis.fit.utilities import Features
from duelist.study.analysis.fit.votes import BOTH_BAD, FIRST, KIND_CODES, NO_TIME, SKIP, TIE, VoteTable, as_vote_table
from duelist.study.analysis.intervals import binomial_interval, check_level
from duelist.study.analysis.raters.poisson_binomial import Sums, clearly_above, tails
from duelist.study.analysis.raters.repeated_votes import Units
from duelist.study.records import Vote

DISAGREES: Final = "disagrees with the other raters' fit"
ONE_SIDED: Final = "prefers a side"


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """One rater. Shares are None if there are no votes to compute them from."""

    rater: str
    votes: int
    ties: int
    both_bad: int
    skips: int
    median_seconds: float | None
    """Median seconds from ask to vote."""
    votes_per_hour: float | None
    """By the median time from one vote to the next, so that breaks do not count."""
    first_share: float | None
    """Share of the decided votes that went to the first arm, which is shown on the left."""
    first_low: float
    first_high: float
    agreement_others: float | None
    """Mean probability that another rater's decided vote on the same pair and context is for the same arm."""
    kappa: float | None
    """Chance-corrected agreement with the others (Cohen), on pairs that others have voted on too; a tie and both bad
    are separate answers. 1 is full agreement, 0 chance."""
    repeats: int
    """Votes on a pair that this rater had voted on before, in the same context."""
    repeat_agreement: float | None
    """Share of these with the same outcome as the time before."""
    gold: int
    """Votes on pairs whose outcome is known."""
    gold_right: float | None
    agreement_model: float | None
    """Share of the decided votes that went to the arm which a fit without this rater favours."""
    expected_model: float | None
    """The expectation of that share if the rater voted as the fit predicts."""
    excluded: bool
    """Whether the owner excluded this rater's votes."""
    reasons: tuple[str, ...]
    """Why this rater is an outlier; empty for most."""

    @property
    def outlier(self) -> bool:
        """Whether this rater is an outlier; `rater_statistics` states the rule."""
        return bool(self.reasons)


@dataclass(frozen=True, slots=True, repr=False)
class Raters(TabularResult):
    """All raters, those with most votes first."""

    rows: tuple[RaterStatistics, ...]
    level: float
    false_alarms: float
    alpha: float | None = None
    """Krippendorff's alpha over all raters: chance-corrected agreement on pairs that several have voted on."""

    @property
    def outliers(self) -> tuple[str, ...]:
        """The names of the outliers."""
        return tuple(row.rater for row in self.rows if row.outlier)

    def _table(self) -> TableContent:
        optional = {
            "both bad": any(row.both_bad for row in self.rows),
            "kappa": any(row.kappa is not None for row in self.rows),
            "repeats": any(row.repeats for row in self.rows),
            "gold": any(row.gold for row in self.rows),
        }
        rows = [_shown(row) for row in self.rows]
        headers = ["rater", *(name for name in _HEADERS if optional.get(name, True)), "outlier"]
        notes = (
            [] if self.alpha is None else [f"Krippendorff's alpha {self.alpha:.2f}: 1 is full agreement, 0 is chance"]
        )
        return TableContent(headers, [[row[name] for name in headers] for row in rows], notes)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.rows, [field.name for field in fields(RaterStatistics)])


_EVEN: Final = 1e-9
_HEADERS: Final = (
    "votes", "ties", "both bad", "skips", "median", "an hour", "first", "others", "kappa", "repeats", "gold", "fit", "expected",
)  # fmt: skip


def _shown(row: RaterStatistics) -> dict[str, str]:
    excluded = ["excluded"] if row.excluded else []
    return {
        "rater": row.rater,
        "votes": str(row.votes),
        "ties": str(row.ties),
        "both bad": str(row.both_bad),
        "skips": str(row.skips),
        "median": "-" if row.median_seconds is None else f"{row.median_seconds:.1f} s",
        "an hour": "-" if row.votes_per_hour is None else f"{row.votes_per_hour:.0f}",
        "first": "-"
        if row.first_share is None
        else f"{format_percent(row.first_share)} ({format_percent(row.first_low)}-{format_percent(row.first_high)})",
        "others": format_percent(row.agreement_others),
        "kappa": "-" if row.kappa is None else f"{row.kappa:.2f}",
        "repeats": "-" if not row.repeats else f"{format_percent(row.repeat_agreement)} of {row.repeats}",
        "gold": "-" if not row.gold else f"{format_percent(row.gold_right)} of {row.gold}",
        "fit": format_percent(row.agreement_model),
        "expected": format_percent(row.expected_model),
        "outlier": ", ".join([*row.reasons, *excluded]),
    }


def rater_statistics(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    ridge: float | str = 1.0,
    level: float = 0.95,
    false_alarms: float = 0.01,
    excluded: Collection[str] = (),
    seed: int = 0,
    cross_fits: CrossFits | None = None,
) -> Raters:
    """Return statistics of every rater that has a name.

    A rater is an outlier if their decided votes are too unlikely for a rater who votes as the others' fit predicts:
    too few for the arm that the fit favours, or too many or too few for the first. Each of the two is tested by the
    exact Poisson binomial distribution, with probabilities from a fit to decided votes without this rater's (raters
    are split into ten groups, and each group is predicted from the others), at level false_alarms / (2 raters): if
    all vote as the fit predicts, the probability that any rater is flagged is at most about `false_alarms`.

    Excluded raters are listed, but do not affect others. Gold and repeated duels count for their own
    statistics, not for the fit. `cross_fits` is a dictionary that caches fits between calls, which is faster.
    """
    check_level(level)
    if not 0.0 < false_alarms < 1.0:
        raise InvalidInput(
            f"false_alarms is {false_alarms!r}.",
            "Give a probability between 0 and 1, such as 0.01.",
            field="false_alarms",
        )
    log = as_vote_table(votes, arms)
    table = _RaterTable(log, features, frozenset(excluded), level, false_alarms, ridge, seed, cross_fits)
    rows = [table.row(k) for k in np.flatnonzero(table.votes).tolist()]
    return Raters(tuple(sorted(rows, key=lambda row: -row.votes)), level, false_alarms, table.units.alpha())


class _RaterTable:
    """The statistics of all raters, computed together."""

    def __init__(
        self, log: VoteTable, features: Features, excluded: frozenset[str], level: float, false_alarms: float, ridge: float | str,
        seed: int, cross_fits: CrossFits | None,
    ) -> None:  # fmt: skip
        self.log, self.level = log, level
        self.excluded = np.array([name in excluded for name in log.raters], np.bool_)
        self.named = log.rater >= 0
        self.votes = self._count(self.named)
        self.units = Units(log, self.excluded)
        normal = log.kind == KIND_CODES["normal"]
        decided = np.flatnonzero(self.named & normal & log.decided)
        self.decided = decided[_order(log.rater[decided], len(log.raters))]
        self.starts = np.searchsorted(log.rater[self.decided], np.arange(len(log.raters) + 1))
        chance = chances_without_own(log, self.decided, features, self.excluded, ridge, seed, cross_fits)
        # Where the others' votes balance, a fit differs from one half by rounding, and differently in another process.
        self.chance = np.where(np.abs(chance - 0.5) < _EVEN, 0.5, chance)
        self.first = log.outcome[self.decided] == FIRST
        self.won = _sum_by_group(log.rater[self.decided], self.first, len(log.raters))
        self.threshold = false_alarms / max(2 * int((self.votes > 0).sum()), 1)
        self.columns = {**self._columns(), **self._sides(), **self._by_fit()}

    def _count(self, chosen: NDArray[np.bool_]) -> Ints:
        return np.bincount(self.log.rater[chosen], minlength=len(self.log.raters))

    def _columns(self) -> dict[str, Sequence[Any]]:
        log, named = self.log, self.named
        gold = named & (log.expected >= 0)
        golds, right = self._count(gold), self._count(gold & (log.outcome == log.expected))
        return {
            "rater": log.raters,
            "votes": self.votes.tolist(),
            "ties": self._count(named & (log.outcome == TIE)).tolist(),
            "both_bad": self._count(named & (log.outcome == BOTH_BAD)).tolist(),
            "skips": self._count(named & (log.outcome == SKIP)).tolist(),
            "median_seconds": list(map(_median, _by_rater(log, log.seconds, named & ~np.isnan(log.seconds)))),
            "votes_per_hour": self._pace(),
            "gold": golds.tolist(),
            "gold_right": _shares(right.tolist(), golds.tolist()),
            "excluded": self.excluded.tolist(),
            **self.units.by_rater(),
        }

    def _pace(self) -> list[float | None]:
        """Return votes per hour by the median time between one vote of a rater and the next."""
        timed = self.named & (self.log.voted_at != NO_TIME)
        gaps = (np.diff(np.sort(times)) / 1e6 for times in _by_rater(self.log, self.log.voted_at, timed))
        return [3600.0 / middle if (middle := _median(gap)) else None for gap in gaps]

    def row(self, k: int) -> RaterStatistics:
        return RaterStatistics(**{name: column[k] for name, column in self.columns.items()})

    def _sides(self) -> dict[str, Sequence[Any]]:
        """Return which side won, the first or the second."""
        won = self.won.astype(np.int64).tolist()
        n = np.diff(self.starts).tolist()
        intervals = [binomial_interval(*counts, self.level) for counts in zip(won, n, strict=True)]
        return {
            "first_share": _shares(won, n),
            "first_low": [low for low, _ in intervals],
            "first_high": [high for _, high in intervals],
        }

    def _by_fit(self) -> dict[str, Sequence[Any]]:
        """Return votes next to the predictions of the others' fit."""
        rater, n = self.log.rater[self.decided], len(self.log.raters)
        informed = self.chance != 0.5  # elsewhere the fit favours neither arm
        of, chance = (rater, self.chance) if informed.all() else (rater[informed], self.chance[informed])
        likely = np.maximum(chance, 1.0 - chance)
        favoured = _sum_by_group(of, self.first[informed] == (chance > 0.5), n)
        expected = Sums.of(likely, of, n)
        counts = np.bincount(of, minlength=n).tolist()
        agrees = clearly_above(self.threshold, expected, favoured)[0]
        balanced = np.logical_and(*clearly_above(self.threshold / 2.0, Sums.of(self.chance, rater, n), self.won))
        return {
            "agreement_model": _shares(favoured.tolist(), counts),
            "expected_model": _shares(expected.mean.tolist(), counts),
            "reasons": [
                (
                    *((DISAGREES,) if not agrees[k] and self._disagrees(k, int(favoured[k])) else ()),
                    *((ONE_SIDED,) if not balanced[k] and self._one_sided(k) else ()),
                )
                for k in range(n)
            ],
        }

    def _chances_of(self, k: int) -> Floats:
        return self.chance[self.starts[k] : self.starts[k + 1]]

    def _disagrees(self, k: int, favoured: int) -> bool:
        chance = self._chances_of(k)
        chance = chance[chance != 0.5]
        return tails(np.maximum(chance, 1.0 - chance), favoured)[0] <= self.threshold

    def _one_sided(self, k: int) -> bool:
        return 2.0 * min(tails(self._chances_of(k), int(self.won[k]))) <= self.threshold


def _sum_by_group(which: NDArray[Any], values: NDArray[Any], n: int) -> Floats:
    """Return sums of values by group, `which` from 0 to n - 1; `bincount` returns integers for no values."""
    return np.asarray(np.bincount(which, values, n), np.float64)


def _shares(parts: Sequence[float], wholes: Sequence[int]) -> list[float | None]:
    return [part / whole if whole else None for part, whole in zip(parts, wholes, strict=True)]


def _by_rater(log: VoteTable, values: NDArray[Any], chosen: NDArray[np.bool_]) -> list[NDArray[Any]]:
    """Return each rater's values, in the order of the log."""
    kept = np.flatnonzero(chosen)
    order = kept[_order(log.rater[kept], len(log.raters))]
    return np.split(values[order], np.searchsorted(log.rater[order], np.arange(1, len(log.raters))))[: len(log.raters)]


def _median(values: NDArray[Any]) -> float | None:
    """Return the median; `np.median` has more overhead than sorting a rater's votes."""
    n = len(values)
    ordered = np.sort(values)
    return float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2.0 if n else None


def _order(rater: NDArray[Any], n: int) -> Ints:
    """Return positions by rater, in the order of the log; two-byte integers are sorted fastest."""
    return np.argsort(rater.astype(np.int16) if n < 2**15 else rater, kind="stable")
