"""Leaderboard: arms by utility, with intervals, ranks and probabilities of being best."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from scipy.special import ndtr

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import DisconnectedArms, InvalidInput
from duelist.core.tables import TableContent, TabularResult, columns_of, format_percent
from duelist.model.posterior import Posterior
from duelist.study.analysis.fit.acceptable import acceptable_level
from duelist.study.analysis.fit.covariates import CovariateEffect, effects_of
from duelist.study.analysis.fit.flagged_raters import FlaggedRater, RaterChoice
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.utilities import AUTO, Features
from duelist.study.analysis.fit.votes import VoteTable
from duelist.study.analysis.intervals import two_sided
from duelist.study.records import Vote

DRAWS: Final = 4000
"""Draws for the probability of being best: its standard error is at most 0.8 percentage points."""
_HOPELESS: Final = 5.0
"""An arm this many standard deviations behind the leader has a probability under 3e-7, and is not drawn."""
_CHUNK: Final = 512


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One arm of a leaderboard, or one system."""

    arm: str
    utility: float
    """Relative to the mean arm; a difference d of two arms means odds exp(d) among votes that are not ties."""
    low: float
    high: float
    best_rank: int
    worst_rank: int
    chance_best: float
    votes: int
    """Votes on this arm that are not skips."""
    wins: int
    ties: int
    both_bad: int
    """Votes that both arms are bad: they do not say which is better, and inform `acceptable` alone."""
    group: int
    """Arms of different groups are connected by no chain of votes; 1 is the group of the first arm."""
    acceptable: float | None = None
    """Probability that the arm is above the acceptable level (`duelist.study.analysis.fit.acceptable`); None if no vote is
    "both bad"."""

    @property
    def ranks(self) -> str:
        """The range of ranks."""
        return f"{self.best_rank}" if self.best_rank == self.worst_rank else f"{self.best_rank}-{self.worst_rank}"


@dataclass(frozen=True, slots=True, repr=False)
class Leaderboard(TabularResult):
    """Arms from best to worst. Each interval holds with probability `level`, not all at once."""

    standings: tuple[LeaderboardRow, ...]
    level: float
    votes: int
    """Votes that inform the fit: for one arm, or a tie."""
    tie_share: float | None = None
    """The fitted share of ties between two equal arms; None if there are no ties."""
    note: str | None = None
    """A caveat, if there is one."""
    n_arms: int = 0
    """The number of ranked arms, of which `standings` may hold only the top."""
    of: str = "arm"
    """The kind of entries: "arm" or "system". Intervals of systems count raters and prompts as clusters of votes."""
    category: str | None = None
    """The category of the prompts that the votes are on; None for all."""
    covariates: tuple[CovariateEffect, ...] = ()
    """What swayed raters beside utility, and is excluded from it."""
    flagged: tuple[FlaggedRater, ...] = ()
    """Careless raters."""
    flagged_note: str = ""
    """Who is flagged and why, and what changes without their votes."""
    acceptable_level: float | None = None
    """The utility of the acceptable level; an arm above it wins against "both bad" more often than not. None if no vote is
    "both bad"."""

    def _table(self) -> TableContent:
        grouped = self.note is not None
        bad = any(each.both_bad for each in self.standings)
        headers = [
            self.of,
            "utility",
            f"{format_percent(self.level)} interval",
            "rank",
            "best",
            *(["acceptable"] if self.acceptable_level is not None else []),
            "votes",
            "wins",
            "ties",
        ]
        rows = [
            [
                each.arm,
                f"{each.utility:+.2f}",
                f"{each.low:+.2f} to {each.high:+.2f}",
                each.ranks,
                format_percent(each.chance_best),
                *([format_percent(each.acceptable)] if each.acceptable is not None else []),
                str(each.votes),
                str(each.wins),
                str(each.ties),
                *([str(each.both_bad)] if bad else []),
                *([str(each.group)] if grouped else []),
            ]
            for each in self.standings
        ]
        more = [*(["both bad"] if bad else []), *(["group"] if grouped else [])]
        notes = [] if self.note is None else [self.note]
        if self.covariates:
            notes.append(f"utilities exclude the log-odds added by {', '.join(map(str, self.covariates))}")
        if self.acceptable_level is not None:
            notes.append(
                f'acceptable: above the level {self.acceptable_level:+.2f}, where the {self.of} and "both bad" are chosen equally often'
            )
        if self.flagged_note:
            notes.append(self.flagged_note)
        return TableContent([*headers, *more], rows, notes)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.standings, [field.name for field in fields(LeaderboardRow)])


