"""Predictions for votes by fits to other votes: to those of other raters, or to any part of the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import Posterior
from duelist.model.raters.effects import RaterEffects
from duelist.model.raters.prediction import chances_by_rater
from duelist.model.votes import Votes, numbered
from duelist.study.analysis.fit.flagged_raters import estimated_raters, with_raters
from duelist.study.analysis.fit.utilities import Features, fit_utilities
from duelist.study.analysis.fit.votes import FIRST, NORMAL, VoteTable, counted, vote_counts

CrossFits = dict[int, Posterior]
"""The fit that predicts each group of raters, reused as the next starting point."""
FOLDS: Final = 10
_PRECISION: Final = 1e-9
"""Precision of these fits: the last step starts within a hundredth of a standard deviation, and squares the error."""


def chances_without_own(
    log: VoteTable,
    wanted: Ints,
    features: Features,
    excluded: NDArray[np.bool_],
    ridge: float | str,
    seed: int,
    cross_fits: CrossFits | None = None,
) -> Floats:
    """Return, for each wanted vote, the probability that the first arm wins.

    It is predicted by a fit to decided votes without those of the vote's rater.

    Undecided votes are excluded from the fit: among decided ones its predictions are right however raters use ties.
    """
    fold = _dealt(len(log.raters), seed)
    counts = bool(excluded.any()) or bool((log.kind != NORMAL).any())
    teaching = log.decided
    if counts:
        teaching &= (log.kind == NORMAL) & ~np.append(excluded, False)[log.rater]
    pairs = _ByFold(log, np.flatnonzero(teaching), fold)
    chances = np.full(len(wanted), 0.5)
    mine, first, second = fold[log.rater[wanted]], log.first[wanted], log.second[wanted]
    cross_fits = {} if cross_fits is None else cross_fits
    posterior = None
    for k in np.flatnonzero(np.bincount(mine)).tolist():
        out = np.flatnonzero(mine == k)
        posterior = fit_utilities(pairs.without(k), features, ridge, seed, cross_fits.get(k, posterior), _PRECISION)
        cross_fits[k] = posterior
        chances[out] = posterior.decided_chances(first[out], second[out])
    return chances


def _dealt(n_raters: int, seed: int) -> Ints:
    """Return a group per rater, every ten raters spread over the groups.

    The last group is for votes of unknown raters.

    Later raters do not change earlier groups, so that the next fit of a group starts where its last one ended.
    """
    tens = -(-n_raters // FOLDS)
    groups = np.random.default_rng(seed).permuted(np.tile(np.arange(FOLDS), (tens, 1)), axis=1)
    return np.append(groups.ravel()[:n_raters], FOLDS)


class _ByFold:
    """Decided votes by pair and by group of raters, counted once for all fits."""

    def __init__(self, log: VoteTable, chosen: Ints, fold: Ints) -> None:
        first, second = log.first[chosen].astype(np.int64), log.second[chosen].astype(np.int64)
        self.n_arms = log.n_arms
        key = np.minimum(first, second) * log.n_arms + np.maximum(first, second)
        self.pair, where = numbered(key, log.n_arms**2)
        cell = where * (FOLDS + 1) + fold[log.rater[chosen]]
        won = (log.outcome[chosen] == FIRST) == (first < second)
        shape = (len(self.pair), FOLDS + 1)
        self.total = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        self.wins = np.bincount(cell, won, shape[0] * shape[1]).reshape(shape)
        self.of_all = self.total.sum(axis=1), self.wins.sum(axis=1)

    def without(self, fold: int) -> Votes:
        total, wins = (every - own[:, fold] for every, own in zip(self.of_all, (self.total, self.wins), strict=True))
        kept = np.flatnonzero(total)
        low, high = np.divmod(self.pair[kept], self.n_arms)
        counts = np.stack([wins[kept], total[kept] - wins[kept]], axis=1)
        return Votes(self.n_arms, np.stack([low, high], axis=1), counts)


class HeldOut:
    """Fits to parts of a log, one after the other, with the raters' own parameters where raters differ.

    Each starts from the one before.
    """

    def __init__(self, log: VoteTable, features: Features, ridge: float | str = 1.0, seed: int = 0) -> None:
        self._log, self._features, self._ridge, self._seed = log, features, ridge, seed
        single = vote_counts(log)
        self._before: Posterior = fit_utilities(single.pooled(), features, ridge, seed)
        self._raters: RaterEffects | None = with_raters(self._before, single, clusters=False, seed=seed).raters

    def chances(self, taught: NDArray[np.bool_], out: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the probabilities that the first wins and of a tie for the votes `out`, from a fit to those in `taught`.

        Whether raters differ is tested on all votes, once.
        """
        log, held = self._log.of(taught), self._log.of(out)
        self._before = found = fit_utilities(counted(log), self._features, self._ridge, self._seed, self._before)
        if self._raters is not None:
            found = estimated_raters(replace(found, raters=self._raters), vote_counts(log), self._seed)
            self._raters = found.raters
        return chances_by_rater(found, held.first, held.second, held.rater)
