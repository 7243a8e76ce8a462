"""The stopping decision of a native policy: `recommend` and `decided_arm`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.misfit import (
    MAX_TESTED_ARMS,
    MISFIT_LEVEL,
    SIZES,
    PairCounts,
    PairVotes,
    VotesUnavailable,
    fit_effect_sizes,
    match_votes,
    misfit_p_value,
    spans_all_utilities,
)
from duelist.model.stopping import (
    LinearPosterior,
    Mixture,
    Recommendation,
    check_delta,
    decided_arm,
    recommend,
    utility_tolerance,
)
from duelist.policies.base import Choice
from duelist.policies.engine.feature_scale import (
    DecisionScale,
    decision_scale,
    differences_without_outliers,
    with_outlier_effects,
)
from duelist.policies.engine.pooled_fit import fit_rows, link_of_rows, pooled_posterior, vote_rows

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy

ASKING_DELTA: Final = 0.05
"""Error rate at which a policy that looks for the best arm begins to ask with arm effects; that of `recommend` by default."""
_CLEAR_MISFIT: Final = 0.01
"""P-value below which the advice says that the features do not explain the votes."""
_NO_VOTES: Final = "there are no votes yet"
_NOT_YET: Final = "the features alone decide, and votes on the arms themselves do not yet"
_FOREIGN_SCALE: Final = "the scale of a feature comes from arms unlike these"
_UNDECIDABLE: Final = (
    "estimator='online' has learned with that scale and cannot decide: ask a new policy without such arms, or one with "
    "estimator='exact'"
)


class DecisionInput(NamedTuple):
    """Arms and posterior for the stopping rule, with arm effects where features alone would decide or do not explain the votes."""

    arms: Floats
    posterior: LinearPosterior | Mixture
    warning: str
    """Anomalies of the votes or the arms; empty without any."""
    untested: str
    """Why the misfit test could not be made; empty if it was."""
    undecidable: bool = False
    """Whether no posterior could rule out an arm."""
    confirming: bool = False
    """Whether features alone decide and explain the votes, so that arm effects are there to confirm the decision."""


class _ByFeatures(NamedTuple):
    """What features alone say of arms with known votes."""

    arms: Floats
    posterior: LinearPosterior
    exact: LinearPosterior
    """The exact fit; `posterior` may be that of the one-pass estimator."""
    link: str
    """The link of the exact fit."""


def recommend_arm(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> Recommendation:
    """Return the stopping decision about these arms, with advice."""
    delta, tolerance_in_utility = check_delta(delta), utility_tolerance(*tolerance, policy.link)
    given = decision_input(policy, arms, effects, delta, tolerance_in_utility)
    found = recommend(given.arms, given.posterior, delta, tolerance_in_utility, rules_out=not given.undecidable)
    warning = given.warning
    if given.confirming and not found.decided:
        warning = "; ".join(filter(None, (warning, _not_yet(policy))))
    if given.untested and effects is None and found.decided:
        warning = "; ".join(filter(None, (warning, _untested(arms, given.untested))))
    return replace(found, tolerance_given=tolerance, advice=advice(policy, found, warning))


def decided_arm_of(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> int | None:
    """Return the arm that `recommend_arm` decides for, or None while undecided."""
    delta, tolerance_in_utility = check_delta(delta), utility_tolerance(*tolerance, policy.link)
    given = decision_input(policy, arms, effects, delta, tolerance_in_utility)
    if given.undecidable and len(arms) > 1:
        return None
    return decided_arm(given.arms, given.posterior, delta, tolerance_in_utility)


def check_effects(effects: object) -> None:
    """Check that `effects` is True, False or None."""
    if effects is not None and not isinstance(effects, bool):
        raise InvalidInput(
            f"effects is {effects!r}.",
            "Give True or False, or leave it out to let the votes decide.",
            field="effects",
        )


def pair_with_effects(
    policy: FittedPolicy, arms: Floats, exclude: Collection[tuple[int, int]], seed: int
) -> Choice | None:
    """Return the pair to ask by arm effects, once features alone decide; None before, or if votes are not known by arm."""
    votes = _votes_on(policy, arms)
    if len(arms) == 1 or isinstance(votes, VotesUnavailable):
        return None
    alone = _by_features(policy, arms, votes)
    if spans_all_utilities(arms) or decided_arm(alone.arms, alone.posterior, ASKING_DELTA) is None:
        return None
    table = ArmTable(len(arms), arms)
    pending = [
        (table[[first, second]], 0, share)
        for _, first, second, _, share, compared in policy._player.pending()
        if max(first, second) < len(arms) and np.array_equal(arms[[first, second]], compared)
    ]
    return policy.with_arm_effects(arms).suggest(table, pending, seed=seed, exclude=exclude)


def decision_input(
    policy: FittedPolicy, arms: Floats, effects: bool | None, delta: float, tolerance: float
) -> DecisionInput:
    """Return what the stopping rule is applied to; `tolerance` is in utility."""
    check_effects(effects)
    if policy._player.dim == 0:
        prior = LinearPosterior(np.zeros(arms.shape[1]), np.eye(arms.shape[1]), 1.0)
        return DecisionInput(arms, prior, "", _NO_VOTES, undecidable=True)
    votes, scale = _votes_on(policy, arms), decision_scale(policy, arms)
    if isinstance(votes, VotesUnavailable):
        if effects:
            raise InvalidInput(
                f"effects is True, but {votes.reason}.",
                "Leave effects out, or ask with ArmTable(n, features), which has arm effects.",
            )
        return _input_without_votes(policy, arms, scale, votes.reason)
    alone = _by_features(policy, arms, votes)
    misfit = "" if effects is not None else _misfit_warning(policy, alone, votes)
    confirming = (
        effects is None
        and not misfit
        and not spans_all_utilities(arms)
        and decided_arm(alone.arms, alone.posterior, delta, tolerance) is not None
    )
    if not (effects or misfit or confirming):
        return DecisionInput(alone.arms, alone.posterior, scale.warning, "")
    shares = {size: share for size, share in SIZES.items() if size or not effects}
    mixture = fit_effect_sizes(alone.arms, votes, alone.exact, alone.link, shares)
    warning = "; ".join(filter(None, (scale.warning, misfit)))
    return DecisionInput(alone.arms, mixture, warning, "", confirming=confirming)


def _by_features(policy: FittedPolicy, arms: Floats, votes: PairVotes) -> _ByFeatures:
    scale = decision_scale(policy, arms)
    shown, ridge = with_outlier_effects(arms, scale)
    rows = shown[votes.first] - shown[votes.second], votes.mass, votes.wins
    link = link_of_rows(*rows, policy, ridge)
    exact = fit_rows(*rows, policy, ridge, link)
    return _ByFeatures(
        shown, _as_learned(policy, scale) if policy.online_ and not scale.differs else exact, exact, link
    )


def _input_without_votes(policy: FittedPolicy, arms: Floats, scale: DecisionScale, reason: str) -> DecisionInput:
    """Return the input if votes are not known by arm: from differences, or from what the one-pass estimator kept.

    An outlier then has a separate feature without any votes, so it stays open.
    """
    if not scale.differs:
        return DecisionInput(arms, _as_learned(policy, scale), "", reason)
    warning = scale.warning or _FOREIGN_SCALE
    if policy.online_:
        return DecisionInput(arms, _as_learned(policy, scale), f"{warning}; {_UNDECIDABLE}", reason, undecidable=True)
    z, mass, wins = vote_rows(policy._fitted().state.arrays())
    usual = differences_without_outliers(z, arms, scale)
    shown, ridge = with_outlier_effects(arms, scale)
    rows = np.hstack([z[usual], np.zeros((usual.sum(), shown.shape[1] - z.shape[1]))])
    return DecisionInput(shown, fit_rows(rows, mass[usual], wins[usual], policy, ridge), warning, reason)


def _as_learned(policy: FittedPolicy, scale: DecisionScale) -> LinearPosterior:
    """Return the policy's posterior, in the scale it has learned with; features without one have that among the arms."""
    if not policy.online_:
        return fit_rows(*vote_rows(policy._fitted().state.arrays()), policy, scale.ridge)
    pooled = pooled_posterior(policy)
    curvature = pooled.curvature + np.diag(scale.ridge - pooled.ridge)  # they differ where H is the ridge alone
    return LinearPosterior(pooled.theta, curvature, scale.ridge, pooled.votes)


