"""The model of votes, vote by vote, solved by SciPy: the definition of `duelist.model.vote_fit.fit`.

A rater shown items i and j chooses among the outcomes below; each has a score, and its probability is the softmax.
The prior adds precision/2 beta^2 per coefficient, and half a vote of some outcomes between two equal items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

PARAMETERS: Final = {"pair": (), "ties": ("log_nu",), "level": ("log_nu", "log_good")}
OUTCOMES: Final = {"pair": 2, "ties": 3, "level": 5}
PRIOR_VOTES: Final = {"pair": (), "ties": (0.25, 0.25, 0.5), "level": (0.25, 0.25, 0.5, 0.0, 0.5)}


class ReferenceFit(NamedTuple):
    """All parameters (coefficients, coefficients of covariates, parameters of the answer) and their covariance."""

    parameters: Floats
    covariance: Floats


def scores(answer: str, u: float, v: float, level: float, shift: float, parameters: Sequence[float]) -> list[float]:
    """Return the score of each outcome: first, second, and then tie, both bad, both good."""
    found = [u + shift / 2.0, v - shift / 2.0]
    if answer != "pair":
        found.append(parameters[0] + (u + v) / 2.0)
    if answer == "level":
        found += [level, u + v - level + parameters[1]]
    return found


def fit(
    answer: str,
    design: Floats,
    precision: Floats,
    first: Sequence[int],
    second: Sequence[int],
    outcomes: Sequence[int],
    covariates: Floats | None = None,
    covariate_precision: float = 1.0,
    level: int = -1,
) -> ReferenceFit:
    """Return the maximum of the posterior density, and the inverse of its curvature there.

    `design` has a row per item; utilities are design @ beta with beta_k ~ N(0, 1 / precision_k). Row `level` is the
    acceptable level, if the answer has one.
    """
    x = np.zeros((len(first), 0)) if covariates is None else covariates
    n_beta, n_covariates, n_own = design.shape[1], x.shape[1], len(PARAMETERS[answer])
    n = n_beta + n_covariates + n_own
    penalty = np.concatenate([precision, np.full(n_covariates, covariate_precision), np.zeros(n_own)])
    linear: list[Floats] = []
    chosen: list[int] = []
    weight: list[float] = []

    def add(row: Floats, other: Floats, third: Floats, shift: Floats, outcome: int, mass: float) -> None:
        """Write the scores as a matrix times all parameters."""
        columns = np.array(
            [scores(answer, *_parts(e, (row, other, third), shift, n_beta, n_covariates)) for e in np.eye(n)]
        )
        linear.append(columns.T)
        chosen.append(outcome)
        weight.append(mass)

    for i, j, outcome, shift in zip(first, second, outcomes, x, strict=True):
        add(design[i], design[j], design[level], shift, outcome, 1.0)
    zero = np.zeros(n_beta)
    for outcome, mass in enumerate(PRIOR_VOTES[answer]):
        add(zero, zero, zero, np.zeros(n_covariates), outcome, mass)
    whole, masses, every = np.array(linear), np.array(weight), np.arange(len(weight))

    def chances(z: Floats) -> Floats:
        value = whole @ z
        odds = np.exp(value - value.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def loss(z: Floats) -> float:
        return float(-masses @ np.log(chances(z)[every, chosen]) + 0.5 * penalty @ z**2)

    def gradient(z: Floats) -> Floats:
        expected = np.einsum("vk,vkp->vp", chances(z), whole)
        return np.asarray(masses @ (expected - whole[every, chosen]) + penalty * z)

    def curvature(z: Floats) -> Floats:
        p = chances(z)
        expected = np.einsum("vk,vkp->vp", p, whole)
        squares = np.einsum("v,vk,vkp,vkq->pq", masses, p, whole, whole, optimize=True)
        return np.asarray(squares - np.einsum("v,vp,vq->pq", masses, expected, expected) + np.diag(penalty))

    found = minimize(loss, np.zeros(n), jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-11}).x
    return ReferenceFit(found, np.asarray(np.linalg.inv(curvature(found)), np.float64))


def _parts(
    z: Floats, rows: tuple[Floats, Floats, Floats], shift: Floats, n_beta: int, n_covariates: int
) -> tuple[float, float, float, float, list[float]]:
    """Return both utilities, the level, the shift, and the answer's parameters for all parameters z."""
    covariates = z[n_beta : n_beta + n_covariates]
    u, v, level = (float(row @ z[:n_beta]) for row in rows)
    return u, v, level, float(shift @ covariates), list(z[n_beta + n_covariates :])
