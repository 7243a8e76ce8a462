"""Who is best, and how sure that is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from scipy.special import ndtr

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import DisconnectedArms, InvalidInput
from duelist.core.tables import TableContent, TabularResult, columns_of, format_percent
from duelist.study.analysis.fit.arm_effects import Features
from duelist.study.analysis.fit.posterior import Posterior
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.votes import VoteTable
from duelist.study.analysis.intervals import two_sided
from duelist.study.records import Vote

DRAWS: Final = 4000
"""Draws for the chance of being best: its standard error is at most 0.8 format_percent points."""
_HOPELESS: Final = 5.0
"""An arm so many standard deviations behind the leader has a chance under 3e-7, and is not drawn."""
_CHUNK: Final = 512


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One arm of a leaderboard."""

    arm: str
    utility: float
    """Relative to the mean arm; a difference d of two arms means odds exp(d) among the votes that are no ties."""
    low: float
    high: float
    best_rank: int
    worst_rank: int
    chance_best: float
    votes: int
    """Votes that are not skips, on this arm."""
    wins: int
    ties: int
    both_bad: int
    """Votes that neither is good enough: they say nothing of which is better, and are not in the fit."""
    group: int
    """Arms of different groups never met, nor did anybody they met: 1 is the group of the first arm."""

    @property
    def ranks(self) -> str:
        """The range of ranks."""
        return f"{self.best_rank}" if self.best_rank == self.worst_rank else f"{self.best_rank}-{self.worst_rank}"


@dataclass(frozen=True, slots=True)
class Leaderboard(TabularResult):
    """Arms from best to worst. Intervals hold with probability `level` each, not all at once."""

    standings: tuple[LeaderboardRow, ...]
    level: float
    votes: int
    """Votes that teach: for one arm, or a tie."""
    tie_share: float | None = None
    """How often two equal arms are tied, by the fit; None where there are no ties."""
    note: str | None = None
    """What to beware of, if there is something."""
    n_arms: int = 0
    """Arms that are ranked, of which `standings` may have only the best."""

    __str__ = TabularResult.__str__

    def _table(self) -> TableContent:
        grouped = self.note is not None
        bad = any(each.both_bad for each in self.standings)
        headers = ["arm", "utility", f"{format_percent(self.level)} interval", "rank", "best", "votes", "wins", "ties"]
        rows = [
            [
                each.arm,
                f"{each.utility:+.2f}",
                f"{each.low:+.2f} to {each.high:+.2f}",
                each.ranks,
                format_percent(each.chance_best),
                str(each.votes),
                str(each.wins),
                str(each.ties),
                *([str(each.both_bad)] if bad else []),
                *([str(each.group)] if grouped else []),
            ]
            for each in self.standings
        ]
        more = [*(["both bad"] if bad else []), *(["group"] if grouped else [])]
        return TableContent([*headers, *more], rows, [] if self.note is None else [self.note])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.standings, [field.name for field in fields(LeaderboardRow)])


def leaderboard(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    ridge: float | str = 1.0,
    level: float = 0.95,
    top: int | None = None,
    seed: int = 0,
) -> Leaderboard:
    """Utility, interval, range of ranks and chance of being best of each arm, from an exact fit to all votes.

    Ties are fit_votes as such, by Davidson's model (`fit_utilities`). "both bad" is counted beside; skips teach nothing.

    Parameters
    ----------
    votes
        Votes that stand (`duelist.study.records.current_votes`).
    arms
        Ids of all arms.
    features
        Of the arms, (n_arms, dim): utilities are then linear in them. Without, each arm has its own.
    among
        Ids of the arms to rank, all by default; votes on the others teach all the same.
    ridge
        Of the fit; see `fit_utilities`.
    level
        Of the intervals, and of each comparison in a range of ranks: an arm's best rank is one more than the number of
        arms whose utility is larger by more than what the difference's own standard deviation allows.
    top
        Only so many of the best, which saves time with very many arms.
    seed
        Of the draws.
    """
    _check_top(top)
    two_sided(level)
    return leaderboard_from_fit(
        fit_votes(votes, arms, features, among=among, ridge=ridge, seed=seed), level=level, top=top, seed=seed
    )


