"""The model of votes whose raters differ, vote by vote, solved by SciPy: the definition of `duelist.model.raters`.

Rater k answers about two items whose utilities differ by d (shown first minus shown second) with probability

    (1 - lapse_k) softmax(g / 2, -g / 2, log_nu + ties_k) + lapse_k q,    g = exp(a_k) d + side_k,

where the third outcome, a tie, may be missing. Votes count by the probability that their rater is attentive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

LAPSES: Final = 0.5
ATTENTION: Final = 24.5
CENTRE: Final = 1e4
STEP: Final = 1e-30


class RaterVotes(NamedTuple):
    """Votes as shown: positions of the items, outcomes (0 first, 1 second, 2 tie) and raters."""

    first: Sequence[int]
    second: Sequence[int]
    outcomes: Sequence[int]
    raters: Sequence[int]


class Given(NamedTuple):
    """What the fit holds fixed: prior precisions, weights of raters, prior variances, and the outcomes of lapses."""

    precision: Floats
    attentive: Floats
    variances: tuple[float, float, float]
    """Of log reliability, side, and ties."""
    shares: Floats


def loss(z: NDArray[Any], design: Floats, votes: RaterVotes, given: Given) -> Any:
    """Return the negative log posterior density of z: coefficients, log_nu (with ties), a, side, log-odds of lapses, ties.

    `z` may be complex, so that derivatives can be taken by complex steps.
    """
    n_beta, n, has_ties = design.shape[1], len(given.attentive), len(given.shares) == 3
    utility, rest = design @ z[:n_beta], z[n_beta:]
    log_nu, rest = (rest[0], rest[1:]) if has_ties else (0.0, rest)
    a, side, lapse = rest[:n], rest[n : 2 * n], 1.0 / (1.0 + np.exp(-rest[2 * n : 3 * n]))
    ties = rest[3 * n :] if has_ties else np.zeros(n)
    total = 0.5 * (given.precision @ z[:n_beta] ** 2)
    i, j, outcome, k = (np.asarray(column) for column in votes)
    gap = np.exp(a[k]) * (utility[i] - utility[j]) + side[k]
    odds = [np.exp(gap / 2.0), np.exp(-gap / 2.0)] + ([np.exp(log_nu + ties[k])] if has_ties else [])
    said = np.choose(outcome, odds) / sum(odds)
    chance = (1.0 - lapse[k]) * said + lapse[k] * given.shares[outcome]
    total = total - given.attentive[k] @ np.log(chance)
    if has_ties:  # half a win and half a tie between equal items
        total = (
            total - 0.5 * np.log(1.0 / (2.0 + np.exp(log_nu))) - 0.5 * np.log(np.exp(log_nu) / (2.0 + np.exp(log_nu)))
        )
    own = a**2 / given.variances[0] + side**2 / given.variances[1] + ties**2 / given.variances[2]
    total = total + given.attentive @ (0.5 * own - LAPSES * np.log(lapse) - ATTENTION * np.log(1.0 - lapse))
    counts = given.attentive * np.bincount(votes.raters, minlength=n)
    return total + 0.5 * CENTRE * (counts @ a / counts.sum()) ** 2


def gradient(z: Floats, design: Floats, votes: RaterVotes, given: Given) -> Floats:
    """Return the derivatives of the loss, by complex steps: exact but for rounding."""
    steps = 1j * STEP * np.eye(len(z))
    return np.array([loss(z + step, design, votes, given).imag / STEP for step in steps])


def fit(design: Floats, votes: RaterVotes, given: Given) -> Floats:
    """Return the parameters that maximise the posterior density."""
    n, has_ties = len(given.attentive), len(given.shares) == 3
    lapses = np.full(n, np.log(LAPSES / ATTENTION))
    start = np.concatenate([np.zeros(design.shape[1] + has_ties + 2 * n), lapses, np.zeros(n if has_ties else 0)])
    scaled = minimize(loss, start, (design, votes, given), "BFGS", gradient, options={"gtol": 1e-7, "maxiter": 2000}).x
    for _ in range(5):  # Newton's method, with a curvature by differences of the exact gradient
        scaled = scaled - np.linalg.solve(
            curvature(scaled, design, votes, given), gradient(scaled, design, votes, given)
        )
    return np.asarray(scaled)


def curvature(z: Floats, design: Floats, votes: RaterVotes, given: Given, step: float = 1e-5) -> Floats:
    """Return the second derivative of the loss, by central differences of the gradient."""
    rows = [
        (gradient(z + e, design, votes, given) - gradient(z - e, design, votes, given)) / (2.0 * step)
        for e in step * np.eye(len(z))
    ]
    return 0.5 * (np.array(rows) + np.array(rows).T)
