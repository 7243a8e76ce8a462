"""The stopping decision of a native policy: `recommend` and `decided_arm`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.misfit import (
    MAX_TESTED_ARMS,
    MISFIT_LEVEL,
    PairCounts,
    PairVotes,
    VotesUnavailable,
    fit_arm_effects,
    match_votes,
    misfit_p_value,
)
from duelist.model.stopping import (
    LinearPosterior,
    Recommendation,
    check_delta,
    decided_arm,
    recommend,
    utility_tolerance,
)
from duelist.policies.engine.feature_scale import (
    DecisionScale,
    decision_scale,
    differences_without_outliers,
    with_outlier_effects,
)
from duelist.policies.engine.pooled_fit import fit_rows, pooled_posterior, vote_rows

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy

_CLEAR_MISFIT: Final = 0.01
"""P-value below which the advice says that the features do not explain the votes."""
_NO_VOTES: Final = "there are no votes yet"
_FOREIGN_SCALE: Final = "the scale of a feature comes from arms unlike these"
_UNDECIDABLE: Final = (
    "estimator='online' has learned with that scale and cannot decide: ask a new policy without such arms, or one with "
    "estimator='exact'"
)


class DecisionInput(NamedTuple):
    """Arms and posterior for the stopping rule; arms have effects if features do not explain the votes."""

    arms: Floats
    posterior: LinearPosterior
    warning: str
    """Anomalies of the votes or the arms; empty without any."""
    untested: str
    """Why the misfit test could not be made; empty if it was."""
    undecidable: bool = False
    """Whether no posterior could rule out an arm."""


def recommend_arm(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> Recommendation:
    """Return the stopping decision about these arms, with advice."""
    given = _decision_input(policy, arms, effects)
    found = recommend(
        given.arms,
        given.posterior,
        delta,
        utility_tolerance(*tolerance, policy.link),
        rules_out=not given.undecidable,
    )
    warning = given.warning
    if given.untested and effects is None and found.decided:
        warning = "; ".join(filter(None, (warning, _untested(arms, given.untested))))
    return replace(found, tolerance_given=tolerance, advice=advice(policy, found, warning))


def decided_arm_of(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> int | None:
    """Return the arm that `recommend_arm` decides for, or None while undecided."""
    delta, tolerance_in_utility = check_delta(delta), utility_tolerance(*tolerance, policy.link)
    given = _decision_input(policy, arms, effects)
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


def _decision_input(policy: FittedPolicy, arms: Floats, effects: bool | None) -> DecisionInput:
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
    shown, ridge = with_outlier_effects(arms, scale)
    exact = fit_rows(shown[votes.first] - shown[votes.second], votes.mass, votes.wins, policy, ridge)
    posterior = _as_learned(policy, scale) if policy.online_ and not scale.differs else exact
    if effects is False:
        return DecisionInput(shown, posterior, scale.warning, "")
    misfit = "" if effects else _misfit_warning(policy, misfit_p_value(shown, votes, exact, policy.link))
    if effects or misfit:
        shown, posterior = fit_arm_effects(shown, votes, exact, policy.link)
    return DecisionInput(shown, posterior, "; ".join(filter(None, (scale.warning, misfit))), "")


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


def _misfit_warning(policy: FittedPolicy, p_value: float) -> str:
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


def _untested(arms: Floats, reason: str) -> str:
    """Return a warning that misfit was not tested; empty if as few arms as features leave nothing to test."""
    if len(np.unique(arms, axis=0)) <= arms.shape[1] + 1:
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
