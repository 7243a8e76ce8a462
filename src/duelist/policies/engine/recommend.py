"""What a policy says when it is asked which arm is best."""

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
    Usual,
    differences_among_usual,
    usual_sizes,
    with_terms_for_those_far_off,
)
from duelist.policies.engine.pooled_fit import fitted, pooled, told_rows

if TYPE_CHECKING:
    from duelist.policies.engine.fitted_policy import FittedPolicy

_CLEAR: Final = 0.01
"""The chance of votes so odd that it is said without doubt."""


class Weighed(NamedTuple):
    """Arms and what is known of them, with a feature of their own each where features do not explain the votes."""

    arms: Floats
    known: LinearPosterior
    oddity: str
    """What is odd about the votes, or about the arms; empty: nothing."""
    untold: str
    """Why nobody can say whether arms have effects of their own; empty: it was tested."""
    open: bool = False
    """Whether nothing can be ruled out, whatever the estimate says."""


def recommend_arm(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> Recommendation:
    """The best of these arms, with effects of their own where features do not explain the votes."""
    seen, known, oddity, untold, is_open = _weighed(policy, arms, effects)
    found = recommend(seen, known, delta, utility_tolerance(*tolerance, policy.link), rules_out=not is_open)
    if untold and effects is None and found.decided:
        oddity = "; ".join(filter(None, (oddity, _untested(arms, untold))))
    return replace(found, tolerance_given=tolerance, advice=advice(policy, found, oddity))


def decided_arm_of(
    policy: FittedPolicy, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> int | None:
    """The arm that is announced, and nothing more."""
    delta, within = check_delta(delta), utility_tolerance(*tolerance, policy.link)
    seen, known, _, _, is_open = _weighed(policy, arms, effects)
    return None if is_open and len(arms) > 1 else decided_arm(seen, known, delta, within)


def check_effects(effects: object) -> None:
    """InvalidInput unless it is one of the three answers."""
    if effects is not None and not isinstance(effects, bool):
        raise InvalidInput(
            f"effects is {effects!r}.", "Give true or false, or leave it out to let the votes decide.", field="effects"
        )


def _weighed(policy: FittedPolicy, arms: Floats, effects: bool | None) -> Weighed:
    check_effects(effects)
    if policy._player.dim == 0:  # before the first arms everything is open
        return Weighed(
            arms, LinearPosterior(np.zeros(arms.shape[1]), np.eye(arms.shape[1]), 1.0), "", _NO_VOTES, open=True
        )
    votes, usual = _kept_votes(policy, arms), usual_sizes(policy, arms)
    if isinstance(votes, VotesUnavailable):
        if effects:
            raise InvalidInput(
                f"effects is True, but {votes.reason}.",
                "Leave effects out, or ask with ArmTable(n, features), which have them.",
                field="effects",
            )
        return _without_votes(policy, arms, usual, votes.reason)
    shown, ridge = with_terms_for_those_far_off(arms, usual)
    exact = fitted(shown[votes.first] - shown[votes.second], votes.mass, votes.wins, policy, ridge)
    known = _as_learned(policy, usual) if policy.online_ and not usual.differs else exact
    if effects is False:
        return Weighed(shown, known, usual.said, "")
    oddity = "" if effects else _oddity(policy, misfit_p_value(shown, votes, exact, policy.link))
    if effects or oddity:
        shown, known = fit_arm_effects(shown, votes, exact, policy.link)
    return Weighed(shown, known, "; ".join(filter(None, (usual.said, oddity))), "")


def _without_votes(policy: FittedPolicy, arms: Floats, usual: Usual, why: str) -> Weighed:
    """From differences alone, without those of arms far off, or from what one pass has left of them.

    An arm that stands far off has a feature of its own, of which nothing is known then: it stays open.
    """
    if not usual.differs:
        return Weighed(arms, _as_learned(policy, usual), "", why)
    if policy.online_:
        return Weighed(arms, _as_learned(policy, usual), f"{usual.said or _OTHER_KIND}; {_NO_WAY_BACK}", why, open=True)
    z, mass, wins = told_rows(policy._fitted().state.arrays())
    near = differences_among_usual(z, arms, usual)
    shown, ridge = with_terms_for_those_far_off(arms, usual)
    rows = np.hstack([z[near], np.zeros((near.sum(), shown.shape[1] - z.shape[1]))])
    return Weighed(shown, fitted(rows, mass[near], wins[near], policy, ridge), usual.said or _OTHER_KIND, why)


def _as_learned(policy: FittedPolicy, usual: Usual) -> LinearPosterior:
    """What a policy knows, in the sizes it has learned in; of features without one, in those among the arms."""
    if not policy.online_:
        return fitted(*told_rows(policy._fitted().state.arrays()), policy, usual.ridge)
    known = pooled(policy)
    curvature = known.curvature + np.diag(
        usual.ridge - known.ridge
    )  # where they differ, there is nothing but the ridge
    return LinearPosterior(known.theta, curvature, usual.ridge, known.votes)


_NO_VOTES: Final = "there are no votes yet"
_OTHER_KIND: Final = "the size of a feature comes from other arms, far from these"
_NO_WAY_BACK: Final = (
    "estimator='online' has learned in that size, and nothing is announced: ask a new policy without such arms, or one with "
    "estimator='exact'"
)


def _kept_votes(policy: FittedPolicy, arms: Floats, most: int = MAX_TESTED_ARMS) -> PairVotes | VotesUnavailable:
    """The votes on these arms, if they are there and arms are not too many."""
    counted = native.tally_of(policy._fitted())
    if counted is not None:
        return match_votes(arms, PairCounts(**counted), most)
    limit = f"; estimator='online' counts those on {native.MOST_TALLIED:,} pairs" if policy.online_ else ""
    return VotesUnavailable(
        f"nobody knows on which arms all votes were (they were learned as differences, or pairs are too many{limit})"
    )


def counted_votes(policy: FittedPolicy, arms: Floats) -> PairVotes:
    """The votes on these arms, or an error that says why they are not there."""
    if not policy._fitted().learned.any():
        return PairVotes(*(np.empty(0, np.int64),) * 2, *(np.empty(0),) * 2)
    votes = _kept_votes(policy, arms, most=len(arms))
    if isinstance(votes, VotesUnavailable):
        raise InvalidInput(
            f"{votes.reason}.",
            "Start a new policy with ArmTable(n, features), and tell it the votes that you have kept.",
        )
    return votes


def _oddity(policy: FittedPolicy, p: float) -> str:
    if p >= MISFIT_LEVEL:
        return ""
    verb = "do not" if p < _CLEAR else "may not"
    allows = "a new policy that is asked with ArmTable(n, features) allows for them from the first vote"
    if policy.supports_arm_effects:
        allows = (
            "this policy does not ask about them: policy.with_arm_effects(arms) does, and keeps the votes; ask it with "
            "ArmTable(n, arms)"
        )
    return f"the features {verb} explain the votes (p = {p:.2g}), so that arms are given effects of their own here; {allows}"


def _untested(arms: Floats, why: str) -> str:
    """What to know before believing an announcement; as few arms as there are features have no room for effects."""
    if len(np.unique(arms, axis=0)) <= arms.shape[1] + 1:
        return ""
    return (
        f"nobody has tested whether the features explain the votes: {why}; where they may not, ask with ArmTable(n, features), "
        "which allows for it"
    )


def advice(policy: FittedPolicy, found: Recommendation, oddity: str = "") -> str:
    """What to beware of, and what would end the asking."""
    parts = [oddity] if oddity else []
    if not found.decided and not policy.pure_exploration:
        parts.append(
            f"{type(policy).__name__} asks little about arms it has given up, so this may take long or never end: to name the "
            "best arm take BestArmPair, or give a tolerance"
        )
    elif not found.decided and found.votes_expected is None:
        parts.append("where arms are nearly equal, only a tolerance ends it")
    if oddity and found.identical:
        parts.append("arms with the same features are taken for one, and may differ")
    return "; ".join(parts)
