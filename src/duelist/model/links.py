"""Link functions: the probability of winning as a function of the difference of utilities.

For a duel with difference z = x - y and parameter theta, v = z . theta and

    P(first arm wins) = mu(v),    mu increasing,    mu(v) + mu(-v) = 1.

`mean` is mu, `slope` its derivative mu', and `potential` the antiderivative M with M' = mu that tends to 0 at minus
infinity. The regularised estimate of every policy minimises lambda/2 |theta|^2 + sum W M(z . theta) - O z . theta.

The functions are computed by the engine (`native/model/links.hpp`); to add a link, add its type there and its object
here. `duelist.testing.LinkContract` tests the convention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from duelist import native
from duelist.core.arrays import C_ORDER, Floats
from duelist.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Link:
    """A symmetric link function, identified by its name: logistic, probit or exponential.

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


def get_link(link: str | Link) -> Link:
    """Return the link with that name, or the link itself.

    >>> get_link("probit").description
    'mu(v) = Phi(v): Thurstone-Mosteller'
    """
    if isinstance(link, Link):
        return link
    if not isinstance(link, str) or link not in LINKS:
        raise InvalidInput(f"link is {link!r}.", f"Choose one of {', '.join(LINKS)}.", field="link")
    return LINKS[link]
