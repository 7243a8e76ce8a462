"""The links: the chance that one arm beats another, given the difference of their utilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def link_mean(link: str, v: Any) -> Any:
    """mu(v), the probability that the first arm wins if its utility is higher by v."""
    if link == "logistic":
        return special.expit(v)
    if link == "probit":
        return special.ndtr(v)
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(np.asarray(v) < 0.0, tail, 1.0 - tail)


def link_slope(link: str, v: Any) -> Any:
    """mu'(v)"""
    if link == "logistic":
        return special.expit(v) * special.expit(-np.asarray(v))
    if link == "probit":
        return np.exp(-0.5 * np.square(v)) / math.sqrt(2.0 * math.pi)
    return 0.5 * np.exp(-np.abs(v))


def smoothed_slope(link: str, gap: Floats, width: Floats) -> Floats:
    """mu' of the gap, or of 8 gap / width where the width exceeds 8."""
    return np.asarray(link_slope(link, gap * 8.0 / np.maximum(width, 8.0)))


def link_potential(link: str, v: Any) -> Any:
    """M(v) with M' = mu"""
    if link == "logistic":
        return np.logaddexp(0.0, v)
    if link == "probit":
        return v * special.ndtr(v) + link_slope(link, v)
    return np.maximum(v, 0.0) + 0.5 * np.exp(-np.abs(v))
