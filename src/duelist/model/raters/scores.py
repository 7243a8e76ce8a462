"""What single votes say about the items shown, if raters differ."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from duelist.core.arrays import Floats
from duelist.model.posterior import Posterior
from duelist.model.raters.loss import RaterLoss
from duelist.model.votes import Votes


def scores_by_rater(posterior: Posterior, votes: Votes) -> tuple[Floats, Floats]:
    """Return the derivative of each vote's loss by the utilities shown, (votes, 2), and its information, (votes, 2, 2).

    Votes are in the order of `np.nonzero(votes.counts)`, and count by the weight of their rater.
    """
    effects, fitted, utility = posterior.raters, posterior.fitted, posterior.utility
    if effects is None or fitted is None or utility is None:
        raise TypeError("a posterior needs its fitted parameters and raters")
    model = RaterLoss(votes, utility, posterior.answer, 1.0, effects)
    own = [np.log(effects.reliability), effects.side, logit(effects.lapse), effects.ties]
    extra = np.concatenate([fitted.covariates, fitted.parameters, *own[: model.n_kinds]])
    scale, _, each = model.terms(fitted.beta, extra, exact=False)
    weight = model.weight / model.mass
    sign = np.array([1.0, -1.0])
    information = (weight * scale**2 * each.gap_gap)[:, None, None] * np.outer(sign, sign)
    return (weight * scale * each.by_gap)[:, None] * sign, information