@dataclass(frozen=True, slots=True, repr=False)
class LeaderboardByCategory(TabularResult):
    """The leaderboard of systems on all prompts, and on the prompts of each category."""

    overall: Leaderboard
    categories: tuple[Leaderboard, ...]

    __str__ = TabularResult.__str__

    def _table(self) -> TableContent:
        boards = [{row.arm: row for row in board.standings} for board in self.categories]
        names = [str(board.category) for board in self.categories]
        rows = [
            [row.arm, *(_rank_and_utility(found.get(row.arm)) for found in ({row.arm: row}, *boards))]
            for row in self.overall.standings
        ]
        counts = [f"{board.votes:,} on {name}" for board, name in zip(self.categories, names, strict=True)]
        return TableContent(
            [self.overall.of, "all prompts", *names],
            rows,
            [f"range of ranks, and utility relative to the mean; votes: {', '.join(counts)}"],
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        rows = [(board.category, row) for board in (self.overall, *self.categories) for row in board.standings]
        values = columns_of([row for _, row in rows], [field.name for field in fields(LeaderboardRow)])
        return {"category": [category for category, _ in rows], **values}


def _rank_and_utility(row: LeaderboardRow | None) -> str:
    return "-" if row is None or not row.votes else f"{row.ranks} ({row.utility:+.2f})"


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
    clusters: bool = True,
    rater_model: RaterChoice = AUTO,
) -> Leaderboard:
    """Return utility, interval, range of ranks and probability of being best of each arm.

    The fit is exact. Ties are fitted by Davidson's model (`fit_utilities`).
    "Both bad" votes do not affect utilities; they say which arms are
    acceptable. Skips are ignored.

    Parameters
    ----------
    votes
        Current votes (`duelist.study.records.current_votes`).
    arms
        Ids of all arms.
    features
        Features of the arms, (n_arms, dim), in which utilities are then linear.
        Without, each arm has its own utility.
    among
        Ids of the arms to rank, all by default; votes on the others still
        inform the fit.
    ridge
        Of the fit; see `fit_utilities`.
    level
        Of the intervals, and of each comparison in a range of ranks: an arm's
        best rank is one more than the number of arms whose utility is larger by
        more than the difference's own standard deviation allows.
    top
        Return only the top arms, which saves time with very many arms.
    seed
        Of the draws.
    clusters
        Whether the covariance counts votes of one rater as dependent
        (`duelist.model.clusters`).
    rater_model
        Whether the fit estimates how raters differ (`duelist.model.raters`);
        "auto" does if a test says that they do.
    """
    _check_top(top)
    two_sided(level)
    return leaderboard_from_fit(
        fit_votes(
            votes, arms, features, among=among, ridge=ridge, seed=seed, clusters=clusters, rater_model=rater_model
        ),
        level=level,
        top=top,
        seed=seed,
    )


