"""Fit a scorer: predict the utility of new arms from features."""

from __future__ import annotations

import numpy as np

from duelist.core.errors import InvalidInput
from duelist.model.fit import fit_scorer
from duelist.model.scorer import Scorer
from duelist.study.analysis.fit.utilities import Features, WithArmEffects
from duelist.study.analysis.fit.votes import VoteTable, counted, wins


def scorer_from_votes(log: VoteTable, features: Features, source: str = "") -> Scorer:
    """Fit Bradley and Terry's model over features, with the ridge of highest evidence.

    A tie counts as half a win for each arm.

    The centre is the mean of the arms: an average one has score 0.
    """
    given = features.features if isinstance(features, WithArmEffects) else features
    if given is None:
        raise InvalidInput(
            "A scorer needs features, and these arms have none.",
            "Add arms with features, or take the leaderboard's utilities.",
        )
    pairs = counted(log)
    if not len(pairs.items):
        raise InvalidInput("A scorer needs votes, and there are none between these arms yet.", "Ask some first.")
    x, mass = np.asarray(given, np.float64), pairs.counts.sum(axis=1)
    return fit_scorer(
        x[pairs.items[:, 0]] - x[pairs.items[:, 1]],
        np.clip(wins(pairs) / mass, 0.0, 1.0),
        mass,
        centre=x.mean(axis=0),
        votes=pairs.total,
        source=source,
    )
