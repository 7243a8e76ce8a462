"""`fit`: the posterior of utilities, given votes.

One model: a utility (`duelist.model.utility`), what raters say about utilities (`duelist.model.answers`), and how raters
differ (`duelist.model.rater`). One Newton method finds the maximum of the posterior density; the covariance is the
inverse of the second derivative there (Laplace), and precisions that are not given are estimated by EM
(`em_precision`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.answers import PAIR, Answer
from duelist.model.loss import DENSE_STEPS, Derivatives, VoteLoss
from duelist.model.posterior import Coefficients, Posterior, centred
from duelist.model.rater import RaterModel
from duelist.model.ridge_selection import FixedPoint, em_precision
from duelist.model.utility import Utility
from duelist.model.votes import Votes

DENSE: Final = 4000
"""Up to this many coefficients the covariance is exact; beyond, it comes from `SKETCH` draws."""
SKETCH: Final = 256
PRECISION: Final = 1e-18
"""Newton's method ends where a step would lower the loss by less than this share of it."""
_STEPS: Final = 100
_ROUNDING: Final = 1e-12
"""Relative difference of two losses that counts as none; near the minimum a correct step may gain less than that."""
_ROUNDS: Final = 50
_SAME: Final = 1e-3
_CROWD: Final = RaterModel()


def fit(
    votes: Votes,
    utility: Utility,
    answer: Answer = PAIR,
    rater: RaterModel = _CROWD,
    *,
    covariate_precision: float = 1.0,
    start: Posterior | None = None,
    precision: float = PRECISION,
    seed: int = 0,
) -> Posterior:
    """Return the posterior of the utilities, given votes.

    Minimises the negative log-likelihood of `answer`, plus precision/2 beta^2 for each coefficient of the utility and of
    the covariates, plus the prior votes of the answer. Utilities are relative to their mean.

    Parameters
    ----------
    votes
        Items shown and counts of outcomes; rows with the same items are pooled.
    utility, answer, rater
        The model. Precisions of blocks that are None are estimated: those that make the votes most likely, kept near 1
        by a prior worth three coefficients.
    covariate_precision
        Prior precision of the coefficient of each covariate.
    start
        A fit of similar votes, which shortens the iteration and hardly changes the result.
    precision
        Share of the loss below which a gain ends the iteration.
    seed
        Seed of the draws that replace the covariance of more than 4,000 coefficients.

    >>> from duelist.model.utility import arm_effects
    >>> votes = Votes(3, np.array([[0, 1], [1, 2]]), np.array([[3.0, 1.0], [2.0, 1.0]]))
    >>> fit(votes, Utility((arm_effects(3),))).mean.round(3)
    array([ 0.45 , -0.115, -0.335])
    """
    if votes.n_items != utility.n_items:
        raise InvalidInput(
            f"Votes are on {votes.n_items} items, utilities of {utility.n_items}.", "Give the same items."
        )
    if votes.n_items == 0:
        return Posterior(np.zeros(0), np.zeros((0, 0)), None, utility.with_precisions({}), answer)
    seen = rater.observed(votes).pooled()
    before = None if start is None or not _same_blocks(start, utility) else start.fitted
    every, shown = utility, _items_to_fit(seen)
    if shown is not None:
        seen = replace(seen, n_items=len(shown), items=np.searchsorted(shown, seen.items))
        if every.has_arm_effects:
            utility = every.with_effects_of(shown)
            before = None if before is None else replace(before, beta=before.beta[_fitted_coefficients(every, shown)])
    known = start.utility.blocks if before is not None and start is not None and start.utility is not None else ()
    precisions = {k: float(np.mean(known[k].precisions)) if known else 1.0 for k in utility.estimated}
    estimate = FixedPoint()
    for _ in range(_ROUNDS):
        here = utility.with_precisions(precisions)
        model = VoteLoss(seen, here if shown is None else _restrict_to_shown(here, shown), answer, covariate_precision)
        mode = _newton(model, before, precision)
        before, posterior = posterior_at(model, here, model.derivatives(*mode), *mode, seed, utility is not every)
        if utility is not every and shown is not None:
            posterior = _with_all_effects(posterior, every.with_precisions(precisions), shown)
        squares = before.squares if posterior.fitted is None else posterior.fitted.squares
        better = {k: em_precision(every.blocks[k].width, squares[k]) for k in precisions}
        if all(abs(np.log(better[k] / precisions[k])) < _SAME for k in precisions):
            break
        precisions = dict(zip(precisions, estimate.next(list(precisions.values()), list(better.values())), strict=True))
    return posterior


def _items_to_fit(votes: Votes) -> Ints | None:
    """Return the items shown in votes if the fit can be restricted to them, or None to fit all items.

    It is restricted if there are many items and votes show at most half of them. Without votes, one item is returned.

    The loss does not depend on the others, and their effects are independent of everything else.
    """
    if votes.n_items <= DENSE_STEPS:
        return None
    shown = np.unique(votes.items) if votes.items.size else np.zeros(1, np.int64)
    return shown if 2 * len(shown) <= votes.n_items else None


def _restrict_to_shown(utility: Utility, shown: Ints) -> Utility:
    """Return the utility of the items shown, dense if they are few: direct solves are faster then."""
    found = utility.of(shown)
    return found.to_dense() if len(shown) <= DENSE_STEPS else found


def _fitted_coefficients(utility: Utility, shown: Ints) -> Ints:
    """Return the coefficients that are fitted."""
    first = utility.width - utility.n_items
    return np.concatenate([np.arange(first), first + shown])


