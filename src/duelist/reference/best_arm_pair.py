"""BestArmPair: the comparison that is most informative about the leader and its strongest rival.

Leader and rival are those of a top-two rule (EB-TCI: Jourdan et al. 2022), the comparison is that of LinGapE (Xu,
Honda,
Sugiyama 2018), with the slope of the link (Kazerouni, Wein 2021).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.links import Floats, smoothed_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, best_pair, fixed_pair


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(Reference):
    """For the leader x = argmax x . theta and its rival y = argmin g^2 / w^2 - 3 log w^2, the pair with difference z
    of

    argmax mu'(z . theta) ((x - y)' H^-1 z)^2 / (1 + mu'(z . theta) |z|^2_{H^-1}),

    where g and w are the gap and the width of x and y. This is how much a vote on z reduces w^2; z need not contain x
    or y.
    If |z|_{H^-1} > 8, mu' is taken at 8 z . theta / |z|_{H^-1}.
    """

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms."""
        if len(arms) == 1:
            return fixed_pair((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.raise_no_pair()
        u, width = self.local_utilities_and_widths(arms)
        gap, inverse = u[:, None] - u, np.linalg.inv(self.layer(1).curvature)
        cost = transport_costs(gap, width)
        slope = smoothed_slope(self.link, gap, width)

        def information_gains(x: int, y: int) -> Floats:
            covariance = arms @ inverse @ (arms[x] - arms[y])
            return np.asarray(slope * (covariance[:, None] - covariance) ** 2 / (1.0 + slope * width**2))

        x = int(np.argmax(u))
        y = int(np.argmin(cost[x]))
        if cost[x, y] == np.inf:  # all arms equal the leader
            return fixed_pair(pairs[0])
        values = information_gains(x, y) if gap.any() else width  # no leader before the first vote: the widest pair

        def shortfall(i: int, j: int) -> float:
            """Leader and rival may themselves be near ties: take the minimum over all of them."""
            alternatives = [(gap.max(), width)]
            for x, y in np.argwhere(width > 0.0):
                alternatives.append((max(gap[:, x].max(), cost[x, y] - cost[x].min()), information_gains(x, y)))
            return min(max(missed, best_pair(values, pairs).shortfall(i, j)) for missed, values in alternatives)

        return replace(best_pair(values, pairs), shortfall=shortfall)


def transport_costs(gap: Floats, width: Floats) -> Floats:
    """g^2 / w^2 - 3 log w^2, the transportation cost of EB-TCI; inf for equal arms."""
    found, apart = np.full_like(gap, np.inf), width > 0.0
    found[apart] = np.square(gap[apart] / width[apart]) - 6.0 * np.log(width[apart])
    return found
