"""What a policy says when it is asked which arm is best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from duelist.arrays import Floats
from duelist.effects import UNLIKELY, misfit, votes_on_pairs, with_effects
from duelist.engine.pooling import pooled, told_rows
from duelist.errors import InvalidInput
from duelist.identification import Known, Recommendation, recommend, utility_tolerance

if TYPE_CHECKING:
    from duelist.engine.knowledge import Knowledge


def announce(
    policy: Knowledge, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> Recommendation:
    """The best of these arms, with effects of their own where features do not explain the votes."""
    known, within = pooled(policy), utility_tolerance(*tolerance, policy.link)
    seen, known, oddity = _explained(policy, arms, known, effects)
    found = recommend(seen, known, delta, within)
    if not oddity and effects is None and found.decided:
        oddity = _untested(policy, arms)
    return replace(found, advice=_advice(policy, found, oddity))


def _explained(policy: Knowledge, arms: Floats, known: Known, effects: bool | None) -> tuple[Floats, Known, str]:
    """The arms and what is known of them, and what is odd about the votes."""
    if effects is False:
        return arms, known, ""
    votes = None if policy.online_ else votes_on_pairs(arms, *told_rows(policy._fitted().state.arrays()))
    if votes is None:
        if effects:
            raise InvalidInput(
                "effects is True, but the votes on these arms are not there: take estimator='exact', and the arms that were asked about"
            )
        return arms, known, ""
    oddity = "" if effects else _oddity(misfit(arms, votes, known, policy.link))
    if not effects and not oddity:
        return arms, known, ""
    return *with_effects(arms, votes, known, policy.link), oddity


def _oddity(p: float) -> str:
    if p >= UNLIKELY:
        return ""
    return (
        f"the features do not explain the votes (p = {p:.2g}): arms have effects of their own, which are counted here; "
        "give features that tell arms apart"
    )


def _untested(policy: Knowledge, arms: Floats) -> str:
    """What to know before believing a policy that kept no votes; as few arms as there are features have no room for effects."""
    if not policy.online_ or len(arms) <= arms.shape[1] + 1:
        return ""
    return (
        "estimator='online' keeps no votes, so that nobody has tested whether the features explain them: where they may not, take "
        "estimator='exact', which tests it, or ask with FreeArms(n, features), which allows for it"
    )


def _advice(policy: Knowledge, found: Recommendation, oddity: str) -> str:
    parts = [oddity] if oddity else []
    if not found.decided and not policy.seeks_the_best:
        parts.append(
            f"{type(policy).__name__} asks little about arms it has given up, so this may take long or never end: to name the "
            "best arm take BestArmPair, or give a tolerance"
        )
    elif not found.decided and found.votes_expected is None:
        parts.append("arms look equal: a tolerance would end it")
    return "; ".join(parts)
