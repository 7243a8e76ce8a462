"""The fit of utilities and raters together, and the probability that a rater is careless.

For given weights and variances, Newton's method finds the mode of utilities and raters' parameters. Between its steps the
weights (probabilities that a rater is attentive), the variances and the share of careless raters are updated by EM.

A rater k is attentive or careless. The probability of their votes y_k if attentive is the integral over utilities and own
parameters, given the votes of the others: with g the gradient and V the curvature of their negative log-likelihood at the
mode, and C the covariance of the utilities without rater k,

    log p(y_k | attentive) = log p(y_k | mode) + log prior(mode) - 1/2 log det H_k + 2 log(2 pi) + e_k,

by Laplace, where H_k is the curvature by own parameters and e_k the same integral over the utilities: without it a rater
would be predicted by their own votes. If careless, they choose at random; choose a side with a probability that has a
Beta(1/2, 1/2) distribution; or are like the crowd but for the worse item; how often they call a tie has a Beta(1/2, 1/2)
distribution in any of the three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import betaln, expit, logit, logsumexp

from duelist.core.arrays import Floats, Ints
from duelist.model.loss import Derivatives
from duelist.model.posterior import Posterior
from duelist.model.raters.effects import (
    ATTENTION,
    KINDS,
    LAPSES,
    RaterEffects,
    RaterSpread,
    even_outcomes,
    raters_with_most_votes,
)
from duelist.model.raters.loss import RaterLoss, VoteTerms, choice_terms
from duelist.model.vote_fit import newton_step, posterior_at
from duelist.model.votes import Votes

START: Final = RaterSpread()
_PRIOR_RATERS: Final = 4.0
"""The prior of each variance is worth this many raters with the variance of `START`."""
_PRIOR_CARELESS: Final = 10.0
_ROUNDS: Final = 60
_FULL_ROUNDS: Final = 20
"""From here on updates are averaged: with few votes per rater, full ones can go round in circles."""
_STEPS: Final = 100
_SAME: Final = 1e-2
_PRECISION: Final = 1e-18
_NEAR: Final = 1e-3
_ROUNDING: Final = 1e-12
_SHORTEST: Final = 1e-10
_LONGEST: Final = 2.0
"""The largest change of a rater's parameter in one step, in log-odds; beyond it the curvature says too little."""
_LEAST_WEIGHT: Final = 1e-6
_MOST_SHARE: Final = 0.9
_TINY: Final = 1e-12
_LEAST_CURVATURE: Final = 0.05
FIRST, SECOND = 0, 1
_NOBODY: Final = np.zeros(0, np.int64)


def fit_raters(
    votes: Votes, start: Posterior, *, covariate_precision: float = 1.0, seed: int = 0, outside: Ints = _NOBODY
) -> Posterior:
    """Return the posterior of the utilities to attentive raters, with `raters`.

    Parameters
    ----------
    votes
        Single votes with their rater (cluster "rater") and `sides`.
    start
        Their fit without raters, whose utility, answer and prior precisions are used; its `raters`, if any, are those of similar
        votes by the same raters, and shorten the iteration.
    covariate_precision, seed
        As in `fit`.
    outside
        Raters who do not affect the fit, and are assessed by it.
    """
    answer, utility, fitted = start.answer, start.utility, start.fitted
    if fitted is None or utility is None:
        raise TypeError("a posterior needs its fitted parameters")
    votes = replace(votes, counts=votes.counts[:, : len(answer.outcomes)])
    ids = raters_with_most_votes(votes)
    kept = np.where(np.isin(ids, outside), 0.0, 1.0)
    attentive = np.maximum(kept * (1.0 - START.careless), _LEAST_WEIGHT)
    shares, known = even_outcomes(votes.counts), start.raters
    if known is not None and np.array_equal(known.ids, ids) and not len(outside):
        effects = replace(known, outcomes=shares)
    else:
        effects = RaterEffects.alike(ids, shares, START, attentive)
    model = RaterLoss(votes, utility, answer, covariate_precision, effects)
    own = np.stack([np.log(effects.reliability), effects.side, logit(effects.lapse), effects.ties])[: model.n_kinds]
    beta, extra = fitted.beta, np.concatenate([fitted.covariates, fitted.parameters, own.ravel()])
    for k in range(_ROUNDS):
        beta, extra, now = convex_step(model, beta, extra)
        better = _towards(effects, assessed(model, beta, extra, now, kept), 1.0 / max(k - _FULL_ROUNDS, 1.0))
        moved, effects = _moved(effects, better), better
        model.update(effects)
        if moved < _SAME:
            break
    beta, extra, now = minimum(model, beta, extra, _PRECISION, _STEPS)
    try:
        found, posterior = posterior_at(model, utility, now, beta, extra, seed, False)
    except LinAlgError:  # the mode is so flat that rounding, or a last vote that was a lapse, bends it the other way
        now = model.derivatives(beta, extra, exact=False)
        found, posterior = posterior_at(model, utility, now, beta, extra, seed, False)
    m = model.n_common
    found = replace(found, parameters=extra[model.n_covariates : m], extra_covariance=found.extra_covariance[:m, :m])
    return replace(posterior, fitted=found, raters=_with_own(effects, model.parameters(extra)))


