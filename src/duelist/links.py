"""Link functions: how a difference of utilities becomes a chance of winning.

Convention. For a duel with difference z = x - y and parameter theta, v = z . theta and

    P(first arm wins) = mu(v),    mu increasing,    mu(v) + mu(-v) = 1.

`mean` is mu, `slope` its derivative mu', `potential` an antiderivative M with M' = mu that
tends to 0 at minus infinity. The regularised estimate of every policy minimises
lambda/2 |theta|^2 + sum W M(z . theta) - O z . theta, so M is all a new link has to add.

Every function below takes the link's integer code first, so that compiled code can carry a
link as a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.compiled import compiled, compiled_apart
from duelist.errors import InvalidInput

LOGISTIC: Final = 0
PROBIT: Final = 1
EXPONENTIAL: Final = 2

_SQRT_HALF: Final = math.sqrt(0.5)
_INV_SQRT_2PI: Final = 1.0 / math.sqrt(2.0 * math.pi)


@compiled
def mean(code: int, v: float) -> float:
    """mu(v). Only exponentials of non-positive numbers are taken, so nothing overflows."""
    if code == LOGISTIC:
        e = math.exp(-abs(v))
        return 1.0 / (1.0 + e) if v >= 0.0 else e / (1.0 + e)
    if code == PROBIT:
        return 0.5 * math.erfc(-v * _SQRT_HALF)
    half = 0.5 * math.exp(-abs(v))
    return 1.0 - half if v >= 0.0 else half


@compiled
def slope(code: int, v: float) -> float:
    """mu'(v), the variance of the outcome for the logistic link."""
    if code == LOGISTIC:
        e = math.exp(-abs(v))
        return e / ((1.0 + e) * (1.0 + e))
    if code == PROBIT:
        return _INV_SQRT_2PI * math.exp(-0.5 * v * v)
    return 0.5 * math.exp(-abs(v))


@compiled_apart
def potential(code: int, v: float) -> float:
    """M(v) with M' = mu: log(1 + e^v), v Phi(v) + phi(v), or the exponential link's own."""
    if code == LOGISTIC:
        return max(v, 0.0) + math.log1p(math.exp(-abs(v)))
    if code == PROBIT:
        return v * mean(PROBIT, v) + slope(PROBIT, v)
    return max(v, 0.0) + 0.5 * math.exp(-abs(v))


@compiled
def mean_of(code: int, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """mu of every entry of a flat array."""
    for i in range(values.size):
        out[i] = mean(code, values[i])


@compiled
def slope_of(code: int, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """mu' of every entry of a flat array."""
    for i in range(values.size):
        out[i] = slope(code, values[i])


@compiled
def potential_of(code: int, values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """M of every entry of a flat array."""
    for i in range(values.size):
        out[i] = potential(code, values[i])


def _map(function: Any, code: int, v: ArrayLike) -> NDArray[np.float64]:
    values = np.ascontiguousarray(v, dtype=np.float64)
    out = np.empty(values.size)
    function(code, values.reshape(-1), out)
    return out.reshape(np.shape(v))


@dataclass(frozen=True, slots=True)
class Link:
    """A symmetric link. Use the ready ones: `logistic`, `probit`, `exponential`.

    >>> link = get_link("logistic")
    >>> float(link.mean(0.0))
    0.5
    >>> link.max_slope
    0.25
    """

    name: str
    code: int
    max_slope: float
    """L_mu, the largest slope, reached at 0."""

    def mean(self, v: ArrayLike) -> NDArray[np.float64]:
        """Chance mu(v) that the first arm wins."""
        return _map(mean_of, self.code, v)

    def slope(self, v: ArrayLike) -> NDArray[np.float64]:
        """Derivative mu'(v)."""
        return _map(slope_of, self.code, v)

    def potential(self, v: ArrayLike) -> NDArray[np.float64]:
        """Antiderivative M(v)."""
        return _map(potential_of, self.code, v)

    def min_slope(self, largest: float) -> float:
        """kappa_mu, the smallest slope on |v| <= `largest`; zero once it underflows.

        All three slopes fall with |v|, so it is the slope at the end of the range.
        """
        if not largest >= 0.0:
            raise InvalidInput(f"largest |v| is {largest!r}; give a number >= 0")
        return float(self.slope(largest))

    def draw(self, v: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Outcomes (1.0 first won, 0.0 second won) drawn with chance mu(v)."""
        p = self.mean(v)
        return (rng.random(p.shape) < p).astype(np.float64)


class Logistic(Link):
    """mu(v) = 1/(1 + e^-v): Bradley-Terry-Luce."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("logistic", LOGISTIC, 0.25)


class Probit(Link):
    """mu(v) = Phi(v): Thurstone-Mosteller."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("probit", PROBIT, _INV_SQRT_2PI)


class Exponential(Link):
    """mu(v) = e^v / 2 below zero, 1 - e^-v / 2 above: exponential noise."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("exponential", EXPONENTIAL, 0.5)


LINKS: Final[dict[str, Link]] = {link.name: link for link in (Logistic(), Probit(), Exponential())}


def get_link(link: str | Link) -> Link:
    """The link of that name, or the link itself.

    >>> get_link("probit")
    Probit(name='probit', code=1, max_slope=0.3989422804014327)
    """
    if isinstance(link, Link):
        return link
    if not isinstance(link, str) or link not in LINKS:
        raise InvalidInput(f"link is {link!r}; choose one of {', '.join(LINKS)}")
    return LINKS[link]
