"""Probabilities of a rater's votes, from a fit of utilities and raters."""

from __future__ import annotations

from typing import Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import NODES, WEIGHTS, Posterior, outcome_chances

_FIRST, _TIE = 0, 2
_REVERSED: Final = 2
"""Position of reversed raters in `duelist.model.raters.effects.KINDS`."""


def chances_by_rater(posterior: Posterior, first: Ints, second: Ints, rater: Ints) -> tuple[Floats, Floats]:
    """Return the probabilities that the first wins and of a tie, if these raters (clusters of votes) are shown a pair.

    Averaged over the posterior of the gap. A rater is attentive with the probability that the fit gives, and otherwise answers at
    random, or for the worse item. Without raters in the fit all are like the crowd.
    """
    effects = posterior.raters
    if effects is None:
        return posterior.chances(first, second)
    place = effects.positions(rater)
    own = {
        name: np.append(getattr(effects, name), crowd)[place][:, None]
        for name, crowd in (("reliability", 1.0), ("side", 0.0), ("ties", 0.0), ("lapse", 0.0), ("attentive", 1.0))
    }
    against = np.append(effects.kinds[:, _REVERSED], 0.0)[place][:, None]
    deviation = np.sqrt(posterior.difference_variance(first, second))
    gap = (posterior.mean[first] - posterior.mean[second])[:, None] + deviation[:, None] * NODES
    nu = 0.0 if posterior.tie is None else np.exp(posterior.tie + own["ties"])
    shares = effects.outcomes
    lapsed = shares[_FIRST], shares[_TIE] if len(shares) > _TIE else 0.0
    meant, worse = outcome_chances(own["reliability"] * gap + own["side"], nu), outcome_chances(-gap, nu)
    win, tie = (
        own["attentive"] * ((1.0 - own["lapse"]) * one + own["lapse"] * by_chance)
        + (1.0 - own["attentive"]) * (against * other + (1.0 - against) * by_chance)
        for one, other, by_chance in zip(meant[:2], worse[:2], lapsed, strict=True)
    )
    return win @ WEIGHTS, tie @ WEIGHTS