def convex_step(model: RaterLoss, beta: Floats, extra: Floats) -> tuple[Floats, Floats, Derivatives]:
    """Return where one step with the convex curvature leads, and the derivatives before it."""
    now = model.derivatives(beta, extra, exact=False)
    by_beta, by_extra, _ = _descent(model, now)
    return *_step_down(model, now, beta, extra, by_beta, by_extra), now


def minimum(
    model: RaterLoss, beta: Floats, extra: Floats, precision: float, steps: int
) -> tuple[Floats, Floats, Derivatives]:
    """Return the minimum by Newton's method, with the convex curvature where the exact one gives no descent."""
    exact, done = False, False
    now = model.derivatives(beta, extra, exact)
    for _ in range(steps):
        by_beta, by_extra, promised = _descent(model, now)
        if exact and not promised > 0.0:
            exact = False
            now = model.derivatives(beta, extra, exact)
            by_beta, by_extra, promised = _descent(model, now)
        done = promised <= precision * (1.0 + abs(now.loss))
        if done:  # the last step doubles the correct digits
            beta, extra = beta - by_beta, extra - by_extra
        else:
            beta, extra = _step_down(model, now, beta, extra, by_beta, by_extra)
        exact = exact or promised <= _NEAR * (1.0 + abs(now.loss))
        now = model.derivatives(beta, extra, exact)
        if done:
            break
    return beta, extra, now


def _step_down(
    model: RaterLoss, now: Derivatives, beta: Floats, extra: Floats, by_beta: Floats, by_extra: Floats
) -> tuple[Floats, Floats]:
    """Return where a step leads, halved until it does not ascend."""
    size, most = 1.0, now.loss + _ROUNDING * (1.0 + abs(now.loss))
    while model.loss(beta - size * by_beta, extra - size * by_extra) > most and size >= _SHORTEST:
        size /= 2.0
    return beta - size * by_beta, extra - size * by_extra


def _descent(model: RaterLoss, now: Derivatives) -> tuple[Floats, Floats, float]:
    """Return a step and the decrease that it promises, without raters who hardly matter; NaN where the curvature is not positive.

    The step of each rater is shortened to `_LONGEST`: far from the mode of a lapse there is nearly no curvature, and the loss
    does not show a step too far of a rater whose votes hardly count.
    """
    try:
        by_beta, by_extra = newton_step(now)
    except LinAlgError:
        return np.zeros(0), np.zeros(0), np.nan
    m = model.n_common
    own = by_extra[m:].reshape(model.n_kinds, -1)
    decrease = (now.by_extra[m:].reshape(own.shape) * own)[:, model.matters].sum()
    promised = float(now.by_beta @ by_beta + now.by_extra[:m] @ by_extra[:m] + decrease)
    longest = np.maximum(np.abs(own).max(axis=0, initial=0.0), _LONGEST)
    return by_beta, np.concatenate([by_extra[:m], (own * (_LONGEST / longest)).ravel()]), promised


def _towards(one: RaterEffects, other: RaterEffects, size: float) -> RaterEffects:
    """Return the second raters, whose weights, spread and chances are only a part of the way from those of the first."""
    if size == 1.0:
        return other

    def part(a: Floats, b: Floats) -> Floats:
        return a + size * (b - a)

    spread = np.exp(part(np.log(one.spread), np.log(other.spread)))
    return replace(
        other,
        attentive=part(one.attentive, other.attentive),
        kinds=part(one.kinds, other.kinds),
        weight=part(one.weight, other.weight),
        spread=RaterSpread(*map(float, spread)),
    )


def _moved(one: RaterEffects, other: RaterEffects) -> float:
    weights = np.abs(one.weight - other.weight).max(initial=0.0)
    return max(float(weights), *(abs(float(np.log(a / b))) for a, b in zip(one.spread, other.spread, strict=True)))


def _with_own(effects: RaterEffects, own: Floats) -> RaterEffects:
    """Return raters with the parameters of the mode."""
    a, side, lapse, ties = own
    return replace(effects, reliability=np.exp(a), side=side, lapse=expit(lapse), ties=ties)


