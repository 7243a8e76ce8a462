"""Models fitted to real votes, and the worlds made from them: the events of figure 2, and the photos."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from duelist.core.arrays import Floats
from duelist.model.fit import fit_mle
from duelist.research.datasets import CRITERIA, EventTime, Photos
from duelist.research.paper.problems import DIM
from duelist.simulation.environments import FixedArms, PreferenceMatrix

DIMS: Final = (1, 2, 3, 4, 5)
FOLDS: Final = 5
FOLD_SEED: Final = 7
FEATURE_SEED: Final = 2024
EVENT_RIDGE: Final = 0.1
PHOTO_RIDGE: Final = 1.0
PHOTO_CRITERION: Final = 0


def pairs_of(counts: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Return pairs i < j with votes: i, j, the number of votes, and how many i won."""
    i, j = np.triu_indices(len(counts), 1)
    votes = counts[i, j] + counts[j, i]
    voted = votes > 0.0
    return i[voted], j[voted], votes[voted], counts[i, j][voted]


def fit_utilities(counts: Floats, ridge: float = EVENT_RIDGE) -> Floats:
    """Return Bradley-Terry utilities u that maximise sum_ij C_ij log sigma(u_i - u_j) - ridge/2 |u|^2; they sum to 0."""
    return fit_theta(np.eye(len(counts)), counts, ridge)


def fit_theta(arms: Floats, counts: Floats, ridge: float | Floats) -> Floats:
    """Return theta that maximises sum_ij C_ij log sigma((x_i - x_j) . theta) - ridge/2 |theta|^2 for given features."""
    i, j, votes, wins = pairs_of(counts)
    return fit_mle(arms[i] - arms[j], wins / votes, votes, ridge).theta


def fit_jointly(
    counts: Floats, dim: int, rng: np.random.Generator, ridge: float = EVENT_RIDGE
) -> tuple[Floats, Floats]:
    """Return the paper's maximum likelihood over features and theta together, from a random start.

    Maximises sum_ij C_ij log sigma((x_i - x_j) . theta) - ridge/2 sum_i (x_i . theta)^2 with L-BFGS.
    """
    n = len(counts)
    i, j, votes, wins = pairs_of(counts)
    size = votes.sum()

    def loss(packed: Floats) -> tuple[float, Floats]:
        theta, arms = packed[:dim], packed[dim:].reshape(n, dim)
        u = arms @ theta
        gap = u[i] - u[j]
        softplus = np.logaddexp(0.0, gap)
        value = (votes * softplus - wins * gap).sum() + ridge / 2.0 * (u * u).sum()
        residual = votes * np.exp(gap - softplus) - wins
        slope = np.bincount(i, residual, n) - np.bincount(j, residual, n) + ridge * u
        return float(value / size), np.concatenate([arms.T @ slope, np.outer(slope, theta).ravel()]) / size

    # With a long theta and short features, L-BFGS needs tens of steps; with equal lengths, hundreds.
    direction = rng.standard_normal(dim)
    start = np.concatenate([3.0 * direction / np.linalg.norm(direction), rng.standard_normal(n * dim) / 3.0])
    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-10}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found[dim:].reshape(n, dim), found[:dim]


def log_likelihood(utilities: Floats, events: EventTime, chosen: NDArray[np.bool_]) -> float:
    """Return the weighted sum of log sigma(u_winner - u_loser) over votes."""
    winner, loser = events.votes[chosen].T
    return float(-(events.weights[chosen] * np.logaddexp(0.0, utilities[loser] - utilities[winner])).sum())


def dimension_rows(events: EventTime, utilities: Floats) -> list[tuple[Any, ...]]:
    """Return one row per dimension: the held-out likelihood, and the distance of its utilities from the convex fit."""
    rng = np.random.default_rng(FOLD_SEED)
    fold = rng.permutation(len(events.votes)) % FOLDS
    rows: list[tuple[Any, ...]] = []
    scores: list[float] = []
    for dim in DIMS:
        score = 0.0
        for k in range(FOLDS):
            arms, theta = fit_jointly(events.counts_of(fold != k), dim, rng)
            score += log_likelihood(arms @ theta, events, fold == k)
        arms, theta = fit_jointly(events.counts, dim, rng)
        fitted = arms @ theta
        change = np.abs(fitted - fitted.mean() - utilities + utilities.mean()).max()
        scores.append(score / float(events.weights.sum()))
        difference = round(scores[-1] - scores[0], 6) + 0.0  # adding 0 turns -0 into 0
        rows.append((dim, dim * (len(utilities) + 1), round(scores[-1], 6), difference, round(float(change), 4)))
    return rows


def factorise(utilities: Floats, dim: int, seed: int) -> tuple[Floats, Floats]:
    """Return features of mean 0 and variance 1, and theta, with x_i . theta = u_i for utilities u of mean 0.

    Features and a direction are drawn at random. The features are moved along the direction until they give the
    utilities, which is the nearest maximum of the likelihood, and then standardised. theta starts with the length of
    the standard deviation of u, so that the features vary along it as much as across it.
    """
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(dim)
    theta *= utilities.std() / np.linalg.norm(theta)
    arms = rng.standard_normal((len(utilities), dim))
    arms -= arms.mean(axis=0)
    arms += np.outer(utilities - arms @ theta, theta) / (theta @ theta)
    spread = arms.std(axis=0)
    return arms / spread, theta * spread


def photo_row(photos: Photos, criterion: int) -> tuple[Any, ...]:
    """Report how well a linear model predicts the votes on held-out pairs."""
    arms, wins = photos.standardised, photos.wins[criterion]
    i, j, votes, won = pairs_of(wins)
    fold = np.random.default_rng(FOLD_SEED).permutation(len(i)) % FOLDS
    gap = np.empty(len(i))
    for k in range(FOLDS):
        seen = np.zeros_like(wins)
        kept = fold != k
        seen[i[kept], j[kept]], seen[j[kept], i[kept]] = won[kept], (votes - won)[kept]
        gap[~kept] = (arms[i] - arms[j])[~kept] @ fit_theta(arms, seen, PHOTO_RIDGE)
    decided = photos.decided[criterion]
    right = np.where(gap > 0.0, decided[i, j], decided[j, i]).sum()
    clear = 2.0 * won != votes
    majorities = ((gap > 0.0) == (2.0 * won > votes))[clear].mean()
    score = (won * gap - votes * np.logaddexp(0.0, gap)).sum() / votes.sum()
    indifferent = 1.0 - decided.sum() / votes.sum()
    numbers = (indifferent, right / decided.sum(), majorities, score)
    return (CRITERIA[criterion], int(votes.sum()), *(round(float(x), 4) for x in numbers))


# -- worlds ------------------------------------------------------------------------------


def event_world(utilities: Floats, dim: int = DIM, seed: int = FEATURE_SEED) -> FixedArms:
    """Return the 100 events as fixed arms."""
    return FixedArms(*factorise(utilities - utilities.mean(), dim, seed))


def photo_worlds(photos: Photos) -> tuple[FixedArms, PreferenceMatrix]:
    """Return the photos with votes from the fitted linear model, and with votes drawn from each pair's real ones."""
    arms = photos.standardised
    theta = fit_theta(arms, photos.wins[PHOTO_CRITERION], PHOTO_RIDGE)
    return FixedArms(arms, theta), PreferenceMatrix(photos.shares[PHOTO_CRITERION], winner="borda", arms=arms)
