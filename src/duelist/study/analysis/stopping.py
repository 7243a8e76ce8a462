"""The stopping rule of studies.

An arm is ruled out when the votes say, at the error rate `delta` over all arms and valid at any time, that it is not
as good as the leader (`duelist.model.stopping` states the rule and why it may be checked after every vote). The study
is done, and its recommendation decided, when every other arm is ruled out. The posterior comes from the fit with ties
that the leaderboard shows.

Arms without features that no chain of votes connects never rule each other out: only the prior compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.model.stopping import StoppingDecision, not_ruled_out
from duelist.study.analysis.fit.flagged_raters import FlaggedRater

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class StudyRecommendation(StoppingDecision[str]):
    """A stopping decision on arms by their ids."""

    flagged: tuple[FlaggedRater, ...] = ()
    """Careless raters."""
    flagged_note: str = ""
    """Who is flagged and why, and what changes without their votes."""

    def __str__(self) -> str:
        return "; ".join(filter(None, (super().__str__(), self.flagged_note)))

    def _repr_html_(self) -> str:
        """Return the decision as HTML for notebooks."""
        return f"<div>{escape(str(self))}</div>"


def still_possible(
    gap: Floats, variance: Floats, prior_variance: Floats, connected: Bools, delta: float, tolerance: float = 0.0
) -> Bools:
    """Return which arms may still be the best, including the leader (the one with gap 0 and variance 0 to itself).

    Parameters
    ----------
    gap
        How far each arm is behind the leader.
    variance
        Posterior variance of that gap.
    prior_variance
        Prior variance of that gap.
    connected
        Whether votes or features inform that gap.
    delta
        The error probability over the whole life of the study.
    tolerance
        How much better, in utility, a ruled-out arm may be.
    """
    return np.asarray(not_ruled_out(gap, variance, prior_variance, delta, tolerance) | ~connected)
