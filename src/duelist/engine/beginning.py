"""What a native policy starts from, and what it hands out in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelist.arrays import Floats, Ints
from duelist.domain import Duel


class Beginning(NamedTuple):
    """What a state starts from, learned from the first arms."""

    ridge: float
    """Of the estimate, in multiples of `sizes`."""
    prior: float
    """Precision before the first duel, in the same multiples."""
    kappa: float = 1.0
    """Smallest slope of the link."""
    units: float = 1.0
    """Squared size of a feature."""
    bound: float = np.inf
    """What |theta| is kept within by the one-pass estimator."""
    sizes: Floats | None = None
    """Squared size of each feature, 0 where the first arms do not tell; it follows what is learned. None: 1 for good."""


@dataclass(frozen=True)
class Batch:
    """Duels in contexts, as pairs (context, duel).

    `contexts` are positions in the arms that were given: all in order, or the k chosen ones, the first
    chosen first. `information` is what each duel adds, log(1 + w^2 |x - y|^2), to those before it where k was
    given, on its own otherwise; 0 where the policy would learn nothing. (`RewardDesign` has the slope of the link in the place of w^2.)
    """

    contexts: Ints
    duels: list[Duel]
    information: Floats

    def __iter__(self) -> Iterator[tuple[int, Duel]]:
        return iter(zip(self.contexts.tolist(), self.duels, strict=True))

    def __len__(self) -> int:
        return len(self.duels)
