"""What a fit says about each rater.

Rater k gives an outcome c on a pair whose utilities differ by d with probability

    (1 - lapse_k) P_c(reliability_k d + side_k, log_nu + ties_k) + lapse_k q_c,

where P is the answer's model (Bradley-Terry, or Davidson with ties) and q are the outcomes of the crowd, the same for both
items. Rater 0 to n - 1; priors, all in log-odds:

    log reliability ~ N(0, v_reliability), its mean over votes being 0: the crowd's reliability is 1
    side            ~ N(0, v_side)         an advantage of the item shown first
    ties            ~ N(0, v_ties)         how readily this rater calls a tie, with an answer that has ties
    lapse           ~ Beta(`LAPSES`, `ATTENTION`), in log-odds

The variances v are estimated. A *careless* rater answers without regard to the items; `duelist.model.raters.fit` says
how the probability of that is computed, and votes count by the probability that their rater is attentive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.model.votes import Votes

LAPSES: Final = 0.5
ATTENTION: Final = 24.5
"""The prior of lapses is worth 25 votes, with a mode of 2 % in log-odds."""
FALSE_FLAGS: Final = 0.05
"""Expected share of flagged raters who are attentive (Bayesian false discovery rate), at most."""
CARELESS: Final = 0.8
"""The smallest probability of being careless at which a rater is flagged."""
MOST_RATERS: Final = 256
"""Maximum number of raters with separate parameters: those with most votes. Others are fitted as the crowd."""
KINDS: Final = ("random", "one-sided", "reversed")
"""Careless raters answer at random, with a preference for a side, or reversed: for the worse item."""


class RaterSpread(NamedTuple):
    """Variances of the raters' parameters, and the share of careless raters."""

    reliability: float = 0.25
    side: float = 0.09
    ties: float = 1.0
    careless: float = 0.1


@dataclass(frozen=True, eq=False)
class RaterEffects:
    """The parameters of raters, one number per rater."""

    reliability: Floats
    side: Floats
    ties: Floats
    lapse: Floats
    attentive: Floats
    """Probability that the rater looks at the items."""
    kinds: Floats
    """Probability of each of `KINDS` if the rater is careless, (raters, 3)."""
    deviation: Floats
    """Standard deviation of log reliability."""
    spread: RaterSpread
    outcomes: Floats
    """The crowd's share of each outcome, q."""
    ids: Ints
    """Which of the clusters of votes these raters are."""
    weight: Floats
    """What one of their votes counts: `attentive`, or next to nothing for a rater outside the fit."""

    @property
    def careless(self) -> Ints:
        """Positions of flagged raters: the largest set, surest first, with at most `FALSE_FLAGS` expected to be wrong."""
        order = np.argsort(self.attentive, kind="stable")
        chance = self.attentive[order]
        wrong = np.cumsum(chance) / np.arange(1, len(order) + 1)
        return np.sort(order[(wrong <= FALSE_FLAGS) & (chance <= 1.0 - CARELESS)])

    def positions(self, clusters: Ints) -> Ints:
        """Return the position of each rater, given by cluster; that of a rater like the crowd if there is none."""
        place = np.full(max(int(clusters.max(initial=-1)), int(self.ids.max(initial=-1))) + 2, len(self.ids))
        place[self.ids] = np.arange(len(self.ids))
        return np.asarray(place[clusters])

    @classmethod
    def alike(cls, ids: Ints, outcomes: Floats, spread: RaterSpread, attentive: Floats) -> RaterEffects:
        """Return raters like the crowd."""
        n, none = len(ids), np.zeros(len(ids))
        lapse = np.full(n, LAPSES / (LAPSES + ATTENTION))
        kinds = np.full((n, len(KINDS)), 1.0 / len(KINDS))
        return cls(np.ones(n), none, none, lapse, attentive, kinds, none, spread, outcomes, ids, attentive)


def raters_with_most_votes(votes: Votes) -> Ints:
    """Return the clusters of up to `MOST_RATERS` raters, in order."""
    rater, counts = votes.clusters["rater"], votes.counts.sum(axis=1)
    by_rater = np.bincount(rater + 1, counts)[1:]
    most = np.argsort(-by_rater, kind="stable")[:MOST_RATERS]
    return np.sort(most[by_rater[most] > 0.0])


def even_outcomes(counts: Floats) -> Floats:
    """Return the share of each outcome among votes, the same for the first item and the second."""
    shares = np.asarray(counts.sum(axis=0) + 1.0, np.float64)
    shares[:2] = shares[:2].mean()
    return np.asarray(shares / shares.sum())
