"""BestArmPair: the comparison that tells most about the leader and its strongest rival.

Leader and rival of a top-two rule (EB-TCI: Jourdan et al. 2022), and the comparison that tells most about the two, as in
LinGapE (Xu, Honda, Sugiyama 2018), with the slope of the link (Kazerouni, Wein 2021).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from duelist.reference.base import Reference
from duelist.reference.fit import Floats, slope_in_doubt
from duelist.reference.pair_choice import Allowed, Choice, best_pair, only


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(Reference):
    """With x = argmax x . theta and, for its gap g and its width w to x, the rival y = argmin g^2 / w^2 - 3 log w^2, the pair of

    argmax mu'(z . theta) ((x - y)' H^-1 z)^2 / (1 + mu'(z . theta) |z|^2_{H^-1}),

    z being its difference: by so much its outcome shrinks w^2. The two need not meet to be told apart. Where |z|_{H^-1} > 8, mu' is that of
    z . theta in parts of it, 8 z . theta / |z|_{H^-1}.
    """

    ridge_reference_dim: ClassVar[float] = 5.0

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The most telling pair of different arms."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.refuse()
        u, width = self.look_locally(arms)
        gap, inverse = u[:, None] - u, np.linalg.inv(self.layer(1).curvature)
        cost = costs(gap, width)
        slope = slope_in_doubt(self.link, gap, width)

        def lessons(x: int, y: int) -> Floats:
            along = arms @ inverse @ (arms[x] - arms[y])
            return np.asarray(slope * (along[:, None] - along) ** 2 / (1.0 + slope * width**2))

        x = int(np.argmax(u))
        y = int(np.argmin(cost[x]))
        if cost[x, y] == np.inf:  # no arm differs from the leader
            return only(pairs[0])
        values = lessons(x, y) if gap.any() else width  # nobody leads before the first vote: then the widest pair

        def shortfall(i: int, j: int) -> float:
            """Leader, rival, and whether anybody leads, may be near ties too: the least over all ways to see it."""
            ways = [(gap.max(), width)]
            for x, y in np.argwhere(width > 0.0):
                ways.append((max(gap[:, x].max(), cost[x, y] - cost[x].min()), lessons(x, y)))
            return min(max(missed, best_pair(seen, pairs).shortfall(i, j)) for missed, seen in ways)

        return replace(best_pair(values, pairs), shortfall=shortfall)


def costs(gap: Floats, width: Floats) -> Floats:
    """g^2 / w^2 - 3 log w^2: what it takes to rule an arm out, more for one that is known well. inf: the two do not differ."""
    found, apart = np.full_like(gap, np.inf), width > 0.0
    found[apart] = np.square(gap[apart] / width[apart]) - 6.0 * np.log(width[apart])
    return found
