"""The lower bound on votes, against a search over shares and alternatives."""

from __future__ import annotations

import numpy as np
from benchmarks.quality.stopping_bound import votes_needed
from scipy.special import expit, rel_entr


def divergence(one: float, other: float) -> float:
    """Return the divergence of a vote with log-odds `other` from one with log-odds `one`."""
    return float(rel_entr(expit(one), expit(other)) + rel_entr(expit(-one), expit(-other)))


def test_one_pair_needs_the_divergence_of_equal_arms() -> None:
    expected = divergence(np.log(9.0), -np.log(9.0)) / divergence(1.3, 0.0)
    assert abs(votes_needed(np.array([0.8, -0.5]), np.eye(2), 0.1) - expected) < 1e-6 * expected


def test_the_bound_is_close_to_the_value_of_the_game() -> None:
    """Of three arms, alternatives make one rival equal to the best; the third arm and the shares are on a grid."""
    u = np.array([1.0, 0.4, 0.0])
    levels = np.linspace(-1.0, 2.0, 121)
    value = 0.0
    found = []
    for rival, other in ((1, 2), (2, 1)):
        for third in levels:
            # Only gaps matter: the best and its rival are at 0.
            gaps = {frozenset((0, rival)): 0.0, frozenset((0, other)): -third, frozenset((rival, other)): -third}
            found.append([divergence(u[i] - u[j], gaps[frozenset((i, j))]) for i, j in ((0, 1), (0, 2), (1, 2))])
    table = np.array(found)
    for a in np.linspace(0.0, 1.0, 101):
        for b in np.linspace(0.0, 1.0 - a, 51):
            value = max(value, float((table @ np.array([a, b, 1.0 - a - b])).min()))
    exact = divergence(np.log(9.0), -np.log(9.0)) / value
    bound = votes_needed(u, np.eye(3), 0.1, rounds=1000)
    assert 0.93 * exact < bound < 1.02 * exact


def test_more_alternatives_need_more_votes() -> None:
    x = np.arange(1.0, 10.0)[:, None]
    linear, curved, free = (votes_needed(0.5 * x[:, 0], d, 0.1) for d in (x, np.hstack([x, x * x]), np.eye(9)))
    assert linear < curved < free
