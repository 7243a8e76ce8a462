"""How raters differ from the crowd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelist.core.arrays import Floats
from duelist.model.votes import Votes


@dataclass(frozen=True)
class RaterModel:
    """What votes say about their raters beside the utilities.

    `side` gives the item that is shown first an advantage, in log-odds, which is estimated and reported as the first
    covariate. Votes must then keep the order in which items were shown.
    """

    side: bool = False

    def observed(self, votes: Votes) -> Votes:
        """Return the votes with the covariates of this model."""
        if not self.side:
            return votes
        ones = np.ones((len(votes.items), 1))
        covariates: Floats = ones if votes.covariates is None else np.hstack([ones, votes.covariates])
        return Votes(votes.n_items, votes.items, votes.counts, covariates, votes.clusters)
