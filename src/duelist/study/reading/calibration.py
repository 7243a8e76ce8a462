"""Whether predicted chances are what happens: votes that the fit has not seen, by predicted chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.errors import InvalidInput
from duelist.study.reading._battles import Battles, battles, counted
from duelist.study.reading._posterior import fit_utilities
from duelist.study.reading._text import binomial_interval, check_level, percent, table
from duelist.study.records import Vote

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Votes whose predicted chance that the first wins lies between `start` and `stop`."""

    start: float
    stop: float
    predicted: float
    """Mean predicted chance."""
    observed: float
    """Share that the first won; ties count half."""
    low: float
    high: float
    votes: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted against observed; bins without votes are not there. Intervals hold with probability `level` each."""

    bins: tuple[Bin, ...]
    level: float
    folds: int
    votes: int
    error: float
    """Mean over votes of |predicted - observed| of their bin (expected calibration error)."""
    log_loss: float
    """Mean over votes of -share log(p) - (1 - share) log(1 - p); log 2 = 0.693 is what guessing has."""

    def __str__(self) -> str:
        rows = [
            (
                f"{each.start:.1f} to {each.stop:.1f}",
                f"{each.predicted:.3f}",
                f"{each.observed:.3f}",
                f"{each.low:.3f} to {each.high:.3f}",
                str(each.votes),
            )
            for each in self.bins
        ]
        head = table(("bin", "predicted", "observed", f"{percent(self.level)} interval", "votes"), rows)
        return f"{head}\ncalibration error {self.error:.3f}, log loss {self.log_loss:.3f}, {self.votes} votes"


def calibration(
    votes: Sequence[Vote],
    arms: Sequence[str],
    features: ArrayLike | None = None,
    *,
    bins: int = 10,
    folds: int = 5,
    ridge: float = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """Predict each vote from a fit to the other folds, and compare with what was voted.

    Folds are random (by `seed`). Predictions are averaged over what the fit does not know (`Posterior.chances`).
    """
    for name, value, least in (("bins", bins, 1), ("folds", folds, 2)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidInput(f"{name} is {value!r}; give a whole number of at least {least}")
    check_level(level)
    met = battles(votes, arms)
    predicted = _predicted(met, features, folds, ridge, seed)
    where = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    found = tuple(_bin(k, bins, predicted[where == k], met.share[where == k], level) for k in np.unique(where))
    total = max(len(predicted), 1)
    error = sum(each.votes * abs(each.predicted - each.observed) for each in found) / total
    loss = -float((met.share * np.log(predicted) + (1.0 - met.share) * np.log1p(-predicted)).sum()) / total
    return Calibration(found, level, folds, len(predicted), error, loss)


def _predicted(met: Battles, features: ArrayLike | None, folds: int, ridge: float, seed: int) -> Floats:
    """The chance that the first wins, for each vote from a fit that has not seen it."""
    fold = np.random.default_rng(seed).permutation(len(met.share)) % folds
    predicted = np.empty(len(met.share))
    for k in range(folds):
        out = fold == k
        posterior = fit_utilities(counted(met.of(~out)), features, ridge, seed)
        predicted[out] = posterior.chances(met.first[out], met.second[out])
    tiny = np.finfo(np.float64).eps  # a chance of exactly 0 or 1 is rounding, and has no logarithm
    return np.clip(predicted, tiny, 1.0 - tiny)


def _bin(k: int, bins: int, predicted: Floats, share: Floats, level: float) -> Bin:
    low, high = binomial_interval(float(share.sum()), len(share), level)
    return Bin(k / bins, (k + 1) / bins, float(predicted.mean()), float(share.mean()), low, high, len(share))
