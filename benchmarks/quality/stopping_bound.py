"""How many votes does any rule need that is wrong with probability at most delta, whatever the arms are worth?

A rule that is right with probability 1 - delta for the utilities u and for every alternative v of a set, in which another arm is
best, needs on average at least

    kl(delta, 1 - delta) / max_w min_v sum_p w_p d(u_p, v_p)

votes, where w shares the votes among pairs p, and d(u_p, v_p) is the divergence between votes on that pair (Garivier and
Kaufmann 2016, theorem 1). For a distribution q of alternatives, the value of the game is at most max_p E_q d(u_p, v_p): so
every q gives a lower bound on the votes, whether or not it is the best one. The alternatives of q are the closest to u
against shares that learn by multiplicative weights.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit, rel_entr

_ROUNDS: Final = 100
_STEPS: Final = 20
_RATE: Final = 1.0
_RIDGE: Final = 1e-9
MAX_RIVALS: Final = 8
"""Only the arms closest to the best are rivals; fewer alternatives give a lower bound, too."""


def votes_needed(utilities: np.ndarray, designs: np.ndarray, delta: float, rounds: int = _ROUNDS) -> float:
    """Return a lower bound on the mean number of votes; alternatives are `designs` (n_arms, k) times coefficients.

    >>> round(votes_needed(np.array([0.5, 0.0]), np.eye(2), 0.1), 1)  # one pair: kl(0.1, 0.9) / d(0.5, 0)
    58.0
    """
    best = int(np.argmax(utilities))
    rivals = [arm for arm in np.argsort(-utilities).tolist() if arm != best][:MAX_RIVALS]
    first, second = np.triu_indices(len(utilities), 1)
    gap = utilities[first] - utilities[second]
    bases = [_equal(designs, best, rival) for rival in rivals]
    rows = [basis[first] - basis[second] for basis in bases]
    starts = [np.zeros(basis.shape[1]) for basis in bases]
    score, mean_divergence, scale = np.zeros(len(gap)), np.zeros(len(gap)), 0.0
    value = np.inf
    for count in range(1, rounds + 1):
        shares = np.exp(score - score.max())
        shares /= shares.sum()
        starts = [_closest(z, shares, gap, start) for z, start in zip(rows, starts, strict=True)]
        found = [_divergence(gap, z @ beta) for z, beta in zip(rows, starts, strict=True)]
        nearest = found[int(np.argmin([shares @ each for each in found]))]
        scale = max(scale, float(nearest.max()))
        score += _RATE * nearest / scale
        mean_divergence += (nearest - mean_divergence) / count
        value = min(value, float(mean_divergence.max()))
    return float(_divergence(_logit(1.0 - delta), _logit(delta)) / value)


def _equal(designs: np.ndarray, best: int, rival: int) -> np.ndarray:
    """Return designs of the utilities in which two arms are equal."""
    apart = designs[best] - designs[rival]
    _, _, right = np.linalg.svd(apart[None])
    return np.asarray(designs @ right[1:].T)


def _closest(z: np.ndarray, shares: np.ndarray, gap: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the coefficients of the alternative with the least divergence, by Newton's method with halved steps."""
    beta, wins = start, expit(gap)

    def loss(at: np.ndarray) -> float:
        return float(shares @ (np.logaddexp(0.0, z @ at) - wins * (z @ at)) + 0.5 * _RIDGE * at @ at)

    for _ in range(_STEPS):
        chance = expit(z @ beta)
        slope = z.T @ (shares * (chance - wins)) + _RIDGE * beta
        curvature = (z.T * (shares * chance * (1.0 - chance))) @ z + _RIDGE * np.eye(len(beta))
        step = np.linalg.solve(curvature, slope)
        if slope @ step < 1e-12:
            break
        size, here = 1.0, loss(beta)
        while loss(beta - size * step) > here and size > 1e-6:
            size /= 2.0
        beta = beta - size * step
    return beta


def _divergence(one: np.ndarray | float, other: np.ndarray | float) -> np.ndarray:
    """Return the divergence of votes with log-odds `other` from those with log-odds `one`."""
    p, q = expit(one), expit(other)
    return np.asarray(rel_entr(p, q) + rel_entr(expit(-np.asarray(one)), expit(-np.asarray(other))))


def _logit(p: float) -> float:
    return float(np.log(p / (1.0 - p)))
