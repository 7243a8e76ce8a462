"""When to stop asking: the one rule behind every reading that says so.

An arm is ruled out when the votes say, at the error rate `delta` over all arms and however often one looks, that it is not as
good as the leader (`duelist.model.stopping` has the rule and why it may be looked at after every vote). The study is done, and its
recommendation decided, when every other arm is ruled out. What is known of the arms comes from the fit with ties that
the leaderboard shows.

Arms without features that no chain of votes connects are never ruled out by one another: the votes say nothing of which is better,
only the prior does.
"""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.model.stopping import StoppingDecision, not_ruled_out

Bools = NDArray[np.bool_]


class StudyRecommendation(StoppingDecision[str]):
    """A verdict on arms by their ids."""

    def _repr_html_(self) -> str:
        """In a notebook: what it says, in words."""
        return f"<div>{escape(str(self))}</div>"


def still_possible(
    gap: Floats, variance: Floats, prior_variance: Floats, connected: Bools, delta: float, tolerance: float = 0.0
) -> Bools:
    """Which arms may still be the best, the leader (the one with gap 0 and variance 0 to itself) among them.

    Parameters
    ----------
    gap
        How far each arm is behind the leader.
    variance
        Of that gap, after the votes.
    prior_variance
        Of that gap, before any vote.
    connected
        Whether the votes, or features, say anything about that gap.
    delta
        The probability that one may err with, over the whole life of the study.
    tolerance
        How much better, in utility, an arm may be that is ruled out.
    """
    return np.asarray(not_ruled_out(gap, variance, prior_variance, delta, tolerance) | ~connected)