def _votes_on(policy: FittedPolicy, arms: Floats, max_arms: int = MAX_TESTED_ARMS) -> PairVotes | VotesUnavailable:
    """Return the votes on pairs of these arms, if the policy has counted them."""
    counts = policy._fitted().pair_counts()
    if counts is not None:
        return match_votes(arms, PairCounts(**counts), max_arms)
    limit = f"; estimator='online' counts them for up to {native.MAX_COUNTED_PAIRS:,} pairs" if policy.online_ else ""
    return VotesUnavailable(
        f"votes are not known by arm (they were learned as differences, or there are too many pairs{limit})"
    )


def counted_votes(policy: FittedPolicy, arms: Floats) -> PairVotes:
    """Return the votes on pairs of these arms, or raise InvalidInput."""
    if not policy._fitted().learned.any():
        return PairVotes(*(np.empty(0, np.int64),) * 2, *(np.empty(0),) * 2)
    votes = _votes_on(policy, arms, max_arms=len(arms))
    if isinstance(votes, VotesUnavailable):
        raise InvalidInput(
            f"{votes.reason[:1].upper()}{votes.reason[1:]}.",
            "Start a new policy with ArmTable(n, features), and tell it the votes from your log.",
        )
    return votes


def _misfit_warning(policy: FittedPolicy, alone: _ByFeatures, votes: PairVotes) -> str:
    """Return a warning that features do not explain the votes; empty if the misfit test does not say so."""
    p_value = misfit_p_value(alone.arms, votes, alone.exact, alone.link)
    if p_value >= MISFIT_LEVEL:
        return ""
    verb = "do not" if p_value < _CLEAR_MISFIT else "may not"
    hint = "a new policy asked with ArmTable(n, features) has arm effects from the first vote"
    if policy.supports_arm_effects:
        hint = (
            "to ask about these as well, continue with policy.with_arm_effects(arms), which keeps the votes, and "
            "ask it with ArmTable(n, arms)"
        )
    return f"the features {verb} explain the votes (p = {p_value:.2g}), so this decision uses arm effects; {hint}"


