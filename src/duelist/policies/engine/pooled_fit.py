"""What a policy knows from all its votes together, whichever layer learned them.

Layered policies split their votes so that their proofs hold; for saying which arm is best, all votes count. A vote that entered
with a weight keeps it, so the curvature counts no vote for more than the policy did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.fit import fit_mle, fit_scorer
from duelist.model.links import get_link
from duelist.model.scorer import Scorer
from duelist.model.stopping import LinearPosterior, curvature_root

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy


def pooled(policy: FittedPolicy) -> LinearPosterior:
    """theta, its curvature H, the ridge of every feature in it, and how many votes there were."""
    arrays: dict[str, Any] = policy._fitted().state.arrays()
    if not policy.online_:
        return fitted(*told_rows(arrays), policy)
    ridge, ridges = policy.pooled_ridge_, np.outer(arrays["ridge"], arrays["sizes"])
    return LinearPosterior(
        *_combined(arrays["theta"], arrays["curvature"], ridges, ridge), ridge, float(arrays["learned"].sum())
    )


def fitted(z: Floats, mass: Floats, wins: Floats, policy: FittedPolicy, ridge: Floats | None = None) -> LinearPosterior:
    """What these rows of differences say, with the ridge of a policy or another."""
    ridge = policy.pooled_ridge_ if ridge is None else ridge
    votes = float(policy._fitted().learned.sum())
    if not len(z):
        return LinearPosterior(np.zeros(z.shape[1]), np.diag(ridge), ridge)
    theta = fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, ridge, policy.link).theta
    slopes = mass * get_link(policy.link).slope(z @ theta)
    curvature = np.diag(ridge) + (z * slopes[:, None]).T @ z
    return LinearPosterior(theta, curvature, ridge, votes, curvature_root(z, slopes, ridge))


def reward_theta(policy: FittedPolicy) -> Floats:
    """theta with the ridge that makes all votes most likely."""
    if policy.online_:
        raise InvalidInput(
            "reward_theta_ needs the votes, which estimator='online' forgets.", "Take estimator='exact'."
        )
    z, mass, wins = told_rows(policy._fitted().state.arrays())
    if not len(z):
        return np.zeros(z.shape[1])
    return fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, "auto", policy.link).theta


def learned_scorer(policy: FittedPolicy) -> Scorer:
    """What all votes say, with the ridge that makes them most likely; with the one-pass estimator, what it has kept of them."""
    arrays: dict[str, Any] = policy._fitted().state.arrays()
    kept: dict[str, Any] = {
        "link": policy.link,
        "votes": float(arrays["learned"].sum()),
        "source": type(policy).__name__,
    }
    z, mass, wins = told_rows(arrays)
    if policy.online_ or not len(z):
        known = pooled(policy)
        return Scorer(known.theta, sizes=np.sqrt(arrays["sizes"]), ridge=policy.pooled_ridge_, **kept)
    return fit_scorer(z, np.clip(wins / mass, 0.0, 1.0), mass, **kept)


def told_rows(arrays: dict[str, Any]) -> tuple[Floats, Floats, Floats]:
    """Differences, mass and wins of all layers, as the exact estimator keeps them."""
    told = arrays["mass"] > 0.0
    return arrays["z"][told], arrays["mass"][told], arrays["wins"][told]


def _combined(thetas: Floats, factors: Floats, ridges: Floats, once: Floats) -> tuple[Floats, Floats]:
    """Estimates of several layers as one: each weighs by its curvature, and the ridge counts once."""
    dim = thetas.shape[1]
    total, pull = np.zeros((dim, dim)), np.zeros(dim)
    for theta, factor, ridge in zip(thetas, factors, ridges, strict=True):
        upper = np.triu(factor)
        own = upper.T @ upper
        total += own - np.diag(ridge)
        pull += own @ theta
    total += np.diag(once)
    try:
        return np.asarray(np.linalg.solve(total, pull), np.float64), total
    except np.linalg.LinAlgError:  # features so far apart that rounding took the smaller ones away
        return np.asarray(np.linalg.lstsq(total, pull)[0], np.float64), total
