"""Who is best, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from duelist.errors import InvalidInput
from duelist.study.reading._battles import Battles, battles, counted
from duelist.study.reading._posterior import Posterior, fit_utilities
from duelist.study.reading._text import percent, table, two_sided
from duelist.study.records import Vote

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS: Final = 4000
"""Draws for the chance of being best: its standard error is at most 0.8 percent points."""
_HOPELESS: Final = 5.0
"""An arm so many standard deviations behind the leader has a chance under 3e-7, and is not drawn."""
_CHUNK: Final = 512


@dataclass(frozen=True, slots=True)
class Standing:
    """One arm of a leaderboard."""

    arm: str
    utility: float
    """Relative to the mean arm; a difference d of two arms means a chance 1/(1 + exp(-d)) of winning."""
    low: float
    high: float
    best_rank: int
    worst_rank: int
    chance_best: float
    votes: int
    wins: int
    ties: int


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Arms from best to worst. Intervals hold with probability `level` each, not all at once."""

    standings: tuple[Standing, ...]
    level: float
    votes: int
    """Votes that teach: neither skipped nor undone."""

    def __str__(self) -> str:
        rows = [
            (
                each.arm,
                f"{each.utility:+.2f}",
                f"{each.low:+.2f} to {each.high:+.2f}",
                f"{each.best_rank}" if each.best_rank == each.worst_rank else f"{each.best_rank}-{each.worst_rank}",
                percent(each.chance_best),
                str(each.votes),
                str(each.wins),
                str(each.ties),
            )
            for each in self.standings
        ]
        return table(
            ("arm", "utility", f"{percent(self.level)} interval", "rank", "best", "votes", "wins", "ties"), rows
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How near a study is to knowing its best arm."""

    leader: str
    chance_best: float
    """Probability that the leader is the best arm."""
    not_ruled_out: int
    """Arms, the leader among them, that may still be better than the leader at this level."""
    arms: int
    votes: int
    target: float
    level: float

    @property
    def done(self) -> bool:
        """Whether the leader is the best with the probability asked for."""
        return self.chance_best >= self.target

    def __str__(self) -> str:
        verdict = "done" if self.done else f"until {percent(self.target)}"
        return (
            f"{self.leader} leads and is best with probability {percent(self.chance_best)} ({verdict}); "
            f"{self.not_ruled_out} of {self.arms} arms not ruled out after {self.votes} votes"
        )


def leaderboard(
    votes: Sequence[Vote],
    arms: Sequence[str],
    features: ArrayLike | None = None,
    *,
    ridge: float = 1.0,
    level: float = 0.95,
    top: int | None = None,
    seed: int = 0,
) -> Leaderboard:
    """Utility, interval, range of ranks and chance of being best of each arm, from an exact fit to all votes.

    Parameters
    ----------
    votes
        Votes that stand (`duelist.study.records.standing`); skips teach nothing, a tie or both bad is half a win each.
    arms
        Ids of all arms.
    features
        Of the arms, (n_arms, dim): utilities are then linear in them. Without, each arm has its own.
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
    met = battles(votes, arms)
    spread = two_sided(level)
    posterior = fit_utilities(counted(met), features, ridge, seed)
    order = np.argsort(-posterior.mean, kind="stable")[: _check_top(top)]
    deviation = spread * np.sqrt(posterior.variance)
    best, worst = _rank_ranges(posterior, order, spread)
    chance = chances_of_best(posterior, seed)
    met_by, won, tied = _tallies(met)
    standings = tuple(
        Standing(
            arm=arms[arm],
            utility=float(posterior.mean[arm]),
            low=float(posterior.mean[arm] - deviation[arm]),
            high=float(posterior.mean[arm] + deviation[arm]),
            best_rank=int(best[k]),
            worst_rank=int(worst[k]),
            chance_best=float(chance[arm]),
            votes=int(met_by[arm]),
            wins=int(won[arm]),
            ties=int(tied[arm]),
        )
        for k, arm in enumerate(order)
    )
    return Leaderboard(standings, level, len(met.share))


def progress(
    votes: Sequence[Vote],
    arms: Sequence[str],
    features: ArrayLike | None = None,
    *,
    target: float = 0.95,
    ridge: float = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> Progress:
    """How sure the leader is, and how many arms may still be better: their difference's interval reaches zero."""
    if not arms:
        raise InvalidInput("there are no arms; add some first")
    met = battles(votes, arms)
    posterior = fit_utilities(counted(met), features, ridge, seed)
    leader = int(np.argmax(posterior.mean))
    gap, deviation = _behind(posterior, leader)
    left = int((gap <= two_sided(level) * deviation).sum())
    chance = float(chances_of_best(posterior, seed)[leader])
    return Progress(arms[leader], chance, left, len(arms), len(met.share), target, level)


def chances_of_best(posterior: Posterior, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Probability that each arm has the largest utility: exact where two are in question, by draws where more are."""
    chance = np.zeros(len(posterior.mean))
    if not len(chance):
        return chance
    leader = int(np.argmax(posterior.mean))
    gap, deviation = _behind(posterior, leader)
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


def _behind(posterior: Posterior, leader: int) -> tuple[Floats, Floats]:
    """How far each arm is behind the leader, and the standard deviation of that."""
    everyone = np.arange(len(posterior.mean))
    variance = posterior.difference_variance(np.full(len(everyone), leader), everyone)
    return posterior.mean[leader] - posterior.mean, np.sqrt(variance)


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


def _tallies(met: Battles) -> tuple[Ints, Ints, Ints]:
    """Votes, wins and ties of each arm."""
    n = met.n_arms
    first_won, second_won, tied = met.share == 1.0, met.share == 0.0, met.share == 0.5
    votes = np.bincount(met.first, minlength=n) + np.bincount(met.second, minlength=n)
    wins = np.bincount(met.first[first_won], minlength=n) + np.bincount(met.second[second_won], minlength=n)
    ties = np.bincount(met.first[tied], minlength=n) + np.bincount(met.second[tied], minlength=n)
    return votes, wins, ties


def _check_top(top: int | None) -> int | None:
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InvalidInput(f"top is {top!r}; give a whole number of at least 1, or None for all")
    return top
