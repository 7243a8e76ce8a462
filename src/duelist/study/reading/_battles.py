"""Votes as arrays: who met whom, and how much of the win went to the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.study.records import WINS, Vote

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Battles(NamedTuple):
    """The votes that teach which arm is better, one entry each: no skips, no votes undone, no arm against itself."""

    n_arms: int
    vote: Ints
    """Position of the vote in the list it came from."""
    first: Ints
    second: Ints
    share: Floats
    """1 the first won, 0 the second, 0.5 a tie or both bad."""

    def of(self, chosen: NDArray[np.bool_]) -> Battles:
        """Some of them."""
        return Battles(self.n_arms, self.vote[chosen], self.first[chosen], self.second[chosen], self.share[chosen])


class Pairs(NamedTuple):
    """Battles counted by pair, low < high: a fit needs no more."""

    n_arms: int
    low: Ints
    high: Ints
    total: Floats
    """Votes, or their weights."""
    wins: Floats
    """Of `low`; ties count half."""


def battles(votes: Sequence[Vote], arms: Sequence[str]) -> Battles:
    """Votes that stand, with arms by position."""
    index = {arm: k for k, arm in enumerate(arms)}
    if len(index) != len(arms):
        raise InvalidInput(
            f"arms has {next(arm for k, arm in enumerate(arms) if index[arm] != k)!r} twice; give each once"
        )
    teaching = [k for k, v in enumerate(votes) if v.outcome in WINS and v.first != v.second]
    try:
        first = np.array([index[votes[k].first] for k in teaching], dtype=np.int64)
        second = np.array([index[votes[k].second] for k in teaching], dtype=np.int64)
    except KeyError as error:
        raise InvalidInput(
            f"a vote names the arm {error.args[0]!r}, which is not among the {len(arms)} arms given; give all arms"
        ) from None
    share = np.array([WINS[outcome] for k in teaching if (outcome := votes[k].outcome) is not None], dtype=np.float64)
    return Battles(len(arms), np.array(teaching, dtype=np.int64), first, second, share)


def counted(met: Battles, weights: Floats | None = None) -> Pairs:
    """Battles by pair; each counts 1, or its weight."""
    turned = met.first > met.second
    low, high = np.where(turned, met.second, met.first), np.where(turned, met.first, met.second)
    share = np.where(turned, 1.0 - met.share, met.share)
    pair, where = np.unique(low * met.n_arms + high, return_inverse=True)
    mass = np.ones(len(share)) if weights is None else weights
    total = np.bincount(where, mass, minlength=len(pair)).astype(np.float64)
    wins = np.bincount(where, mass * share, minlength=len(pair)).astype(np.float64)
    return Pairs(met.n_arms, pair // met.n_arms, pair % met.n_arms, total, wins)
