"""The scale of each feature: its typical variance among the arms, in units of which ridge and prior are given."""

from __future__ import annotations

import copy
from typing import Final, Self

import numpy as np

from duelist.reference.links import Floats

CHANGE_FACTOR: Final = 8.0
"""A scale is replaced when the votes suggest one at least this many times larger or smaller."""
OUTLIER_FACTOR: Final = 64.0
"""Variances, or squared differences, this many times the scale are outliers."""
FIRST_WINDOW: Final = 4.0
SECOND_WINDOW: Final = 8.0
MIN_ARMS: Final = 4
MAX_FIRST_VOTES: Final = 64
ROUNDING: Final = 2.0**-40


class FeatureScale:
    """The variance of each feature, by which ridge and prior are multiplied.

    Initially the variance over the first arms. If `adaptive`, it is checked after windows of 4, 8, 16, ... votes. The
    mean over a window of z_k^2 / 2 estimates the variance of the compared arms in feature k. It becomes the scale if it
    is at least CHANGE_FACTOR times the current one, or if even the largest z_k^2 / 2 is less than 1 / CHANGE_FACTOR of
    it and the mean is not 0. If more than half of the features shrink, none shrinks by more than twice the median
    factor. A feature in which no arms have differed is unscaled: it takes its scale from the arms of a later round
    before the first vote, or else from its first difference.

    First arms may be atypical. Until the second window ends, `for_arms` therefore compares the arms of each round with
    the scale. A feature whose variance exceeds OUTLIER_FACTOR times its scale, and whose median squared distance from
    the median exceeds CHANGE_FACTOR times, is rescaled for that round. If at least MIN_ARMS arms have variances under
    1 / OUTLIER_FACTOR of the scale in more than half of the features, all features are, and the first arms were
    atypical; so they were if more than half of the features shrink after the second window. `typical_variance` is the
    scale found then: in the precision, pairs that are outliers relative to it count for less.
    """

    def __init__(self, arms: Floats, *, adaptive: bool) -> None:
        self.adaptive = adaptive
        self.typical_variance: Floats | None = None
        self.first_arms_atypical = False
        """Whether the last change found that the first arms were atypical."""
        self.magnitude = np.abs(arms).max(axis=0)
        """Differences below ROUNDING times this are rounding errors."""
        variances = self._variances(arms)
        self.unscaled = variances == 0.0
        self.variance = np.where(self.unscaled, 1.0, variances) if adaptive else np.ones(arms.shape[1])
        self.window = FIRST_WINDOW
        self.votes: list[tuple[Floats, float]] = []
        """z^2 / 2 and weight of the votes in the current window."""

    @property
    def is_early(self) -> bool:
        """Whether the first arms may still turn out to be atypical."""
        return self.adaptive and self.window <= SECOND_WINDOW

    def observe_arms(self, arms: Floats) -> bool:
        """Scale unscaled features by the arms of a round before the first vote; return whether any was scaled."""
        variances = self._variances(arms)
        new = self.unscaled & (variances > 0.0) & self.adaptive
        self.variance = np.where(new, variances, self.variance)
        self.unscaled = self.unscaled & ~new
        return bool(new.any())

    def observe_vote(self, z: Floats, weight: float) -> bool:
        """Count a vote in the current window before it is learned; return whether the scale has changed."""
        if not self.adaptive:
            return False
        before, self.first_arms_atypical = self.variance, False
        half = 0.5 * z**2
        first = self.unscaled & (np.abs(z) > ROUNDING * self.magnitude) & (half > 0.0)
        self.variance = np.where(first, half, self.variance)
        self.unscaled = self.unscaled & ~first
        left = weight  # a vote of weight 2 equals two votes, so it may end one window and start the next
        while left > 0.0:
            part = min(left, self.window - sum(weight for _, weight in self.votes))
            self.votes.append((half, part))
            left -= part
            if sum(weight for _, weight in self.votes) >= self.window:
                self._end_window()
        return not np.array_equal(before, self.variance)

    def _end_window(self) -> None:
        halves, weights = np.array([half for half, _ in self.votes]), np.array([weight for _, weight in self.votes])
        mean, largest = weights @ halves / weights.sum(), halves.max(axis=0)
        informative = (mean > 0.0) & ~self.unscaled
        grown = informative & (mean >= CHANGE_FACTOR * self.variance)
        shrunk = informative & (CHANGE_FACTOR * largest < self.variance)
        ratios = np.sort((mean / self.variance)[shrunk])
        least = 0.5 * ratios[len(ratios) // 2] if 2 * len(ratios) > (~self.unscaled).sum() else 0.0
        self.variance = np.where(grown, mean, np.where(shrunk, np.maximum(mean, least * self.variance), self.variance))
        if self.window == SECOND_WINDOW and least > 0.0:
            self.typical_variance, self.first_arms_atypical = np.where(self.unscaled, 0.0, self.variance), True
        self.votes, self.window = [], 2.0 * self.window

    def for_arms(self, arms: Floats) -> Self | None:
        """Return the scale for a round with these arms if it differs from the current one."""
        scale = self._for_typical_arms(arms) if self.is_early else None
        new = self.unscaled & (self._variances(arms) > 0.0) & self.adaptive
        if not new.any():
            return scale
        if scale is None:
            scale = copy.copy(self)
            scale.first_arms_atypical = False
        scale.variance = np.where(new, self._variances(arms), scale.variance)
        return scale

    def _for_typical_arms(self, arms: Floats) -> Self | None:
        variances = np.where(self.unscaled, 0.0, self._variances(arms))
        median = np.sort(arms, axis=0)[(len(arms) - 1) // 2]
        spread = np.sort((arms - median) ** 2, axis=0)[len(arms) // 2]
        wider = (variances > OUTLIER_FACTOR * self.variance) & (spread > CHANGE_FACTOR * self.variance)
        narrower = self._are_narrower(variances, len(arms))
        if len(arms) > 256:  # the engine tests a sample of many arms first
            sample = arms[:: -(-len(arms) // 256)]
            sample_variances = np.where(self.unscaled, 0.0, self._variances(sample))
            narrower = narrower and self._are_narrower(sample_variances, len(sample))
        if not wider.any() and not narrower:
            return None
        scale = copy.copy(self)
        scale.first_arms_atypical = narrower
        scale.variance = np.where(wider | (narrower & (variances > 0.0)), variances, self.variance)
        if narrower:
            scale.typical_variance = np.where(self.unscaled, 0.0, scale.variance)
        return scale

    def _are_narrower(self, variances: Floats, n_arms: int) -> bool:
        differ = variances > 0.0
        narrower = differ & (OUTLIER_FACTOR * variances < self.variance)
        return n_arms >= MIN_ARMS and bool(2 * narrower.sum() > differ.sum())

    def outlier_weight(self, z: Floats) -> float:
        """Return the factor of a vote in the precision: 1, or less if most features of z are outliers."""
        if self.typical_variance is None:
            return 1.0
        scaled = self.typical_variance > 0.0
        ratios = np.sort((0.5 * z**2)[scaled] / self.typical_variance[scaled])
        is_outlier = 2 * (ratios > OUTLIER_FACTOR).sum() > len(ratios)
        return 1.0 / float(ratios[(len(ratios) - 1) // 2]) if is_outlier else 1.0

    def _variances(self, arms: Floats) -> Floats:
        """The variance of each feature, exactly 0 where arms differ by rounding errors at most."""
        variances = (arms - arms[0]).var(axis=0)
        rounding = ROUNDING * np.maximum(self.magnitude, np.abs(arms).max(axis=0))
        return np.where(variances > rounding**2, variances, 0.0)
