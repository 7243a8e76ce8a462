"""Winners of a preference matrix in three senses, and its lower bound on regret.

Entry (i, j) is the probability that arm i beats arm j. A Condorcet winner beats every other arm with probability over
1/2; there may be none. Copeland winners beat the most arms; the Borda winner has the largest mean probability of
beating another. These always exist, and may differ:

>>> import numpy as np
>>> table = np.array([[0.5, 0.51, 0.51], [0.49, 0.5, 0.99], [0.49, 0.01, 0.5]])
>>> condorcet_winner(table), copeland_winners(table), borda_winners(table)
(0, [0], [1])
"""

from __future__ import annotations

import math

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput


def beaten(table: Floats) -> Floats:
    """Return how many other arms each arm beats with probability over 1/2."""
    wins = table > 0.5
    np.fill_diagonal(wins, False)
    return np.asarray(wins.sum(axis=1), np.float64)


def condorcet_winner(table: Floats) -> int | None:
    """Return the arm that beats every other, or None."""
    (winners,) = np.nonzero(beaten(table) == len(table) - 1)
    return int(winners[0]) if winners.size else None


def copeland_scores(table: Floats) -> Floats:
    """Return the share of the other arms that each arm beats."""
    return beaten(table) / max(len(table) - 1, 1)


def copeland_winners(table: Floats) -> list[int]:
    """Return the arms with the largest Copeland score."""
    return _largest(copeland_scores(table))


def borda_scores(table: Floats) -> Floats:
    """Return the mean probability of each arm of beating another."""
    return np.asarray((table.sum(axis=1) - table.diagonal()) / max(len(table) - 1, 1))


def borda_winners(table: Floats) -> list[int]:
    """Return the arms with the largest Borda score."""
    return _largest(borda_scores(table))


def least_regret(table: Floats) -> float:
    """Return the constant c such that no consistent policy has average regret below c log T asymptotically.

    With w the Condorcet winner, gap_i = p_wi - 1/2 and d(p, q) the Bernoulli divergence,

        c = sum_{i != w} min_{j : p_ij < 1/2} (gap_i + gap_j) / (2 d(p_ij, 1/2)).

    Komiyama, Honda, Kashima, Nakagawa, COLT 2015, Theorem 1; regret is average, the mean of the two gaps.

    >>> round(least_regret(np.array([[0.5, 0.75], [0.25, 0.5]])), 4)  # 0.25 / (2 (0.25 log 0.5 + 0.75 log 1.5))
    0.9556
    """
    winner = condorcet_winner(table)
    if winner is None:
        raise InvalidInput(
            "No arm beats every other one with chance over 1/2.", "The bound is for tables with a Condorcet winner."
        )
    gaps = table[winner] - 0.5
    return sum(_cheapest(table[i], gaps[i] + gaps) for i in range(len(table)) if i != winner)


def _cheapest(chances: Floats, costs: Floats) -> float:
    return min(float(cost) / (2.0 * _divergence(float(p))) for p, cost in zip(chances, costs, strict=True) if p < 0.5)


def _divergence(p: float) -> float:
    """Return d(p, 1/2)."""
    return sum(x * math.log(2.0 * x) for x in (p, 1.0 - p) if x > 0.0)


def _largest(scores: Floats) -> list[int]:
    return np.flatnonzero(scores == scores.max()).tolist()