def _own_variances(model: RaterLoss, beta: Floats, extra: Floats) -> tuple[Floats, Floats]:
    """Return the variance of each own parameter given utilities, (k, raters), and log det of their curvature."""
    curvature = []
    for exact in (True, False):
        scale, apart, each = model.terms(beta, extra, exact)
        curvature.append(model.own_curvature(extra, scale * apart, each, exact))
    proper = np.linalg.eigvalsh(curvature[0])[:, 0] > _LEAST_CURVATURE
    whole = np.where(proper[:, None, None], *curvature)
    return np.diagonal(np.linalg.inv(whole), axis1=1, axis2=2).T, np.linalg.slogdet(whole)[1]


def assessed(model: RaterLoss, beta: Floats, extra: Floats, now: Derivatives, kept: Floats) -> RaterEffects:
    """Return raters with new weights, variances and share of careless raters, given the mode and the curvature near it.

    Raters with 0 in `kept` affect none of these.
    """
    own, spread = model.parameters(extra), model.spread
    variance, log_det = _own_variances(model, beta, extra)
    scale, apart, each = model.terms(beta, extra, exact=False)
    normal = np.log(spread.reliability) + np.log(spread.side) + (np.log(spread.ties) if model.has_ties else 0.0)
    lapses = 0.5 * np.log(2.0 * np.pi) - betaln(LAPSES, ATTENTION)
    attentive = -model.by_each(each.loss) - model.own_penalty(own) - 0.5 * normal + lapses - 0.5 * log_det
    attentive += _integral(model, now, scale, each)
    kinds = careless_evidence(model, apart)
    careless = logsumexp(kinds, axis=1) - np.log(len(KINDS))
    chance = expit(np.log1p(-spread.careless) - np.log(spread.careless) + attentive - careless)
    counted = kept * chance
    total = float(counted.sum()) + _PRIOR_RATERS

    def variance_of(k: int, before: float) -> float:
        return float((counted @ (own[k] ** 2 + variance[k]) + _PRIOR_RATERS * before) / total)

    share = (float(kept @ (1.0 - chance)) + _PRIOR_CARELESS * START.careless) / (float(kept.sum()) + _PRIOR_CARELESS)
    better = RaterSpread(
        variance_of(0, START.reliability),
        variance_of(1, START.side),
        variance_of(3, START.ties) if model.has_ties else START.ties,
        share,
    )
    return replace(
        model.effects,
        attentive=chance,
        kinds=np.exp(kinds - logsumexp(kinds, axis=1)[:, None]),
        deviation=np.sqrt(variance[0]),
        spread=better,
        weight=np.maximum(counted, _LEAST_WEIGHT),
    )


def _integral(model: RaterLoss, now: Derivatives, scale: Floats, each: VoteTerms) -> Floats:
    """Return e_k, with V_k in proportion to the information of all votes in the directions that rater k informs."""
    values = model.utility.values
    covariance = values(np.ascontiguousarray(values(now.curvature.inverse()).T))
    low, high, weight = model.low, model.high, model.weight_of_raters
    between = covariance[low, low] + covariance[high, high] - 2.0 * covariance[low, high]
    used = model.by_each(scale**2 * each.gap_gap * between)
    gradient = model.by_item_and_rater(model.mass * scale * each.by_gap)
    squares = np.einsum("ik,ik->k", gradient, covariance @ gradient)
    directions = np.maximum(np.minimum(model.by_rater, float(weight @ used)), _TINY)
    x = np.minimum(used / directions, _MOST_SHARE)
    # `covariance` counts the votes of rater k with their weight; without them it would be 1 / (1 - weight x) times as large.
    ratio = x / (1.0 - weight * x)
    fitted = squares / (1.0 - weight * x)
    gain = fitted * (0.5 * (1.0 + weight * ratio) ** 2 / (1.0 + ratio) - weight - 0.5 * weight**2 * ratio)
    return np.asarray(gain - 0.5 * used * np.where(x > _TINY, np.log1p(ratio) / np.maximum(x, _TINY), 1.0))


def careless_evidence(model: RaterLoss, apart: Floats) -> Floats:
    """Return the log probability of each rater's votes under each of `KINDS`, (raters, kinds)."""
    outcome, half = model.outcome, 0.5
    first, second, tied = (model.by_each(outcome == k) for k in range(3))
    decided = first + second
    ties = betaln(tied + half, decided + half) - betaln(half, half) if model.has_ties else np.zeros(model.n_raters)
    left = model.by_each((outcome == FIRST) & (model.sides > 0.0)) + model.by_each(
        (outcome == SECOND) & (model.sides < 0.0)
    )
    against = choice_terms(-apart, None, np.minimum(outcome, SECOND))[0]
    found = (
        -np.log(2.0) * decided,
        betaln(left + half, decided - left + half) - betaln(half, half),
        -model.by_each(np.where(outcome <= SECOND, against, 0.0)),
    )
    return np.stack(found, axis=1) + ties[:, None]
