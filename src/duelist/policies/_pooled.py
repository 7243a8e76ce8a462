"""What a policy knows from all its votes together, whichever layer learned them.

Layered policies split their votes so that their proofs hold; for saying which arm is best, all votes count. A vote that entered
with a weight keeps it, so the curvature counts no vote for more than the policy did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from duelist.estimation import fit_mle
from duelist.links import get_link
from duelist.policies._state import Floats

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy


def pooled(policy: CompiledPolicy) -> tuple[Floats, Floats, float]:
    """theta, its curvature H, and the ridge in it."""
    state = policy._fitted()
    ridge = policy.pooled_ridge_
    if policy.online_:
        return _combined(state.theta, state.curvature, state.ridge, ridge)
    n = int(state.n_rows[0])
    z, mass, wins = state.z[:, :n].T, state.mass[:n], state.wins[:n]
    told = mass > 0.0
    if not told.any():
        return np.zeros(z.shape[1]), ridge * np.eye(z.shape[1]), ridge
    z, mass, wins = z[told], mass[told], wins[told]
    theta = fit_mle(z, np.clip(wins / mass, 0.0, 1.0), mass, ridge, policy.link).theta
    slopes = mass * get_link(policy.link).slope(z @ theta)
    return theta, ridge * np.eye(z.shape[1]) + (z * slopes[:, None]).T @ z, ridge


def _combined(thetas: Floats, factors: Floats, ridges: Floats, once: float) -> tuple[Floats, Floats, float]:
    """Estimates of several layers as one: each weighs by its curvature, and the ridge counts once."""
    dim = thetas.shape[1]
    total, pull = np.zeros((dim, dim)), np.zeros(dim)
    for theta, factor, ridge in zip(thetas, factors, ridges, strict=True):
        upper = np.triu(factor)
        own = upper.T @ upper
        total += own - ridge * np.eye(dim)
        pull += own @ theta
    total += once * np.eye(dim)
    return np.asarray(np.linalg.solve(total, pull), np.float64), total, once
