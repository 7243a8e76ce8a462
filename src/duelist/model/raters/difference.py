"""A score test of whether raters differ in reliability or side bias.

At a fit to votes of raters who are alike, let S be the derivatives of the log-likelihood by the log reliability (or the side
bias) of every rater, and J their covariance: the information of the raters' parameters less what utilities, tie parameter
and covariates explain, and less a reliability (a side bias) that all raters share. If raters are alike,

    Q = sum_k S_k^2 / J_kk

has the mean n and the variance 2 sum_kl J_kl^2 / (J_kk J_ll), and about the distribution of a multiple of chi-squared with
these moments (Satterthwaite 1946). The p-value is twice the smaller one of the two tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import gammaincc

from duelist.core.arrays import Floats
from duelist.model.posterior import Posterior
from duelist.model.raters.effects import RaterEffects, RaterSpread, even_outcomes, raters_with_most_votes
from duelist.model.raters.loss import RaterLoss
from duelist.model.votes import Votes

LEVEL: Final = 0.01
"""P-value below which raters differ."""
_LEAST_INFORMATION: Final = 0.5
"""Raters whose votes carry less information about their parameter than this are excluded."""
_NO_LAPSES: Final = -40.0
_FLAT: Final = RaterSpread(1e12, 1e12, 1e12, 0.05)


def difference_p_value(posterior: Posterior, votes: Votes) -> float:
    """Return the p-value of the hypothesis that raters are alike; 1 if there are fewer than two raters.

    `posterior` is the fit of these votes without raters; `votes` are single, with the cluster "rater" and `sides`.
    """
    fitted, utility = posterior.fitted, posterior.utility
    ids = raters_with_most_votes(votes)
    n = len(ids)
    if n < 2 or fitted is None or utility is None:
        return 1.0
    votes = replace(votes, counts=votes.counts[:, : len(posterior.answer.outcomes)])
    alike = RaterEffects.alike(ids, even_outcomes(votes.counts), _FLAT, np.ones(n))
    model = RaterLoss(votes, utility, posterior.answer, 1.0, alike)
    own = np.zeros((model.n_kinds, n))
    own[2] = _NO_LAPSES
    extra = np.concatenate([fitted.covariates, fitted.parameters, own.ravel()])
    now = model.derivatives(fitted.beta, extra, exact=False)
    m = model.n_common
    used = np.arange(m + 2 * n)
    cross = now.cross[:, used]
    by_utilities = model.by_utilities[:, m : m + 2 * n]
    information = now.extra_twice[np.ix_(used, used)] - cross.T @ now.curvature.solve(cross)
    if m:
        explained = np.linalg.solve(information[:m, :m], information[:m, m:])
        information = information[m:, m:] - information[m:, :m] @ explained
    score = -now.by_extra[m : m + 2 * n]
    reliability, side = slice(0, n), slice(n, 2 * n)
    # The derivatives hold the constraint on the mean reliability, which is no part of the likelihood.
    found = information.copy()
    found[reliability, reliability] -= model.centre_curvature
    # Tastes of a rater move the rater's scores together.
    own_tastes = posterior.taste.get("rater", 0.0) * np.square(by_utilities).sum(axis=0)
    found[np.diag_indices_from(found)] += own_tastes
    return min(1.0, 2.0 * min(_excess_p_value(score[part], found[part, part]) for part in (reliability, side)))


def _excess_p_value(score: Floats, information: Floats) -> float:
    """Return the p-value of the squared scores, less what all raters share."""
    total = float(information.sum())
    if total > 0.0:
        shared = information.sum(axis=1)
        score = score - shared * score.sum() / total
        information = information - np.outer(shared, shared) / total
    own = np.diagonal(information)
    kept = own > _LEAST_INFORMATION
    if kept.sum() < 2:
        return 1.0
    correlation = information[np.ix_(kept, kept)] / np.sqrt(np.outer(own[kept], own[kept]))
    statistic = float((score[kept] ** 2 / own[kept]).sum())
    mean, variance = float(kept.sum()), 2.0 * float(np.square(correlation).sum())
    scale = variance / (2.0 * mean)
    return float(gammaincc(mean / scale / 2.0, statistic / scale / 2.0))
