"""Calibration: predicted against observed shares, on held-out votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, columns_of, format_percent
from duelist.study.analysis.fit.cross_validation import HeldOut
from duelist.study.analysis.fit.utilities import Features
from duelist.study.analysis.fit.votes import FIRST, SECOND, TIE, VoteTable, as_vote_table
from duelist.study.analysis.intervals import binomial_interval, check_level
from duelist.study.records import Vote


@dataclass(frozen=True, slots=True)
class Bin:
    """Votes whose predicted share for the first arm, a tie counting half, lies between `start` and `stop`."""

    start: float
    stop: float
    predicted: float
    """Mean predicted share."""
    observed: float
    """Mean share of the first arm: 1 won, 1/2 tied, 0 lost."""
    low: float
    high: float
    votes: int


@dataclass(frozen=True, slots=True, repr=False)
class Calibration(TabularResult):
    """Predicted against observed shares; empty bins are omitted. Each interval holds with probability `level`."""

    bins: tuple[Bin, ...]
    level: float
    folds: int
    votes: int
    error: float
    """Mean over votes of |predicted - observed| of their bin (expected calibration error)."""
    log_loss: float
    """Mean over votes of -log(predicted probability of the outcome: first, second, or tie)."""
    predicted_ties: float = 0.0
    """Share of ties that the fits predict for these votes."""
    observed_ties: float = 0.0

    def _table(self) -> TableContent:
        rows = [
            [
                f"{each.start:.1f} to {each.stop:.1f}",
                f"{each.predicted:.3f}",
                f"{each.observed:.3f}",
                f"{each.low:.3f} to {each.high:.3f}",
                str(each.votes),
            ]
            for each in self.bins
        ]
        notes = [f"calibration error {self.error:.3f}, log loss {self.log_loss:.3f}, {self.votes} votes"]
        if self.observed_ties:
            notes.append(f"ties: {self.predicted_ties:.3f} predicted, {self.observed_ties:.3f} observed")
        return TableContent(
            ["bin", "predicted", "observed", f"{format_percent(self.level)} interval", "votes"], rows, notes
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.bins, [field.name for field in fields(Bin)])


def calibration(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    bins: int = 10,
    folds: int = 5,
    ridge: float | str = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """Predict each vote from a fit to the other folds, and compare with the outcome.

    Folds are random (by `seed`). Predictions are averaged over the posterior, and are those for the rater of the vote if a test
    says that raters differ (`duelist.model.raters.prediction`).
    """
    for name, value, least in (("bins", bins, 1), ("folds", folds, 2)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidInput(f"{name} is {value!r}.", f"Give a whole number of at least {least}.", field=name)
    check_level(level)
    log = as_vote_table(votes, arms).on_arms
    log = log.of(log.teaching)
    win, tie = _predict(log, features, folds, ridge, seed)
    predicted = np.clip(win + 0.5 * tie, 0.0, 1.0)
    share = np.where(log.outcome == TIE, 0.5, log.outcome == FIRST)
    where = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    found = tuple(_bin(k, bins, predicted[where == k], share[where == k], level) for k in np.unique(where))
    total = max(len(predicted), 1)
    error = sum(each.votes * abs(each.predicted - each.observed) for each in found) / total
    of_vote = np.select([log.outcome == FIRST, log.outcome == SECOND], [win, 1.0 - win - tie], tie)
    tiny = np.finfo(np.float64).eps  # an exact 0 is rounding, and has no logarithm
    loss = -float(np.log(np.maximum(of_vote, tiny)).sum()) / total
    tied = float((log.outcome == TIE).sum()) / total
    return Calibration(found, level, folds, len(predicted), error, loss, float(tie.sum()) / total, tied)


def _predict(log: VoteTable, features: Features, folds: int, ridge: float | str, seed: int) -> tuple[Floats, Floats]:
    """Return the probabilities that the first wins and of a tie, for each vote from a fit without it."""
    fold = np.random.default_rng(seed).permutation(len(log)) % folds
    win, tie = np.empty(len(log)), np.empty(len(log))
    fits = HeldOut(log, features, ridge, seed)
    for k in range(folds):
        out = fold == k
        win[out], tie[out] = fits.chances(~out, out)
    return win, tie


def _bin(k: int, bins: int, predicted: Floats, share: Floats, level: float) -> Bin:
    low, high = binomial_interval(float(share.sum()), len(share), level)
    return Bin(k / bins, (k + 1) / bins, float(predicted.mean()), float(share.mean()), low, high, len(share))