def _with_all_effects(posterior: Posterior, utility: Utility, shown: Ints) -> Posterior:
    """Return the posterior with the effects of the items that no vote shows, which have the distribution of the prior."""
    own = 1.0 / utility.blocks[-1].precisions
    own[shown] = 0.0
    fitted = posterior.fitted
    if fitted is None:
        raise TypeError("a posterior needs its fitted parameters")
    beta = np.zeros(utility.width)
    beta[_fitted_coefficients(utility, shown)] = fitted.beta
    squares = *fitted.squares[:-1], fitted.squares[-1] + float(own.sum())
    return replace(posterior, utility=utility, own=own, fitted=replace(fitted, beta=beta, squares=squares))


def _same_blocks(start: Posterior, utility: Utility) -> bool:
    """Whether a fit has as many coefficients in each block."""
    blocks = () if start.utility is None else start.utility.blocks
    return [block.width for block in blocks] == [block.width for block in utility.blocks]


def _newton(model: VoteLoss, start: Coefficients | None, precision: float) -> tuple[Floats, Floats]:
    """Return the minimum by Newton's method, halving steps that do not descend."""
    beta, extra = np.zeros(model.utility.width), np.zeros(model.n_extra)
    if start is not None:
        beta = start.beta
        before = np.append(start.covariates, start.parameters)
        extra = before if len(before) == model.n_extra else extra
    for _ in range(_STEPS):
        now = model.derivatives(beta, extra)
        by_beta, by_extra = newton_step(now)
        promised = float(now.by_beta @ by_beta + now.by_extra @ by_extra)
        if promised <= precision * (1.0 + abs(now.loss)):
            # The last step doubles the correct digits: the same votes give the same result from any start.
            return beta - by_beta, extra - by_extra
        size, most = 1.0, now.loss + _ROUNDING * (1.0 + abs(now.loss))
        while model.loss(beta - size * by_beta, extra - size * by_extra) > most and size >= 1e-10:
            size /= 2.0
        beta, extra = beta - size * by_beta, extra - size * by_extra
    return beta, extra


def newton_step(now: Derivatives) -> tuple[Floats, Floats]:
    """Return Newton's step, with the extra parameters eliminated."""
    solved = now.curvature.solve(np.column_stack([now.by_beta, now.cross]))
    alone, coupled = solved[:, 0], solved[:, 1:]
    if not len(now.by_extra):
        return alone, now.by_extra
    by_extra = np.linalg.solve(now.extra_twice - now.cross.T @ coupled, now.by_extra - now.cross.T @ alone)
    return alone - coupled @ by_extra, np.asarray(by_extra, np.float64)


def posterior_at(
    model: VoteLoss, utility: Utility, now: Derivatives, beta: Floats, extra: Floats, seed: int, as_factor: bool
) -> tuple[Coefficients, Posterior]:
    """Return the normal approximation at the minimum, where `now` are the derivatives."""
    # The uncertainty of the extra parameters adds a part of low rank to the covariance.
    coupled = now.curvature.solve(now.cross) if model.n_extra else now.cross
    left = now.extra_twice - now.cross.T @ coupled
    coupling = solve_triangular(cholesky(left, lower=True), coupled.T, lower=True).T if model.n_extra else coupled
    covariance = factor = None
    if (utility.width < utility.n_items or as_factor) and utility.width <= DENSE:
        root = cholesky(now.curvature.dense(), lower=True)
        parts = np.column_stack([solve_triangular(root, np.eye(len(root)), lower=True).T, coupling])
        factor = utility.values(parts)
        factor -= factor.mean(axis=0)
        variances = np.square(parts).sum(axis=1)
    elif utility.width <= DENSE:
        inverse = now.curvature.inverse() + coupling @ coupling.T
        covariance = centred(utility.values(np.ascontiguousarray(utility.values(inverse).T)))
        variances = np.diagonal(inverse)
    else:
        parts = np.column_stack([_draws(model, now, seed) / np.sqrt(SKETCH), coupling])
        factor = utility.values(parts)
        factor -= factor.mean(axis=0)
        variances = np.square(parts).sum(axis=1)
    squares = tuple(float((beta[part] ** 2 + variances[part]).sum()) for part in utility.slices)
    utilities, m = utility.values(beta), model.n_covariates
    origin = float(utilities.mean())
    inverse_left = np.asarray(np.linalg.inv(left) if model.n_extra else left, np.float64)
    fitted = Coefficients(beta, origin, extra[:m], extra[m:], squares, inverse_left)
    return fitted, Posterior(utilities - origin, covariance, factor, utility, model.answer, fitted)


def _draws(model: VoteLoss, now: Derivatives, seed: int) -> Floats:
    """Return `SKETCH` draws from N(0, H^-1): H^-1 times noise with covariance H."""
    rng = np.random.default_rng(seed)
    utility = model.utility
    noise = np.sqrt(utility.precisions)[:, None] * rng.standard_normal((utility.width, SKETCH))
    by_items = csr_array(now.curvature.by_items).tocoo()
    # L is a sum of terms w (e_i - e_j)(e_i - e_j)' over pairs, plus a diagonal: draw for each.
    above = by_items.row < by_items.col
    low, high, weight = by_items.row[above], by_items.col[above], -by_items.data[above]
    every = np.arange(len(weight))
    size = np.sqrt(np.maximum(weight, 0.0))
    ends = (np.concatenate([low, high]), np.concatenate([every, every]))
    incidence = csr_array((np.concatenate([size, -size]), ends), shape=(utility.n_items, len(weight)))
    by_item = incidence @ rng.standard_normal((len(weight), SKETCH))
    left = by_items.diagonal() - np.bincount(low, weight, utility.n_items) - np.bincount(high, weight, utility.n_items)
    by_item += np.sqrt(np.maximum(left, 0.0))[:, None] * rng.standard_normal(by_item.shape)
    return now.curvature.solve(noise + utility.gathered(by_item))