def _not_yet(policy: FittedPolicy) -> str:
    """Return what to do where features alone decide and the model with arm effects does not."""
    if policy.asks_with_effects:
        return f"{_NOT_YET}: keep asking"
    return f"{_NOT_YET}: ask more, or give effects=False if nothing but the features can matter"


def _untested(arms: Floats, reason: str) -> str:
    """Return a warning that misfit was not tested; empty if as few arms as features leave nothing to test."""
    if spans_all_utilities(arms):
        return ""
    return (
        f"whether the features explain the votes was not tested: {reason}; if they may not, ask with "
        "ArmTable(n, features), which has arm effects"
    )


def advice(policy: FittedPolicy, found: Recommendation, warning: str = "") -> str:
    """Return the warning, and how to reach a decision."""
    parts = [warning] if warning else []
    if not found.decided and not policy.pure_exploration:
        parts.append(
            f"{type(policy).__name__} asks little about arms that look bad, so a decision may take long or never come: "
            "use BestArmPair to find the best arm, or give a tolerance"
        )
    elif not found.decided and found.votes_expected is None:
        parts.append("if arms are nearly equal, only a tolerance leads to a decision")
    if warning and found.identical:
        parts.append("arms with the same features are treated as one, and may differ")
    return "; ".join(parts)
