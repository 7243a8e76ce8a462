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
    if nu := ties_of(link):
        win, tie, _ = win_tie_loss(nu, v)
        return np.where(np.asarray(v) == 0.0, 0.5, win + tie / 2.0)
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(np.asarray(v) < 0.0, tail, 1.0 - tail)


def link_slope(link: str, v: Any) -> Any:
    """mu'(v)"""
    if link == "logistic":
        return special.expit(v) * special.expit(-np.asarray(v))
    if link == "probit":
        return np.exp(-0.5 * np.square(v)) / math.sqrt(2.0 * math.pi)
    if nu := ties_of(link):  # (win - loss) / 2 has the variance of the outcome as its slope
        win, _, loss = win_tie_loss(nu, v)
        return (win + loss - np.square(win - loss)) / 4.0
    return 0.5 * np.exp(-np.abs(v))


def ties_of(link: str) -> float:
    """nu of the link "davidson(nu)"; 0 for any other."""
    return float(link[len("davidson(") : -1]) if link.startswith("davidson(") else 0.0


def win_tie_loss(nu: float, v: Any) -> tuple[Any, Any, Any]:
    """The chances that the first wins, of a tie, and that the second wins (Davidson 1970)."""
    half = 0.5 * np.asarray(v)
    largest = np.abs(half)
    win, tie, loss = np.exp(half - largest), nu * np.exp(-largest), np.exp(-half - largest)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def smoothed_slope(link: str, gap: Floats, width: Floats) -> Floats:
    """mu' of the gap, or of 8 gap / width where the width exceeds 8."""
    return np.asarray(link_slope(link, gap * 8.0 / np.maximum(width, 8.0)))


def link_potential(link: str, v: Any) -> Any:
    """M(v) with M' = mu"""
    if link == "logistic":
        return np.logaddexp(0.0, v)
    if link == "probit":
        return v * special.ndtr(v) + link_slope(link, v)
    if nu := ties_of(link):
        return 0.5 * np.asarray(v) + np.logaddexp(np.logaddexp(0.5 * np.asarray(v), -0.5 * np.asarray(v)), math.log(nu))
    return np.maximum(v, 0.0) + 0.5 * np.exp(-np.abs(v))
