"""The policy for a job: `policy_for("best")` and its kin. What suits which goal is in the table of `duelist.policies.goals`."""

from __future__ import annotations

import inspect
from typing import Any

from duelist.core.arms import ArmTable
from duelist.core.arrays import check_arms, check_whole, is_whole
from duelist.core.errors import InvalidInput
from duelist.policies import POLICIES, NativePolicy, builtin_policy
from duelist.policies.base import Arms
from duelist.policies.goals import Goal, find_goal


def policy_for(
    goal: str,
    *,
    features: bool | int | None = None,
    arms: Arms | int | None = None,
    top: int | None = None,
    horizon: int | None = None,
    random_state: int | None = None,
    **settings: Any,
) -> NativePolicy:
    """The recommended policy for what you want of the votes.

    Parameters
    ----------
    goal
        "best": name the best arm with few votes. "rank": a leaderboard. "learn": a model that predicts votes on new
        arms. "serve": show good arms while learning.
    features
        Whether arms have features, or how many. False: the policy is asked with `ArmTable`, and refuses a table of features. None
        (default): what `arms` say, and, where they say nothing, that there are features.
    arms
        The arms, where they are at hand: (n_arms, dim); `ArmTable`; or how many there are, which are then arms without features unless
        `features` says otherwise.
    top
        For "rank": only the first so many places matter. None: the whole order.
    horizon, random_state, settings
        Those of the policy; a setting that the policy of this goal does not have is refused by name.

    >>> policy_for("serve", horizon=1000, random_state=0)
    LocalPairUCB(horizon=1000, random_state=0)
    >>> import duelist as dl
    >>> policy = policy_for("best", features=False)
    >>> policy.tell(policy.ask(dl.ArmTable(4)), 1)
    >>> policy_for("rank", arms=6).ask([[0.5, 1.0], [0.0, 2.0]])
    Traceback (most recent call last):
    ...
    duelist.core.errors.InvalidInput: this policy knows arms by who they are, not by features alone; give a table of them, \
ArmTable(ids, features), or start a new policy
    """
    wanted = find_goal(goal)
    n_arms, featured = _looked_at(arms, features)
    if top is not None:
        settings["top"] = _checked_top(wanted, top, n_arms)
    if not featured:
        settings.setdefault("estimator", "online")
    policy = builtin_policy(wanted.policy, horizon=horizon, random_state=random_state, **settings)
    if not featured and not policy.accepts_arm_table:
        raise InvalidInput(
            f"{policy!r}, the policy for the goal {goal!r}, cannot learn about arms without features.",
            "Give features, or leave out the setting that keeps it from that.",
        )
    return policy if featured else policy.require_arm_table()


def _looked_at(arms: Any, features: Any) -> tuple[int | None, bool]:
    """How many arms there are, where that is known, and whether the policy is shown tables of features."""
    if features is not None and not isinstance(features, bool):
        check_whole("features", features, 1, "true, false, or the number of features")
    if arms is None:
        return None, features is None or bool(features)
    if is_whole(arms):
        return check_whole("arms", arms, 1), bool(features)
    if isinstance(arms, ArmTable):
        fits = features is None or (bool(arms.dim) == features if isinstance(features, bool) else arms.dim == features)
        if not fits:
            raise InvalidInput(f"features is {features!r}, and arms are {arms!r}.", "Leave features out.")
        return len(arms), False
    if features is False:
        raise InvalidInput(
            "features is False, but arms are given by their features.", "Give ArmTable, or their number."
        )
    return len(check_arms(arms, None if features is None or features is True else features)), True


def _checked_top(goal: Goal, top: Any, n_arms: int | None) -> int:
    if goal.name != "rank":
        raise InvalidInput(
            f"top is {top!r}, and the goal is {goal.name!r}.", "Only the goal 'rank' has places.", field="top"
        )
    if "top" not in inspect.signature(POLICIES[goal.policy]).parameters:
        raise InvalidInput(
            f"top is {top!r}, but {goal.policy}, the policy for the goal 'rank', is about the whole order.",
            "Leave top out.",
            field="top",
        )
    places = check_whole("top", top, 1)
    if n_arms is not None and places > n_arms:
        raise InvalidInput(
            f"top is {top!r}, and there are {n_arms} arms.", "Give at most as many places as arms.", field="top"
        )
    return places
