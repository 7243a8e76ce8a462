"""Estimates from all votes of a policy together, whichever layer learned them.

Layered policies split their votes so that their proofs hold; stopping decisions and scorers use all of them. A vote
that was learned with a weight keeps it, so the curvature counts no vote for more than the policy did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.fit import fit_mle, fit_scorer
from duelist.model.links import LARGEST_NU, davidson, get_link
from duelist.model.scorer import Scorer
from duelist.model.stopping import LinearPosterior, curvature_root

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy

_MAX_ROUNDS: Final = 100
_SAME: Final = 1e-9
_LARGEST: Final = 350.0


def pooled_posterior(policy: FittedPolicy) -> LinearPosterior:
    """Return the posterior of theta given the votes of all layers."""
    arrays: dict[str, Any] = policy._fitted().state.arrays()
    if not policy.online_:
        return fit_rows(*vote_rows(arrays), policy)
    ridge, ridges = policy.pooled_ridge_, np.outer(arrays["ridge"], arrays["scale"])
    return LinearPosterior(
        *_combine_layers(arrays["theta"], arrays["curvature"], ridges, ridge), ridge, float(arrays["learned"].sum())
    )


def fit_rows(
    z: Floats, mass: Floats, wins: Floats, policy: FittedPolicy, ridge: Floats | None = None, link: str | None = None
) -> LinearPosterior:
    """Return the posterior given these rows, with ridge and link of the policy or others."""
    ridge = policy.pooled_ridge_ if ridge is None else ridge
    link = policy.link_ if link is None else link
    votes = float(policy._fitted().learned.sum())
    if not len(z):
        return LinearPosterior(np.zeros(z.shape[1]), np.diag(ridge), ridge)
    theta = fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, ridge, link).theta
    slopes = mass * get_link(link).slope(z @ theta)
    curvature = np.diag(ridge) + (z * slopes[:, None]).T @ z
    return LinearPosterior(theta, curvature, ridge, votes, curvature_root(z, slopes, ridge))


def link_of_rows(z: Floats, mass: Floats, wins: Floats, policy: FittedPolicy, ridge: Floats) -> str:
    """Return the link with the parameter of ties at its maximum for all rows, which one pass does not reach.

    It solves the equation of `native/model/tie_parameter.hpp` at the estimate for itself.
    """
    nu, ties, *_ = policy._fitted().state.arrays()["ties"].tolist()
    if not ties or not nu:
        return policy.link_
    theta = np.zeros(z.shape[1])
    for _ in range(_MAX_ROUNDS):
        before, link = nu, davidson(nu).name
        theta = fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, ridge, link, start=theta).theta
        exposure = mass @ (1.0 / (2.0 * np.cosh(np.clip(z @ theta / 2.0, -_LARGEST, _LARGEST)) + nu)) + 1.0 / (2.0 + nu)
        nu = min((ties + 0.5) / float(exposure), LARGEST_NU)
        if abs(nu - before) <= _SAME * nu:
            break
    return davidson(nu).name


def reward_theta(policy: FittedPolicy) -> Floats:
    """Return theta with the ridge that maximises the evidence of all votes."""
    if policy.online_:
        raise InvalidInput(
            "reward_theta_ needs the votes, which estimator='online' forgets.", "Take estimator='exact'."
        )
    z, mass, wins = vote_rows(policy._fitted().state.arrays())
    if not len(z):
        return np.zeros(z.shape[1])
    return fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, "auto", policy.link_).theta


def learned_scorer(policy: FittedPolicy) -> Scorer:
    """Return a scorer from all votes with the ridge by evidence; the one-pass estimator gives its own estimate."""
    arrays: dict[str, Any] = policy._fitted().state.arrays()
    fields: dict[str, Any] = {
        "link": policy.link_,
        "votes": float(arrays["learned"].sum()),
        "source": type(policy).__name__,
    }
    z, mass, wins = vote_rows(arrays)
    if policy.online_ or not len(z):
        posterior = pooled_posterior(policy)
        return Scorer(posterior.theta, scale=np.sqrt(arrays["scale"]), ridge=policy.pooled_ridge_, **fields)
    return fit_scorer(z, np.clip(wins / mass, 0.0, 1.0), mass, **fields)


def vote_rows(arrays: dict[str, Any]) -> tuple[Floats, Floats, Floats]:
    """Return differences, mass and wins of all layers of the exact estimator."""
    rows = arrays["mass"] > 0.0
    return arrays["z"][rows], arrays["mass"][rows], arrays["wins"][rows]


def _combine_layers(thetas: Floats, factors: Floats, ridges: Floats, ridge_once: Floats) -> tuple[Floats, Floats]:
    """Combine the estimates of layers into one, weighted by curvature, with the ridge counted once."""
    dim = thetas.shape[1]
    curvature, target = np.zeros((dim, dim)), np.zeros(dim)
    for theta, factor, ridge in zip(thetas, factors, ridges, strict=True):
        upper = np.triu(factor)
        layer = upper.T @ upper
        curvature += layer - np.diag(ridge)
        target += layer @ theta
    curvature += np.diag(ridge_once)
    try:
        return np.asarray(np.linalg.solve(curvature, target), np.float64), curvature
    except np.linalg.LinAlgError:  # scales so different that rounding cancels the smaller ones
        return np.asarray(np.linalg.lstsq(curvature, target)[0], np.float64), curvature
