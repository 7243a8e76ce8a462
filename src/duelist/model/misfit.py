"""Do the features explain the votes? And where they do not: an arm effect for each arm.

The policies of this library take utilities to be x . theta. If arms also differ in ways that no feature tells, an estimate of
theta can be sure and wrong. Where the same arms are compared again and again, their votes tell: with z_s = x_i - x_j the rows,
r_s = O_s - W_s mu(z_s . theta) what a row has won beyond what was expected, and A the matrix that has 1 for the first and -1 for the second
arm of a row, S = Q'A'r is what arms have won beyond expectation, in coordinates Q that are orthogonal to all features and to a constant.
If the features explain everything, S has mean 0 and, with V = diag(W mu'), covariance

    C = Q'(A'VA - A'VZ H^-1 Z'VA)Q,

so that S'C^+ S is chi-squared with rank(C) degrees of freedom: Rao's score test of "no arm has an effect of its own".

Where that fails, utilities are taken as x_i . theta + e_i with e_i ~ N(0, tau^2): one more feature an arm, that only it has, whose
ridge is 1/tau^2. tau is found by expectation and maximisation, held near 1 by a prior worth three arms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import chdtrc

from duelist import native
from duelist.core.arrays import Floats, Ints
from duelist.model.fit import fit_mle
from duelist.model.links import get_link
from duelist.model.stopping import LinearPosterior, curvature_root

MAX_TESTED_ARMS: Final = 300
"""Of more arms effects are not fitted: that would take longer than a person waits."""
MISFIT_LEVEL: Final = 0.2
"""The chance of votes so odd that features are no longer taken to explain them."""
_RANK: Final = 1e-8
_PRIOR_ARMS: Final = 3.0
_ROUNDS: Final = 30
_SAME: Final = 1e-2


@dataclass(frozen=True)
class PairVotes:
    """Votes on pairs of the given arms: `first` won `wins` of `mass`, by the position of arms; of arms that are the same, the first."""

    first: Ints
    second: Ints
    mass: Floats
    wins: Floats


@dataclass(frozen=True)
class VotesUnavailable:
    """Votes that cannot be had, and why."""

    reason: str


@dataclass(frozen=True)
class PairCounts:
    """Votes by pair of arms, which are known by their fingerprints: `first` won `wins` of `mass`."""

    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    mass: Floats
    wins: Floats


def match_votes(arms: Floats, tally: PairCounts, most: int = MAX_TESTED_ARMS) -> PairVotes | VotesUnavailable:
    """Votes on pairs of these arms, of which there may be so many."""
    if not len(tally.mass):
        return VotesUnavailable("there are no votes yet")
    if len(arms) > most:
        return VotesUnavailable(f"votes on more than {most} arms are not tested")
    prints, place = np.unique(native.arm_fingerprints(np.ascontiguousarray(arms)), return_index=True)
    at = [np.minimum(np.searchsorted(prints, who), len(prints) - 1) for who in (tally.first, tally.second)]
    known = (prints[at[0]] == tally.first) & (prints[at[1]] == tally.second)
    if not known.all():
        return VotesUnavailable("votes were given on other arms, too, and all that were asked about are needed")
    return PairVotes(place[at[0]], place[at[1]], tally.mass, tally.wins)


def misfit_p_value(arms: Floats, votes: PairVotes, known: LinearPosterior, link: str) -> float:
    """How likely votes as odd as these are if the features explain them: a p-value, near 0 where they do not."""
    asked, places = np.unique(np.concatenate([votes.first, votes.second]), return_inverse=True)
    votes = replace(votes, first=places[: len(votes.first)], second=places[len(votes.first) :])
    arms = arms[asked]  # no vote tells of the others
    margin = (arms[votes.first] - arms[votes.second]) @ known.theta
    beside = _beside(arms)
    surplus = beside.T @ _gathered(votes, votes.wins - votes.mass * get_link(link).mean(margin), len(arms))
    weighed = _laplacian(
        votes, votes.mass * get_link(link).slope(margin), len(arms)
    )  # A'VA, and A'VZ = A'VA times the arms
    across = known.whiten(beside.T @ weighed @ arms)
    spread = beside.T @ weighed @ beside - across @ across.T
    values, vectors = np.linalg.eigh(spread)
    free = values > _RANK * max(values.max(initial=0.0), 1e-300)
    if not free.any():
        return 1.0
    statistic = float((np.square(vectors[:, free].T @ surplus) / values[free]).sum())
    return float(chdtrc(int(free.sum()), statistic))


def fit_arm_effects(
    arms: Floats, votes: PairVotes, known: LinearPosterior, link: str
) -> tuple[Floats, LinearPosterior]:
    """Arms with a feature of their own each, and what is known of them; votes cannot tell arms with the same features apart."""
    _, who = np.unique(arms, axis=0, return_inverse=True)
    n, dim = int(who.max()) + 1, arms.shape[1]
    own = np.hstack([arms, np.eye(n)[who.reshape(-1)]])
    z = own[votes.first] - own[votes.second]
    ridge = np.broadcast_to(known.ridge, dim)
    theta, precision = np.zeros(dim + n), 1.0
    for _ in range(_ROUNDS):
        whole = np.concatenate([ridge, np.full(n, precision)])
        theta = fit_mle(z, np.clip(votes.wins / votes.mass, 0.0, 1.0), votes.mass, whole, link, start=theta).theta
        slope = votes.mass * get_link(link).slope(z @ theta)
        root = curvature_root(z, slope, whole)
        doubt = np.square(solve_triangular(root, np.eye(dim + n))[dim:]).sum()
        before, precision = (
            precision,
            (n + _PRIOR_ARMS) / (float(theta[dim:] @ theta[dim:]) + float(doubt) + _PRIOR_ARMS),
        )
        if abs(np.log(precision / before)) < _SAME:
            break
    return own, LinearPosterior(theta, root.T @ root, whole, known.votes, root)


def _beside(arms: Floats) -> Floats:
    """An orthonormal basis of the utilities that are orthogonal to every feature and to a constant, (n_arms, what is left)."""
    spanned = np.column_stack([np.ones(len(arms)), (arms - arms.mean(axis=0)) / np.maximum(arms.std(axis=0), 1e-300)])
    left, values, _ = np.linalg.svd(spanned, full_matrices=True)
    return np.asarray(left[:, int((values > _RANK * values.max()).sum()) :], np.float64)


def _gathered(votes: PairVotes, amount: Floats, n_arms: int) -> Floats:
    """A'amount: to the first arm of each row, from the second."""
    given = np.bincount(votes.first, amount, n_arms) - np.bincount(votes.second, amount, n_arms)
    return np.asarray(given, np.float64)


def _laplacian(votes: PairVotes, weight: Floats, n_arms: int) -> Floats:
    """A' diag(weight) A."""
    matrix = np.zeros((n_arms, n_arms))
    np.add.at(matrix, (votes.first, votes.second), -weight)
    np.add.at(matrix, (votes.second, votes.first), -weight)
    np.fill_diagonal(matrix, np.diag(matrix) - matrix.sum(axis=1))
    return matrix
