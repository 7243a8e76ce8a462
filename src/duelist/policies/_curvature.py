"""The curvature at the estimate, in the place of the precision.

With H = ridge I + sum w_s mu'(z_s . theta_hat) z_s z_s', a comparison counts for as much as its outcome was uncertain:
for the logistic link mu' is the variance of the outcome, so H is a precision weighted by variance,
without layers. H belongs to theta_hat and is made anew when theta_hat has moved.
"""

from __future__ import annotations

from typing import Any

from duelist.compiled import compiled, compiled_apart
from duelist.kernels.linalg import cholesky
from duelist.kernels.mle import margins_of
from duelist.kernels.scratch import Room, Scratch, scratch_of
from duelist.kernels.tracking import DIRECT, fill_curvature
from duelist.links import slope
from duelist.policies._rule import look_through
from duelist.policies._state import Floats, Layout, State, layer_rows, state_of


@compiled_apart
def refresh_curvature(
    core: Floats, rows: Floats, layout: Layout, block: Floats, room: Room, link: int, online: bool
) -> None:
    """Make the curvature that of the present estimate, if data came in since.

    The one-pass estimator keeps its own. Above `DIRECT` dimensions, where a factorisation is too dear for a round,
    the curvature stays the one kept by rank-one updates, each with the slope at the estimate of its round.
    """
    state = state_of(core, rows, layout)
    if state.stale[0] == 0:
        return
    state.stale[0] = 0
    if online or layout.dim > DIRECT:
        return
    scratch = scratch_of(block, room)
    z, mass, _ = layer_rows(state, scratch, 0)
    n = mass.size
    margins, slopes = scratch.margins[:n], scratch.slopes[:n]
    margins_of(z, state.theta[0], margins)
    for s in range(n):
        slopes[s] = mass[s] * slope(link, margins[s])
    fill_curvature(z, slopes, state.ridge[0], state.curvature[0], scratch.moves[:n])
    cholesky(state.curvature[0])


@compiled
def look_locally(config: Any, state: State, scratch: Scratch, arms: Floats) -> tuple[Floats, Floats]:
    """Utilities of all arms, and the arms whitened by the curvature at the estimate, which must be solved."""
    refresh_curvature(state.core, state.rows, state.layout, scratch.block, scratch.room, config.link, config.online)
    return look_through(state.curvature[0], state, scratch, arms)
