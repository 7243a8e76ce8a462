"""The stopping rule for utilities that are known directly, as those of policies with arm effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.model.stopping import (
    Recommendation,
    arms_still_open,
    average_gaps,
    by_utility,
    check_delta,
    forecast_votes,
    lead_interval,
    probability_of_first,
    tied_with_best,
    upper_factor,
)

_MAX_DRAWN_ARMS: Final = 1000


@dataclass(frozen=True)
class GapPosterior:
    """Posterior of arms' utilities by model, each array (models, n_arms): gaps, w^2 and w_0^2 are to `best`."""

    best: int
    """The arm of largest mean utility under the posterior of the mixture, the first of equals."""
    log_weights: Floats
    gaps: Floats
    squares: Floats
    prior: Floats
    votes: float
    covariance: Callable[[Ints], Floats]
    """Returns the covariance matrix of the utilities of some arms, under the mixture."""


def recommend_from_gaps(posterior: GapPosterior, delta: float, tolerance: float = 0.0) -> Recommendation:
    """Apply the stopping rule to arms whose utilities are known directly.

    If more than 1,000 arms are not ruled out, the probability of being best is among those with the largest utilities.
    """
    delta, best = check_delta(delta), posterior.best
    by_model = posterior.log_weights, posterior.gaps, posterior.squares, posterior.prior
    gaps, squares, prior = average_gaps(*by_model)
    still_open = arms_still_open(*by_model, delta, tolerance)
    still_open[best] = True
    drawn = np.array(by_utility(best, gaps, still_open | (tolerance > 0.0))[:_MAX_DRAWN_ARMS], np.int64)
    root = upper_factor(posterior.covariance(drawn)).T
    return Recommendation(
        best=best,
        probability=probability_of_first(root, -gaps[drawn]),
        interval=lead_interval(best, gaps, squares),
        candidates=tuple(by_utility(best, gaps, still_open)),
        delta=delta,
        tolerance=tolerance,
        votes_expected=forecast_votes(gaps, squares, prior, posterior.votes, delta, tolerance),
        tied=tuple(tied_with_best(best, gaps, squares).tolist()),
    )
