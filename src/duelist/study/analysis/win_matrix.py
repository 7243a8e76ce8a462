"""Win matrix: observed wins between all pairs, and fitted win probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, shortened
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.utilities import Features
from duelist.study.analysis.fit.votes import BOTH_BAD, FIRST, SECOND, TIE, VoteTable, as_vote_table
from duelist.study.records import Vote

MOST_SHOWN: Final = 30
"""A matrix of up to this many arms is printed whole."""
_LONGEST_HEADER: Final = 16
"""Characters of a column's name."""
MOST_ARMS: Final = 5000
"""The largest number of arms of a matrix; a larger one takes much memory and cannot be read."""


@dataclass(frozen=True, eq=False, repr=False)
class WinMatrix(TabularResult):
    """Wins, ties and both bad of every pair, in the order of `arms`."""

    arms: tuple[str, ...]
    wins: Ints
    """Entry (i, j): how often i won against j."""
    ties: Ints
    """Entry (i, j) = (j, i): how often the two tied."""
    both_bad: Ints
    """Entry (i, j) = (j, i): how often both were bad, which does not say which is better."""

    @property
    def votes(self) -> Ints:
        """Entry (i, j) = (j, i): the number of wins of either, and ties."""
        return np.asarray(self.wins + self.wins.T + self.ties)

    @property
    def shares(self) -> Floats:
        """Share of the pair's votes that i has against j, ties counting half; NaN if the two were never compared."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.wins + 0.5 * self.ties) / self.votes)

    def _table(self) -> TableContent:
        return _matrix_table(
            "won against",
            self.arms,
            [
                [f"{share:.2f} ({count})" if count else "-" for share, count in zip(row, counts, strict=True)]
                for row, counts in zip(self.shares[:MOST_SHOWN], self.votes, strict=False)
            ],
            [f"{self.both_bad.sum() // 2} votes for 'both bad' are not shown"] if self.both_bad.any() else [],
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        one, other = np.nonzero(np.triu(self.votes + self.both_bad, 1))
        names = {"arm": [self.arms[k] for k in one], "against": [self.arms[k] for k in other]}
        counts = {"wins": self.wins[one, other], "losses": self.wins[other, one], "ties": self.ties[one, other]}
        counts["both_bad"] = self.both_bad[one, other]
        return {**names, **{name: count.tolist() for name, count in counts.items()}}


@dataclass(frozen=True, eq=False, repr=False)
class WinChances(TabularResult):
    """Fitted probabilities for every pair, in the order of `arms`, averaged over the posterior."""

    arms: tuple[str, ...]
    win: Floats
    """Entry (i, j): probability that i wins against j; 1 - win - win^T is the probability of a tie."""
    tie: Floats
    """Entry (i, j) = (j, i)."""

    def _table(self) -> TableContent:
        cells = [[f"{chance:.2f}" for chance in row] for row in self.win[:MOST_SHOWN]]
        for k in range(len(cells)):
            cells[k][k] = "-"
        return _matrix_table("wins against", self.arms, cells, [])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        one, other = np.triu_indices(len(self.arms), 1)
        names = {"arm": [self.arms[k] for k in one], "against": [self.arms[k] for k in other]}
        chances = {"win": self.win[one, other], "tie": self.tie[one, other], "lose": self.win[other, one]}
        return {**names, **{name: chance.tolist() for name, chance in chances.items()}}


def win_matrix(votes: Sequence[Vote] | VoteTable, arms: Sequence[str]) -> WinMatrix:
    """Return wins, ties and both bad between these arms; votes on other arms are ignored."""
    if not isinstance(votes, VoteTable):
        known = frozenset(arms)
        votes = [vote for vote in votes if vote.first in known and vote.second in known]
    return win_matrix_from_votes(as_vote_table(votes, arms).on_arms, arms)


def win_matrix_from_votes(log: VoteTable, arms: Sequence[str], among: Ints | None = None) -> WinMatrix:
    """Return the win matrix of a vote table."""
    n = len(arms)
    if n > MOST_ARMS:
        raise InvalidInput(f"A matrix of {n} arms would have {n * n:,} cells.", "Choose one context, or retire arms.")
    log = log.of(log.first != log.second)

    def count(outcome: int) -> Ints:
        chosen = log.outcome == outcome
        key = log.first[chosen].astype(np.int64) * n + log.second[chosen]
        return np.bincount(key, minlength=n * n).reshape(n, n)

    found = [count(FIRST) + count(SECOND).T, *(one + one.T for one in (count(TIE), count(BOTH_BAD)))]
    chosen = np.arange(n) if among is None else among
    return WinMatrix(tuple(arms[k] for k in chosen), *(one[np.ix_(chosen, chosen)] for one in found))


def win_chances(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    ridge: float | str = 1.0,
    seed: int = 0,
) -> WinChances:
    """Return the probability that each arm wins against each other, and of a tie.

    It follows Davidson's model if there are ties.
    """
    return win_chances_from_fit(fit_votes(votes, arms, features, among=among, ridge=ridge, seed=seed))


def win_chances_from_fit(fit: StudyFit) -> WinChances:
    """Return the probabilities of an existing fit."""
    n = len(fit.among)
    if n > MOST_ARMS:
        raise InvalidInput(f"A matrix of {n} arms would have {n * n:,} cells.", "Choose one context, or retire arms.")
    one, other = np.triu_indices(n, 1)
    first, tied = fit.posterior.chances(one, other)
    win, tie = np.zeros((n, n)), np.zeros((n, n))
    win[one, other], win[other, one] = first, 1.0 - first - tied
    tie[one, other] = tie[other, one] = tied
    return WinChances(tuple(fit.ids), win, tie)


def _matrix_table(
    corner: str, arms: Sequence[str], cells: Sequence[Sequence[str]], notes: Sequence[str]
) -> TableContent:
    rows = [[arm, *row[:MOST_SHOWN]] for arm, row in zip(arms, cells, strict=False)]
    left_out = len(arms) - len(rows)
    more = [f"{left_out} more arms are not shown; `to_pandas` has all pairs"] if left_out > 0 else []
    headers = [shortened(arm, _LONGEST_HEADER) for arm in arms[:MOST_SHOWN]]
    return TableContent([corner, *headers], rows, [*notes, *more])
