"""The fit of the arms of a study: its features and arm effects as blocks of the model (`duelist.model.vote_fit`).

An arm i beats j with probability p_i / (p_i + p_j + nu sqrt(p_i p_j)), p = exp(u), and the two tie with probability
nu sqrt(p_i p_j) over the same (Davidson 1970); nu is estimated with the utilities u. Without ties nu is 0, which is
the model of Bradley and Terry. In both, a difference d of two utilities means odds exp(d) among votes that are not
ties.

This model is used for any link of the study's policy: the link is the policy's own noise model, and an analysis
should not depend on the policy that asked. If votes follow another link, utilities are those of the closest model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, check_finite
from duelist.core.errors import InvalidInput
from duelist.model.answers import PAIR, PAIR_WITH_TIES
from duelist.model.posterior import Posterior
from duelist.model.utility import Utility, arm_effects, feature_block
from duelist.model.vote_fit import PRECISION, fit
from duelist.model.votes import Votes

AUTO: Final = "auto"


class WithArmEffects(NamedTuple):
    """Features (n_arms, dim), with an arm effect per arm; over the arms both have the same prior variance."""

    features: Floats


Features = ArrayLike | WithArmEffects | None
"""How arms are described: features, features with arm effects, or arm effects alone (None)."""


def fit_utilities(
    votes: Votes,
    features: Features = None,
    ridge: float | str = 1.0,
    seed: int = 0,
    start: Posterior | None = None,
    precision: float = PRECISION,
) -> Posterior:
    """Return the posterior of the utilities of all arms, relative to their mean.

    `ridge` is the prior precision of an arm's utility, of its linear part and of its effect alike; "auto" estimates the
    precision of each, kept near 1 by a prior worth three parameters. docs/evidence/intervals.md says when that is better. `start`
    and `precision` are those of `fit`.
    """
    utility, answer = arm_utility(features, votes.n_items, _check_ridge(ridge)), PAIR_WITH_TIES
    if not votes.by_outcome[2:].any():
        votes, answer = replace(votes, counts=votes.counts[:, :2]), PAIR
    return fit(votes, utility, answer, start=start, precision=precision, seed=seed)


def arm_utility(features: Features, n_arms: int, ridge: float | None) -> Utility:
    """Return the blocks of the utility of arms: features, arm effects, or both."""
    if features is None:
        return Utility((arm_effects(n_arms, ridge),))
    if isinstance(features, WithArmEffects):
        return Utility((feature_block(features.features, n_arms, ridge), arm_effects(n_arms, ridge)))
    # The utilities of n arms with independent effects have the variance 1 - 1/n about their mean.
    return Utility((feature_block(features, n_arms, ridge, 1.0 - 1.0 / max(n_arms, 1)),))


def _check_ridge(ridge: float | str) -> float | None:
    """Return the number, or None if it is to be estimated."""
    if isinstance(ridge, str) and ridge == AUTO:
        return None
    value = check_finite("ridge", ridge, f"a positive finite number, or {AUTO!r}")
    if value.shape != () or not value > 0.0:
        raise InvalidInput(f"ridge is {ridge!r}.", f"Give a positive finite number, or {AUTO!r}.", field="ridge")
    return float(np.asarray(value))
