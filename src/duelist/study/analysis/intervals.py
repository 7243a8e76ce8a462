"""Confidence levels and binomial intervals."""

from __future__ import annotations

from scipy.special import betaincinv, ndtri

from duelist.core.errors import InvalidInput


def check_level(level: float) -> float:
    """Return a confidence level as a float strictly between 0 and 1."""
    if not (isinstance(level, (int, float)) and 0.0 < level < 1.0):
        raise InvalidInput(f"level is {level!r}.", "Give a number between 0 and 1, such as 0.95.", field="level")
    return float(level)


def two_sided(level: float) -> float:
    """Return the number of standard deviations that hold this much of a normal distribution."""
    return float(ndtri(0.5 + check_level(level) / 2.0))


def binomial_interval(successes: float, n: float, level: float) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson (1934) for a share; conservative if ties count half.

    >>> low, high = binomial_interval(0, 10, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1.0 - check_level(level)) / 2.0
    low = float(betaincinv(successes, n - successes + 1.0, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1.0, n - successes, 1.0 - tail)) if successes < n else 1.0
    return low, high