def leaderboard_from_fit(fit: StudyFit, *, level: float = 0.95, top: int | None = None, seed: int = 0) -> Leaderboard:
    """The leaderboard of a fit that is there already."""
    posterior, spread = fit.posterior, two_sided(level)
    order = np.argsort(-posterior.mean, kind="stable")[: _check_top(top)]
    deviation = spread * np.sqrt(posterior.variance)
    best, worst = _rank_ranges(posterior, order, spread)
    chance = chances_of_best(posterior, seed)
    names, counts_by_arm, groups = fit.ids, fit.counts_by_arm, fit.groups
    standings = tuple(
        LeaderboardRow(
            arm=names[arm],
            utility=float(posterior.mean[arm]),
            low=float(posterior.mean[arm] - deviation[arm]),
            high=float(posterior.mean[arm] + deviation[arm]),
            best_rank=int(best[k]),
            worst_rank=int(worst[k]),
            chance_best=float(chance[arm]),
            group=int(groups[arm]),
            **{name: int(count[fit.among[arm]]) for name, count in counts_by_arm.items()},
        )
        for k, arm in enumerate(order)
    )
    warn_if_apart(fit)
    tie = posterior.tie
    share = None if tie is None else float(np.exp(tie) / (2.0 + np.exp(tie)))
    return Leaderboard(standings, level, fit.votes, share, fit.note, len(names))


def warn_if_apart(fit: StudyFit) -> None:
    """Where nothing but the prior ranks some arms against others, say so aloud."""
    if fit.note is not None and fit.whole.features is None:
        warnings.warn(fit.note, DisconnectedArms, stacklevel=4)


def chances_of_best(posterior: Posterior, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Probability that each arm has the largest utility: exact where two are in question, by draws where more are."""
    chance = np.zeros(len(posterior.mean))
    if not len(chance):
        return chance
    leader = int(np.argmax(posterior.mean))
    gap, variance = behind(posterior, leader)
    deviation = np.sqrt(variance)
    near = np.flatnonzero(gap <= _HOPELESS * deviation)
    if len(near) == 2:
        other = int(near[near != leader][0])
        chance[other] = ndtr(-gap[other] / deviation[other]) if deviation[other] > 0.0 else 0.5
        chance[leader] = 1.0 - chance[other]
        return chance
    root = posterior.root(near)
    rng = np.random.default_rng(seed)
    for start in range(0, draws, _CHUNK):
        noise = rng.standard_normal((min(_CHUNK, draws - start), root.shape[1]))
        winners = np.argmax(posterior.mean[near] + noise @ root.T, axis=1)
        chance[near] += np.bincount(winners, minlength=len(near))
    return chance / draws


def behind(posterior: Posterior, leader: int) -> tuple[Floats, Floats]:
    """How far each arm is behind the leader, and the variance of that."""
    everyone = np.arange(len(posterior.mean))
    variance = posterior.difference_variance(np.full(len(everyone), leader), everyone)
    return posterior.mean[leader] - posterior.mean, variance


def _rank_ranges(posterior: Posterior, chosen: Ints, spread: float) -> tuple[Ints, Ints]:
    mean, variance = posterior.mean, posterior.variance
    best, worst = np.empty(len(chosen), dtype=np.int64), np.empty(len(chosen), dtype=np.int64)
    for start in range(0, len(chosen), _CHUNK):
        part = chosen[start : start + _CHUNK]
        between = variance[part][:, None] + variance - 2.0 * posterior.rows(part)
        allowed = spread * np.sqrt(np.maximum(between, 0.0))
        gap = mean[part][:, None] - mean
        best[start : start + _CHUNK] = 1 + (gap < -allowed).sum(axis=1)
        worst[start : start + _CHUNK] = len(mean) - (gap > allowed).sum(axis=1)
    return best, worst


def _check_top(top: int | None) -> int | None:
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InvalidInput(
            f"top is {top!r}.", "Give a whole number of at least 1, or leave it out to show all.", field="top"
        )
    return top
