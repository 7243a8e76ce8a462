"""What a policy knows from all its votes together, whichever layer learned them.

Layered policies split their votes so that their proofs hold; for saying which arm is best, all votes count. A vote that entered
with a weight keeps it, so the curvature counts no vote for more than the policy did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from duelist.arrays import Floats
from duelist.estimation import fit_mle
from duelist.links import get_link

if TYPE_CHECKING:
    from duelist.engine.native_policy import NativePolicy


def pooled(policy: NativePolicy) -> tuple[Floats, Floats, Floats]:
    """theta, its curvature H, and the ridge of every feature in it."""
    arrays: dict[str, Any] = policy._fitted().state.arrays()
    ridge = policy.pooled_ridge_
    if policy.online_:
        return _combined(arrays["theta"], arrays["curvature"], np.outer(arrays["ridge"], arrays["sizes"]), ridge)
    z, mass, wins = arrays["z"], arrays["mass"], arrays["wins"]
    dim = z.shape[1]
    told = mass > 0.0
    if not told.any():
        return np.zeros(dim), np.diag(ridge), ridge
    z, mass, wins = z[told], mass[told], wins[told]
    theta = fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, ridge, policy.link).theta
    slopes = mass * get_link(policy.link).slope(z @ theta)
    return theta, np.diag(ridge) + (z * slopes[:, None]).T @ z, ridge


def _combined(thetas: Floats, factors: Floats, ridges: Floats, once: Floats) -> tuple[Floats, Floats, Floats]:
    """Estimates of several layers as one: each weighs by its curvature, and the ridge counts once."""
    dim = thetas.shape[1]
    total, pull = np.zeros((dim, dim)), np.zeros(dim)
    for theta, factor, ridge in zip(thetas, factors, ridges, strict=True):
        upper = np.triu(factor)
        own = upper.T @ upper
        total += own - np.diag(ridge)
        pull += own @ theta
    total += np.diag(once)
    return np.asarray(np.linalg.solve(total, pull), np.float64), total, once
