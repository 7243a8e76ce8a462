"""Who won against whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duelist.study.reading._battles import battles
from duelist.study.reading._text import table
from duelist.study.records import Vote

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WinMatrix:
    """Wins and votes of every pair, in the order of `arms`."""

    arms: tuple[str, ...]
    wins: Floats
    """Entry (i, j): how often i won against j; a tie or both bad counts half to each."""
    votes: NDArray[np.int64]
    """Entry (i, j) = (j, i): how often the two met."""

    @property
    def shares(self) -> Floats:
        """Share of the pair's votes that i has against j; NaN where they never met."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.wins / self.votes)

    def __str__(self) -> str:
        cells = [
            [f"{share:.2f} ({count})" if count else "-" for share, count in zip(row, counts, strict=True)]
            for row, counts in zip(self.shares, self.votes, strict=True)
        ]
        rows = [(arm, *row) for arm, row in zip(self.arms, cells, strict=True)]
        return table(("won against", *self.arms), rows)


def win_matrix(votes: Sequence[Vote], arms: Sequence[str]) -> WinMatrix:
    """Wins and votes between these arms; votes on any other arm are not looked at."""
    known = frozenset(arms)
    met = battles([vote for vote in votes if vote.first in known and vote.second in known], arms)
    wins = np.zeros((len(arms), len(arms)))
    count = np.zeros((len(arms), len(arms)), dtype=np.int64)
    np.add.at(wins, (met.first, met.second), met.share)
    np.add.at(wins, (met.second, met.first), 1.0 - met.share)
    np.add.at(count, (met.first, met.second), 1)
    np.add.at(count, (met.second, met.first), 1)
    return WinMatrix(tuple(arms), wins, count)
