"""Link functions: the probability of winning as a function of the difference of utilities.

For a duel with difference z = x - y and parameter theta, v = z . theta and

    P(first arm wins) = mu(v),    mu increasing,    mu(v) + mu(-v) = 1.

`mean` is mu, `slope` its derivative mu', and `potential` the antiderivative M with M' = mu that tends to 0 at minus
infinity. The regularised estimate of every policy minimises lambda/2 |theta|^2 + sum W M(z . theta) - O z . theta.

Votes with ties follow `davidson`: then mu(v) = P(first wins) + P(tie) / 2, and M(v) - o v is the negative log-likelihood of an
outcome o, 1/2 for a tie, up to a constant. Policies with the logistic link estimate its parameter from the ties reported to them
(`native/model/tie_parameter.hpp`).

The functions are computed by the engine (`native/model/links.hpp`); to add a link, add its type there and its object
here. `duelist.testing.LinkContract` tests the convention.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from duelist import native
from duelist.core.arrays import C_ORDER, Floats
from duelist.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Link:
    """A symmetric link function, identified by its name: logistic, probit, exponential, or "davidson(nu)".

    >>> link = get_link("logistic")
    >>> float(link.mean(0.0))
    0.5
    >>> link.max_slope
    0.25
    """

    name: str
    description: str
    """Its formula, and the model it belongs to."""

    @property
    def max_slope(self) -> float:
        """L_mu, the largest slope, at 0."""
        return native.max_slope(self.name)

    def mean(self, v: ArrayLike) -> Floats:
        """Return mu(v), the probability that the first arm wins."""
        return self._values("mean", v)

    def slope(self, v: ArrayLike) -> Floats:
        """Return the derivative mu'(v)."""
        return self._values("slope", v)

    def potential(self, v: ArrayLike) -> Floats:
        """Return the antiderivative M(v)."""
        return self._values("potential", v)

    def _values(self, function: str, v: ArrayLike) -> Floats:
        given = np.require(v, np.float64, C_ORDER)
        return native.link_values(self.name, function, given.reshape(-1)).reshape(np.shape(v))

    def min_slope(self, largest: float) -> float:
        """Return kappa_mu, the smallest slope on |v| <= `largest`; close to zero where it underflows.

        Slopes decrease with |v|, so it is the slope at `largest`.
        """
        if not largest >= 0.0:
            raise InvalidInput(f"Largest |v| is {largest!r}.", "Give a number >= 0.")
        return float(self.slope(largest))

    def draw(self, v: ArrayLike, rng: np.random.Generator) -> Floats:
        """Draw outcomes (1.0 first won, 0.0 second won) with probability mu(v)."""
        p = self.mean(v)
        return (rng.random(p.shape) < p).astype(np.float64)


LOGISTIC: Final = Link("logistic", "mu(v) = 1/(1 + e^-v): Bradley-Terry-Luce")
PROBIT: Final = Link("probit", "mu(v) = Phi(v): Thurstone-Mosteller")
EXPONENTIAL: Final = Link("exponential", "mu(v) = e^v / 2 below zero, 1 - e^-v / 2 above: exponential noise")

LINKS: Final[dict[str, Link]] = {link.name: link for link in (LOGISTIC, PROBIT, EXPONENTIAL)}


LARGEST_NU: Final = 4.0
"""Largest parameter of ties: two in three votes on equal arms are ties, and mu is still steepest at 0."""
_DAVIDSON: Final = "davidson("


def get_link(link: str | Link) -> Link:
    """Return the link with that name, or the link itself.

    >>> get_link("probit").description
    'mu(v) = Phi(v): Thurstone-Mosteller'
    """
    if isinstance(link, Link):
        return link
    if isinstance(link, str) and link.startswith(_DAVIDSON):
        return davidson(_parameter(link))
    if not isinstance(link, str) or link not in LINKS:
        raise InvalidInput(f"link is {link!r}.", f"Choose one of {', '.join(LINKS)}.", field="link")
    return LINKS[link]


@lru_cache
def davidson(nu: float) -> Link:
    """Return the logistic link for votes with ties (Davidson 1970); nu / (2 + nu) of the votes on equal arms are ties.

    >>> link = davidson(1.0)
    >>> round(float(link.mean(2.0)), 4), float(link.slope(0.0)) == 0.5 / 3.0
    (0.7876, True)
    """
    if not 0.0 <= nu <= LARGEST_NU:
        raise InvalidInput(f"nu is {nu!r}.", f"Give a number from 0 to {LARGEST_NU:g}.", field="nu")
    if nu == 0.0:
        return LOGISTIC
    return Link(f"{_DAVIDSON}{float(nu)!r})", "mu(v) = P(first wins) + P(tie) / 2: Davidson")


def _parameter(name: str) -> float:
    try:
        return float(name.removeprefix(_DAVIDSON).removesuffix(")"))
    except ValueError:
        raise InvalidInput(f"link is {name!r}.", "Give a number, as in 'davidson(0.5)'.", field="link") from None