def leaderboard_from_fit(fit: StudyFit, *, level: float = 0.95, top: int | None = None, seed: int = 0) -> Leaderboard:
    """Return the leaderboard of an existing fit."""
    posterior, spread = fit.posterior, two_sided(level)
    order = np.argsort(-posterior.mean, kind="stable")[: _check_top(top)]
    deviation = spread * np.sqrt(posterior.variance)
    best, worst = fit.once(("ranks", len(order), spread), lambda: _rank_ranges(posterior, order, spread))
    chance = fit.once(("chances", seed), lambda: chances_of_best(posterior, seed))
    names, counts_by_arm, groups, acceptable = fit.ids, fit.counts_by_arm, fit.groups, acceptable_level(fit)
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
            acceptable=None if acceptable is None else float(acceptable.probability[arm]),
            **{name: int(count[fit.among[arm]]) for name, count in counts_by_arm.items()},
        )
        for k, arm in enumerate(order)
    )
    warn_if_disconnected(fit)
    tie = posterior.tie
    share = None if tie is None else float(np.exp(tie) / (2.0 + np.exp(tie)))
    found = effects_of(fit.whole, () if fit.log.covariates is None else fit.log.covariates.names, level)
    return Leaderboard(
        standings,
        level,
        fit.votes,
        share,
        fit.note,
        len(names),
        fit.of,
        covariates=found,
        acceptable_level=None if acceptable is None else acceptable.utility,
    )


def warn_if_disconnected(fit: StudyFit) -> None:
    """Warn if only the prior compares some arms with others."""
    if fit.note is not None and fit.whole.features is None:
        warnings.warn(fit.note, DisconnectedArms, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Return the stack level, for the function that calls this one, of the first frame outside the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("duelist."):
        frame, level = frame.f_back, level + 1
    return level


def chances_of_best(posterior: Posterior, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Return the probability that each arm has the largest utility: exact for two contenders, from draws for more."""
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
    draw = posterior.sampler(near)
    rng = np.random.default_rng(seed)
    for start in range(0, draws, _CHUNK):
        winners = np.argmax(draw(rng, min(_CHUNK, draws - start)), axis=1)
        chance[near] += np.bincount(winners, minlength=len(near))
    return chance / draws


def behind(posterior: Posterior, leader: int) -> tuple[Floats, Floats]:
    """Return how far each arm is behind the leader, and the variance of that gap."""
    everyone = np.arange(len(posterior.mean))
    variance = posterior.difference_variance(np.full(len(everyone), leader), everyone)
    return posterior.mean[leader] - posterior.mean, variance


def _rank_ranges(posterior: Posterior, chosen: Ints, spread: float) -> tuple[Ints, Ints]:
    mean, variance = posterior.mean, posterior.variance
    best, worst = np.empty(len(chosen), dtype=np.int64), np.empty(len(chosen), dtype=np.int64)
    for start in range(0, len(chosen), _CHUNK):
        part = chosen[start : start + _CHUNK]
        gap = mean[part][:, None] - mean
        if posterior.own is not None:
            found = _clearly_apart(posterior, posterior.own, part, gap, spread)
            best[start : start + _CHUNK], worst[start : start + _CHUNK] = 1 + found[0], len(mean) - found[1]
            continue
        between = variance[part][:, None] + variance - 2.0 * posterior.rows(part)
        allowed = spread * np.sqrt(np.maximum(between, 0.0))
        best[start : start + _CHUNK] = 1 + (gap < -allowed).sum(axis=1)
        worst[start : start + _CHUNK] = len(mean) - (gap > allowed).sum(axis=1)
    return best, worst


def _clearly_apart(posterior: Posterior, own: Floats, part: Ints, gap: Floats, spread: float) -> tuple[Ints, Ints]:
    """Count the arms that are clearly better and clearly worse than each of some arms.

    The independent part of the variance bounds it from below, which leaves few pairs to look at.
    """
    row, other = np.nonzero(np.square(gap) > spread**2 * (own[part][:, None] + own))
    apart = gap[row, other]
    clear = np.abs(apart) > spread * np.sqrt(posterior.difference_variance(part[row], other))
    better, worse = (np.bincount(row[clear & side], minlength=len(part)) for side in (apart < 0.0, apart > 0.0))
    return better, worse


def _check_top(top: int | None) -> int | None:
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InvalidInput(
            f"top is {top!r}.", "Give a whole number of at least 1, or leave it out to show all.", field="top"
        )
    return top
