"""BestArmPair: the comparison that tells most about the leader and the arm that comes closest to it.

The greedy rule of LinGapE (Xu, Honda, Sugiyama 2018) with the slope of the link (Kazerouni, Wein 2021), for comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from duelist.reference.choosing import Allowed, Choice, best_pair, only
from duelist.reference.estimation import Floats, link_slope
from duelist.reference.policy import Reference


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(Reference):
    """With x = argmax x . theta and its rival y = argmin (x - y) . theta / |x - y|_{H^-1}, the pair with difference z of

    argmax mu'(z . theta) ((x - y)' H^-1 z)^2 / (1 + mu'(z . theta) |z|^2_{H^-1}),

    by which its outcome shrinks |x - y|^2: the two need not meet to be told apart.
    """

    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The most telling pair of different arms."""
        if len(arms) == 1:
            return only((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.refuse()
        u, width = self.look_locally(arms)
        gap, inverse = u[:, None] - u, np.linalg.inv(self.layer(1).curvature)
        lead = np.divide(gap, width, out=np.full_like(gap, np.inf), where=width > 0.0)  # in standard deviations
        slope = link_slope(self.link, gap)

        def lessons(x: int, y: int) -> Floats:
            along = arms @ inverse @ (arms[x] - arms[y])
            return np.asarray(slope * (along[:, None] - along) ** 2 / (1.0 + slope * width**2))

        x = int(np.argmax(u))
        y = int(np.argmin(lead[x]))
        if lead[x, y] == np.inf:  # no arm differs from the leader
            return only(pairs[0])
        values = lessons(x, y) if gap.any() else width  # nobody leads before the first vote: then the widest pair

        def shortfall(i: int, j: int) -> float:
            """Leader, rival, and whether anybody leads, may be near ties too: the least over all ways to see it."""
            ways = [(gap.max(), width)]
            for x, y in np.argwhere(width > 0.0):
                ways.append((max(gap[:, x].max(), lead[x, y] - lead[x].min()), lessons(x, y)))
            return min(max(missed, best_pair(seen, pairs).shortfall(i, j)) for missed, seen in ways)

        return replace(best_pair(values, pairs), shortfall=shortfall)
