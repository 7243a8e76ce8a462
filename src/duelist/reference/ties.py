"""Davidson's parameter nu of ties, estimated from the votes that a policy learns.

With ties the first arm wins, ties, or loses with probability proportional to e^(v/2), nu and e^(-v/2), v the difference of
utilities. The estimate makes the number of ties expected, where one vote on equal arms, half a tie, is added:

    ties + 1/2 = nu (sum over votes of W / (2 cosh(v/2) + nu) + 1 / (2 + nu)).

It is found again when the votes have grown by a tenth, from the first tie on; before that, nu = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import optimize

from duelist.reference.links import Floats

LARGEST_NU: Final = 4.0
"""Two ties in three votes on equal arms."""


def exposure(margins: Floats, nu: float) -> Floats:
    """1 / (2 cosh(v/2) + nu): the chance of a tie, divided by nu."""
    return np.asarray(1.0 / (2.0 * np.cosh(np.minimum(np.abs(margins), 1400.0) / 2.0) + nu))


class TieParameter:
    """Counts of votes and ties."""

    def __init__(self) -> None:
        self.ties, self.votes, self.next = 0.0, 0.0, 0.0
        self.nu = 0.0
        self.exposure = 0.0
        """The sum of one-pass estimators, each vote at the estimate when it was learned."""

    @property
    def link(self) -> str:
        """The name of the link."""
        return f"davidson({self.nu!r})" if self.nu else "logistic"

    def add_exposure(self, margin: float, weight: float) -> None:
        """Add a vote to the sum of a one-pass estimator."""
        self.exposure += weight * float(exposure(np.array(margin), self.nu))

    def count(self, tie: bool, weight: float) -> bool:
        """Count a vote; return whether nu is to be estimated again."""
        self.votes += weight
        self.ties += weight * tie
        if self.ties == 0.0 or self.votes < self.next:
            return False
        self.next = 1.1 * self.votes
        return True

    def estimate(self, exposure_at: Callable[[float], float]) -> None:
        """Solve for nu."""

        def excess(nu: float) -> float:
            return nu * (exposure_at(nu) + 1.0 / (2.0 + nu)) - self.ties - 0.5

        at_most = excess(LARGEST_NU) <= 0.0
        self.nu = LARGEST_NU if at_most else float(optimize.brentq(excess, 0.0, LARGEST_NU, xtol=1e-300, rtol=1e-15))
