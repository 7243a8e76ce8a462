"""What a policy says when it is asked which arm is best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist import native
from duelist.arrays import Floats
from duelist.effects import UNLIKELY, Missing, PairVotes, Tally, misfit, votes_on_pairs, with_effects
from duelist.engine.pooling import fitted, pooled, told_rows
from duelist.errors import InvalidInput
from duelist.far_off import FAR_OFF, FEWEST_OFF, ROUNDING, UNUSUAL, described, differing, far_off, is_spread_by, middle
from duelist.identification import Known, Recommendation, announced, recommend, utility_tolerance

if TYPE_CHECKING:
    from duelist.engine.knowledge import Knowledge

_CLEAR: Final = 0.01
"""The chance of votes so odd that it is said without doubt."""
_FOREIGN: Final = 64.0
"""How much larger than its variance the size of a feature may be: beyond that it comes from other arms."""


class Weighed(NamedTuple):
    """Arms and what is known of them, with a feature of their own each where features do not explain the votes."""

    arms: Floats
    known: Known
    oddity: str
    """What is odd about the votes, or about the arms; empty: nothing."""
    untold: str
    """Why nobody can say whether arms have effects of their own; empty: it was tested."""
    open: bool = False
    """Whether nothing can be ruled out, whatever the estimate says."""


def announce(
    policy: Knowledge, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> Recommendation:
    """The best of these arms, with effects of their own where features do not explain the votes."""
    seen, known, oddity, untold, is_open = _weighed(policy, arms, effects)
    found = recommend(seen, known, delta, utility_tolerance(*tolerance, policy.link), rules_out=not is_open)
    if untold and effects is None and found.decided:
        oddity = "; ".join(filter(None, (oddity, _untested(arms, untold))))
    return replace(found, tolerance_given=tolerance, advice=_advice(policy, found, oddity))


def announced_arm(
    policy: Knowledge, arms: Floats, delta: float, tolerance: tuple[float, str], effects: bool | None
) -> int | None:
    """The arm that is announced, and nothing more."""
    seen, known, _, _, is_open = _weighed(policy, arms, effects)
    return (
        None if is_open and len(arms) > 1 else announced(seen, known, delta, utility_tolerance(*tolerance, policy.link))
    )


def check_effects(effects: object) -> None:
    """InvalidInput unless it is one of the three answers."""
    if effects is not None and not isinstance(effects, bool):
        raise InvalidInput(f"effects is {effects!r}; give True, False, or None, which lets the votes say")


def _weighed(policy: Knowledge, arms: Floats, effects: bool | None) -> Weighed:
    check_effects(effects)
    votes, usual = _kept_votes(policy, arms), _usual(policy, arms)
    if isinstance(votes, Missing):
        if effects:
            raise InvalidInput(
                f"effects is True, but {votes.why}; leave effects out, or ask with FreeArms(n, features), which have them"
            )
        return _without_votes(policy, arms, usual, votes.why)
    shown, ridge = _with_terms_for_those_far_off(arms, usual)
    exact = fitted(shown[votes.first] - shown[votes.second], votes.mass, votes.wins, policy, ridge)
    known = pooled(policy) if policy.online_ and not usual.differs else exact
    if effects is False:
        return Weighed(shown, known, usual.said, "")
    oddity = "" if effects else _oddity(misfit(shown, votes, exact, policy.link))
    if effects or oddity:
        shown, known = with_effects(shown, votes, exact, policy.link)
    return Weighed(shown, known, "; ".join(filter(None, (usual.said, oddity))), "")


def _without_votes(policy: Knowledge, arms: Floats, usual: Usual, why: str) -> Weighed:
    """From differences alone, without those of arms far off, or from what one pass has left of them."""
    if not usual.differs:
        return Weighed(arms, pooled(policy), "", why)
    if policy.online_:
        return Weighed(arms, pooled(policy), f"{usual.said or _OTHER_KIND}; {_NO_WAY_BACK}", why, open=True)
    z, mass, wins = told_rows(policy._fitted().state.arrays())
    near = (0.5 * np.square(z) <= FAR_OFF * usual.sizes).all(axis=1)
    known = fitted(z[near], mass[near], wins[near], policy, usual.ridge)
    return Weighed(arms, known, usual.said or _OTHER_KIND, why)


def _with_terms_for_those_far_off(arms: Floats, usual: Usual) -> tuple[Floats, Floats]:
    """Arms with the middle value in the place of one far off, and a feature of their own for those who had it; the ridge of all features.

    A number that stands for none (a price of 99999) says nothing of the arm, and votes on it say nothing of the price: taken at its
    word, it would make the effect of the price vanish for all others.
    """
    off = np.flatnonzero(usual.far.any(axis=1))
    if not len(off):
        return arms, usual.ridge
    tamed = np.where(usual.far, middle(arms), arms)
    variance = float(
        (np.square(tamed - tamed.mean(axis=0)) / usual.ridge).sum(axis=1).mean()
    )  # of a utility, before any vote
    own = np.zeros((len(arms), len(off)))
    own[off, np.arange(len(off))] = 1.0
    return np.hstack([tamed, own]), np.concatenate([usual.ridge, np.full(len(off), 1.0 / variance)])


_OTHER_KIND: Final = "the size of a feature comes from other arms, far from these"
_NO_WAY_BACK: Final = (
    "estimator='online' has learned in that size, and nothing is announced: ask a new policy without such arms, or one with "
    "estimator='exact'"
)


class Usual(NamedTuple):
    """What a verdict on arms takes for the ridge and the squared size of every feature, and which numbers stand far off (n_arms, dim)."""

    ridge: Floats
    sizes: Floats
    far: NDArray[np.bool_]
    said: str
    """Who stands far off; empty: nobody."""
    differs: bool
    """Whether these are not the sizes that the policy has."""


def _usual(policy: Knowledge, arms: Floats) -> Usual:
    """The size of a feature is its variance over the first arms. Where that is the doing of one arm, or a few, it says nothing of the
    others: their effects would be shrunk away, and credited to other features. Their own variance takes its place then.
    """
    arrays, ridge = policy._fitted().state.arrays(), policy.pooled_ridge_
    sizes, far, said = arrays["sizes"].copy(), np.zeros(arms.shape, bool), []
    follows = arrays["size_stretch"][2] != 0.0  # not a ridge that was given, nor a published one
    for k, x in enumerate(arms.T if follows else ()):
        off = far_off(x)
        usual, odd = float(x[~off].var()), is_spread_by(x, off)
        shows_what_is_usual = differing(x).sum() >= FEWEST_OFF  # two or three arms may be near each other by chance
        least = sizes[k] / (UNUSUAL if odd else _FOREIGN)
        if (ROUNDING * np.abs(x[~off]).max()) ** 2 < usual < least and (odd or shows_what_is_usual):
            ridge[k] *= usual / sizes[k]
            sizes[k] = usual
            far[:, k] = off & odd
            said += [described(f"feature {k}", x, off)] if odd else []
    advice = "taken there for a number that stands for none; leave such arms out, or give the feature another scale, its logarithm, say"
    differs = not np.array_equal(sizes, arrays["sizes"])
    return Usual(ridge, sizes, far, "; ".join([*said, advice] if said else []), differs)


def _kept_votes(policy: Knowledge, arms: Floats) -> PairVotes | Missing:
    """The votes on these arms, if they are there."""
    counted = native.tally_of(policy._fitted())
    if counted is not None:
        return votes_on_pairs(arms, Tally(**counted))
    most = f"; estimator='online' counts those on {native.MOST_TALLIED:,} pairs" if policy.online_ else ""
    return Missing(
        "nobody knows on which arms all votes were (they were learned as differences, or come from a snapshot of an older release, or "
        f"pairs are too many{most})"
    )


def _oddity(p: float) -> str:
    if p >= UNLIKELY:
        return ""
    verb = "do not" if p < _CLEAR else "may not"
    return (
        f"the features {verb} explain the votes (p = {p:.2g}), so that arms are given effects of their own here; "
        "a new policy that is asked with FreeArms(n, features) allows for them from the first vote"
    )


def _untested(arms: Floats, why: str) -> str:
    """What to know before believing an announcement; as few arms as there are features have no room for effects."""
    if len(np.unique(arms, axis=0)) <= arms.shape[1] + 1:
        return ""
    return (
        f"nobody has tested whether the features explain the votes: {why}; where they may not, ask with FreeArms(n, features), "
        "which allows for it"
    )


def _advice(policy: Knowledge, found: Recommendation, oddity: str) -> str:
    parts = [oddity] if oddity else []
    if not found.decided and not policy.seeks_the_best:
        parts.append(
            f"{type(policy).__name__} asks little about arms it has given up, so this may take long or never end: to name the "
            "best arm take BestArmPair, or give a tolerance"
        )
    elif not found.decided and found.votes_expected is None:
        parts.append("where arms are nearly equal, only a tolerance ends it")
    if oddity and found.alike:
        parts.append("arms with the same features are taken for one, and may differ")
    return "; ".join(parts)
