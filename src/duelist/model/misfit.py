"""Misfit test: do the features explain the votes? And arm effects, for votes that they do not explain.

Policies assume utilities x . theta. If arms also differ in ways that no feature captures, the estimate of theta can be precise and wrong.
Repeated votes on the same arms reveal this. Let z_s = x_i - x_j be the rows, r_s = O_s - W_s mu(z_s . theta) what a row has won beyond
expectation, and A the matrix with 1 for the first and -1 for the second arm of a row. S = Q'A'r is what arms have won beyond
expectation, in coordinates Q orthogonal to all features and to a constant. If the features explain everything, S has mean 0 and, with
V = diag(W mu'), covariance

    C = Q'(A'VA - A'VZ H^-1 Z'VA)Q,

so that S'C^+ S is chi-squared with rank(C) degrees of freedom: Rao's score test of "no arm has an effect".

If the test rejects, or features alone would decide which arm is best, utilities become x_i . theta + e_i with arm effects
e_i ~ N(0, tau^2): one more feature per arm, with ridge 1/tau^2. Votes that do not compare the arms themselves say nothing about tau, so
tau is not estimated: the decision averages over several (`SIZES`), weighted by the evidence of the votes (Laplace).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import chdtrc

from duelist.core.arrays import Floats, Ints
from duelist.model.fit import fit_mle
from duelist.model.links import get_link
from duelist.model.stopping import LinearPosterior, Model, curvature_root

MAX_TESTED_ARMS: Final = 300
"""With more arms neither the test nor arm effects are computed: it would take too long."""
MISFIT_LEVEL: Final = 0.2
"""P-value of the misfit test below which arms are given effects."""
SIZES: Final[Mapping[float, float]] = {0.0: 0.5, 0.125: 0.1, 0.25: 0.1, 0.5: 0.1, 1.0: 0.1, 2.0: 0.1}
"""Prior shares of standard deviations tau of arm effects, in utility. Half of the prior is on tau = 0: features explain everything."""
_RANK_TOLERANCE: Final = 1e-8


@dataclass(frozen=True)
class PairVotes:
    """Votes on pairs of arms, by position: `first` won `wins` of `mass`. Identical arms count as the first of them."""

    first: Ints
    second: Ints
    mass: Floats
    wins: Floats


@dataclass(frozen=True)
class VotesUnavailable:
    """Votes on pairs are unavailable, and the reason, a clause."""

    reason: str


@dataclass(frozen=True)
class PairCounts:
    """Votes on pairs of arms, by their row in `arms` (n_arms, dim): `first` won `wins` of `mass`."""

    arms: Floats
    first: Ints
    second: Ints
    mass: Floats
    wins: Floats


def match_votes(arms: Floats, counts: PairCounts, max_arms: int = MAX_TESTED_ARMS) -> PairVotes | VotesUnavailable:
    """Return the votes on pairs of these arms, if all votes are on them and there are at most `max_arms`."""
    if not len(counts.mass):
        return VotesUnavailable("there are no votes yet")
    if len(arms) > max_arms:
        return VotesUnavailable(f"there are more than {max_arms} arms")
    given = {row.tobytes(): position for position, row in reversed([*enumerate(arms + 0.0)])}  # -0.0 is 0.0
    positions = np.array([given.get(row.tobytes(), -1) for row in counts.arms + 0.0])
    if positions.min() < 0:
        return VotesUnavailable("some votes are on arms that were not given")
    return PairVotes(positions[counts.first], positions[counts.second], counts.mass, counts.wins)


def misfit_p_value(arms: Floats, votes: PairVotes, posterior: LinearPosterior, link: str) -> float:
    """Return the p-value of the misfit test: close to 0 if the features do not explain the votes."""
    compared, positions = np.unique(np.concatenate([votes.first, votes.second]), return_inverse=True)
    votes = replace(votes, first=positions[: len(votes.first)], second=positions[len(votes.first) :])
    arms = arms[compared]  # votes say nothing about the others
    margin = (arms[votes.first] - arms[votes.second]) @ posterior.theta
    basis = _orthogonal_basis(arms)
    surplus = basis.T @ _sum_by_arm(votes, votes.wins - votes.mass * get_link(link).mean(margin), len(arms))
    laplacian = _laplacian(votes, votes.mass * get_link(link).slope(margin), len(arms))  # A'VA; A'VZ is A'VA arms
    explained = posterior.whiten(basis.T @ laplacian @ arms)
    covariance = basis.T @ laplacian @ basis - explained @ explained.T
    values, vectors = np.linalg.eigh(covariance)
    positive = values > _RANK_TOLERANCE * max(values.max(initial=0.0), 1e-300)
    if not positive.any():
        return 1.0
    statistic = float((np.square(vectors[:, positive].T @ surplus) / values[positive]).sum())
    return float(chdtrc(int(positive.sum()), statistic))


def fit_effect_sizes(
    arms: Floats, votes: PairVotes, posterior: LinearPosterior, link: str, shares: Mapping[float, float] = SIZES
) -> list[Model]:
    """Return the posterior with arm effects of each size, weighted by share and evidence; identical arms share an effect."""
    _, groups = np.unique(arms, axis=0, return_inverse=True)
    effects = np.eye(int(groups.max(initial=0)) + 1)[groups.reshape(-1)]
    ridge = np.broadcast_to(posterior.ridge, arms.shape[1])
    found = []
    for size, share in shares.items():
        shown = np.hstack([arms, effects]) if size else arms
        precision = np.append(ridge, np.full(shown.shape[1] - arms.shape[1], size**-2.0 if size else 1.0))
        z = shown[votes.first] - shown[votes.second]
        theta = fit_mle(z, np.clip(votes.wins / votes.mass, 0.0, 1.0), votes.mass, precision, link).theta
        gap = z @ theta
        root = curvature_root(z, votes.mass * get_link(link).slope(gap), precision)
        loss = 0.5 * precision @ np.square(theta) + votes.mass @ get_link(link).potential(gap) - votes.wins @ gap
        log_evidence = 0.5 * np.log(precision).sum() - np.log(np.abs(np.diag(root))).sum() - loss
        known = LinearPosterior(theta, root.T @ root, precision, posterior.votes, root)
        found.append(Model(shown, known, float(np.log(share) + log_evidence)))
    return found


def spans_all_utilities(arms: Floats) -> bool:
    """Whether features explain any utilities of these arms, since there are so few arms."""
    return _orthogonal_basis(np.unique(arms, axis=0)).shape[1] == 0


def _orthogonal_basis(arms: Floats) -> Floats:
    """Return an orthonormal basis (n_arms, rank) of utilities orthogonal to every feature and to a constant."""
    spanned = np.column_stack([np.ones(len(arms)), (arms - arms.mean(axis=0)) / np.maximum(arms.std(axis=0), 1e-300)])
    left, values, _ = np.linalg.svd(spanned, full_matrices=True)
    return np.asarray(left[:, int((values > _RANK_TOLERANCE * values.max()).sum()) :], np.float64)


def _sum_by_arm(votes: PairVotes, amount: Floats, n_arms: int) -> Floats:
    """Return A' amount: added to the first arm of each row, subtracted from the second."""
    sums = np.bincount(votes.first, amount, n_arms) - np.bincount(votes.second, amount, n_arms)
    return np.asarray(sums, np.float64)


def _laplacian(votes: PairVotes, weight: Floats, n_arms: int) -> Floats:
    """Return A' diag(weight) A."""
    matrix = np.zeros((n_arms, n_arms))
    np.add.at(matrix, (votes.first, votes.second), -weight)
    np.add.at(matrix, (votes.second, votes.first), -weight)
    np.fill_diagonal(matrix, np.diag(matrix) - matrix.sum(axis=1))
    return matrix
