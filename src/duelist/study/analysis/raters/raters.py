"""Rater statistics: speed, side bias, agreement, reliability, and careless raters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.core.tables import TableContent, TabularResult, columns_of, format_percent
from duelist.model.clusters import with_clusters
from duelist.model.votes import Votes
from duelist.study.analysis.fit.cross_validation import CrossFits, chances_without_own
from duelist.study.analysis.fit.flagged_raters import estimated_raters, flagged_raters, has_a_crowd, raters_differ
from duelist.study.analysis.fit.utilities import Features, fit_utilities
from duelist.study.analysis.fit.votes import (
    BOTH_BAD,
    FIRST,
    KIND_CODES,
    NO_TIME,
    SKIP,
    TIE,
    VoteTable,
    as_vote_table,
    vote_counts,
)
from duelist.study.analysis.intervals import binomial_interval, check_level, two_sided
from duelist.study.analysis.raters.repeated_votes import Units
from duelist.study.records import Vote


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
    reliability: float | None
    """The factor by which this rater's log-odds differ from the crowd's: 1 is as reliable, 0 is chance, 0.4 is weak."""
    reliability_low: float | None
    reliability_high: float | None
    side_bias: float | None
    """Log-odds that this rater adds for the arm shown first, shrunken towards 0."""
    lapses: float | None
    """Estimated share of answers at random."""
    careless: float | None
    """The probability that this rater answers without regard to the arms, or against the others."""
    excluded: bool
    """Whether the owner excluded this rater's votes."""
    reasons: tuple[str, ...]
    """Why this rater is flagged; empty for most."""

    @property
    def flagged(self) -> bool:
        """Whether this rater is flagged as careless; `rater_statistics` states the rule."""
        return bool(self.reasons)


@dataclass(frozen=True, slots=True, repr=False)
class Raters(TabularResult):
    """All raters, those with most votes first."""

    rows: tuple[RaterStatistics, ...]
    level: float
    alpha: float | None = None
    """Krippendorff's alpha over all raters: chance-corrected agreement on pairs that several have voted on."""

    @property
    def flagged(self) -> tuple[str, ...]:
        """The names of the raters who are flagged."""
        return tuple(row.rater for row in self.rows if row.flagged)

    def _table(self) -> TableContent:
        optional = {
            "both bad": any(row.both_bad for row in self.rows),
            "kappa": any(row.kappa is not None for row in self.rows),
            "repeats": any(row.repeats for row in self.rows),
            "gold": any(row.gold for row in self.rows),
        }
        rows = [_shown(row) for row in self.rows]
        headers = ["rater", *(name for name in _HEADERS if optional.get(name, True)), "flags"]
        notes = (
            [] if self.alpha is None else [f"Krippendorff's alpha {self.alpha:.2f}: 1 is full agreement, 0 is chance"]
        )
        return TableContent(headers, [[row[name] for name in headers] for row in rows], notes)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.rows, [field.name for field in fields(RaterStatistics)])


_EVEN: Final = 1e-9
_HEADERS: Final = (
    "votes", "ties", "both bad", "skips", "median", "an hour", "first", "others", "kappa", "repeats", "gold", "fit", "expected",
    "reliability",
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
        "reliability": "-"
        if row.reliability is None
        else f"{row.reliability:.2f} ({row.reliability_low:.2f}-{row.reliability_high:.2f})",
        "flags": ", ".join([*row.reasons, *excluded]),
    }


def rater_statistics(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    ridge: float | str = 1.0,
    level: float = 0.95,
    excluded: Collection[str] = (),
    seed: int = 0,
    cross_fits: CrossFits | None = None,
) -> Raters:
    """Return statistics of every rater that has a name.

    Reliability, side bias and lapses are estimated together with the utilities (`duelist.model.raters`). A rater is
    flagged if a test says that raters differ, and this rater is probably careless: answers at random, prefers a side
    whatever the arms, or votes against the others. As many are flagged as possible while at most 5 % of the flags are
    expected to be wrong. If all raters are alike there are none in 99 % of studies, and none if
    most would be flagged. A weak but honest rater has a low reliability and no flag.

    `agreement_model` predicts a rater's votes from a fit to decided votes without theirs (raters are split into ten
    groups, and each group is predicted from the others). Excluded raters are listed, but do not affect others. Gold
    and repeated duels count for their own statistics, not for the fit. `cross_fits` is a dictionary that caches fits
    between calls, which is faster.
    """
    check_level(level)
    log = as_vote_table(votes, arms)
    table = _RaterTable(log, features, frozenset(excluded), level, ridge, seed, cross_fits)
    rows = [table.row(k) for k in np.flatnonzero(table.votes).tolist()]
    return Raters(tuple(sorted(rows, key=lambda row: -row.votes)), level, table.units.alpha())


class _RaterTable:
    """The statistics of all raters, computed together."""

    def __init__(
        self, log: VoteTable, features: Features, excluded: frozenset[str], level: float, ridge: float | str,
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
        self.columns = {**self._columns(), **self._sides(), **self._by_fit(), **self._by_model(features, ridge, seed)}

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
        expected = _sum_by_group(of, likely, n)
        counts = np.bincount(of, minlength=n).tolist()
        return {
            "agreement_model": _shares(favoured.tolist(), counts),
            "expected_model": _shares(expected.tolist(), counts),
        }

    def _by_model(self, features: Features, ridge: float | str, seed: int) -> dict[str, list[Any]]:
        """Return what the fit of utilities and raters says; excluded raters do not affect it."""
        n = len(self.log.raters)
        names = ("reliability", "reliability_low", "reliability_high", "side_bias", "lapses", "careless")
        columns: dict[str, list[Any]] = {name: [None] * n for name in names} | {"reasons": [()] * n}
        votes = vote_counts(self.log.on_arms)
        kept = ~np.append(self.excluded, False)[votes.clusters["rater"]]
        pooled = Votes(votes.n_items, votes.items[kept], votes.counts[kept]).pooled()
        alike = fit_utilities(pooled, features, ridge, seed)
        differ = raters_differ(with_clusters(alike, votes), votes)
        excluded = np.flatnonzero(self.excluded)
        effects = estimated_raters(alike, votes, seed, excluded).raters
        if effects is None:
            return columns
        margin = np.exp(two_sided(self.level) * effects.deviation)
        found = (
            effects.reliability,
            effects.reliability / margin,
            effects.reliability * margin,
            effects.side,
            effects.lapse,
            1.0 - effects.attentive,
        )
        for name, values in zip(names, found, strict=True):
            for k, value in zip(effects.ids.tolist(), values.tolist(), strict=True):
                columns[name][k] = value
        if differ and has_a_crowd(effects, excluded):
            place = {name: k for k, name in enumerate(self.log.raters)}
            for flag in flagged_raters(effects, self.log.raters):
                columns["reasons"][place[flag.rater]] = (flag.reason,)
        return columns


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
