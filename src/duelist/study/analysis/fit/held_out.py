"""Predictions for held-out votes by fits to other votes, with the raters' own parameters where raters differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.model.posterior import Posterior
from duelist.model.raters.effects import RaterEffects
from duelist.model.raters.prediction import chances_by_rater
from duelist.study.analysis.fit.flagged_raters import estimated_raters, with_raters
from duelist.study.analysis.fit.utilities import Features, fit_utilities
from duelist.study.analysis.fit.votes import VoteTable, counted, vote_counts


class HeldOut:
    """Fits to parts of a log, one after the other; each starts from the one before."""

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
