"""Goals of collecting votes: the table of goals, and `policy_for`, which returns the policy recommended for one."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Final

from duelist.core.arms import ArmTable
from duelist.core.arrays import check_arms, check_integer, is_integer
from duelist.core.errors import InvalidInput
from duelist.policies.base import Arms
from duelist.policies.engine import NativePolicy
from duelist.policies.registry import POLICIES, builtin_policy


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, when to choose it, and the name of the policy recommended for it."""

    name: str
    when: str
    policy: str
    arm_effects: bool = False
    """Whether a study with this goal has arm effects by default: its results are about these arms, not about others like them."""


GOALS: Final = {
    goal.name: goal
    for goal in (
        Goal(
            "best",
            "You want one winner with as few votes as possible, and do not mind bad arms being shown on the way.",
            "BestArmPair",
            arm_effects=True,
        ),
        Goal(
            "rank",
            "You want the order of the arms, not only the first of them, with as few votes as possible.",
            "RankingPair",
            arm_effects=True,
        ),
        Goal("learn", "You want votes that teach a model which of any two arms people prefer.", "RewardDesign"),
        Goal(
            "serve",
            "People use what they are shown, so every duel should be between good arms while you learn.",
            "LocalPairUCB",
            arm_effects=True,
        ),
    )
}


def find_goal(name: str) -> Goal:
    """Return the goal with that name."""
    goal = GOALS.get(name) if isinstance(name, str) else None
    if goal is None:
        raise InvalidInput(f"goal is {name!r}.", f"Choose one of {', '.join(GOALS)}.", field="goal")
    return goal


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
    """Return the policy recommended for a goal.

    Parameters
    ----------
    goal
        "best": find the best arm with few votes. "rank": order the arms.
        "learn": fit a model that predicts votes on new arms. "serve": show good
        arms while learning.
    features
        Whether arms have features, or how many. False: the policy accepts only
        an `ArmTable`. None (default): taken from `arms`; without `arms`, True.
    arms
        The arms, if you have them: features (n_arms, dim), an `ArmTable`, or
        the number of arms. A number means arms without features, unless
        `features` says otherwise. If arms come back in later rounds, give them
        ids, `ArmTable(ids, features)`: the policy then learns an effect per arm
        beside the features, and votes choose how much each counts. Bare
        features are for arms that are new in every round.
    top
        With goal "rank": rank only this many places. None: rank all arms.
    horizon, random_state, settings
        Settings of the policy.

    >>> policy_for("serve", horizon=1000, random_state=0)
    LocalPairUCB(horizon=1000, random_state=0)
    >>> import duelist as dl
    >>> policy = policy_for("best", features=False)
    >>> policy.tell(policy.ask(dl.ArmTable(4)), 1)
    """
    chosen = find_goal(goal)
    n_arms, has_features = _inspect_arms(arms, features)
    if top is not None:
        settings["top"] = _check_top(chosen, top, n_arms)
    if not has_features:
        settings.setdefault("estimator", "online")
    policy = builtin_policy(chosen.policy, horizon=horizon, random_state=random_state, **settings)
    if not has_features and not policy.accepts_arm_table:
        raise InvalidInput(
            f"{policy!r}, the policy for the goal {goal!r}, cannot learn about arms without features.",
            "Give features, or omit the setting that prevents it.",
        )
    return policy if has_features else policy.require_arm_table()


def _inspect_arms(arms: Any, features: Any) -> tuple[int | None, bool]:
    """Return the number of arms, None if unknown, and whether the policy will be shown features."""
    if features is not None and not isinstance(features, bool):
        check_integer("features", features, 1, "true, false, or the number of features")
    if arms is None:
        return None, features is None or bool(features)
    if is_integer(arms):
        return check_integer("arms", arms, 1), bool(features)
    if isinstance(arms, ArmTable):
        matches = features is None or (
            bool(arms.dim) == features if isinstance(features, bool) else arms.dim == features
        )
        if not matches:
            raise InvalidInput(f"features is {features!r}, and arms are {arms!r}.", "Leave features out.")
        return len(arms), False
    if features is False:
        raise InvalidInput("features is False, but arms are given by their features.", "Give an ArmTable or a number.")
    return len(check_arms(arms, None if features is None or features is True else features)), True


def _check_top(goal: Goal, top: Any, n_arms: int | None) -> int:
    if goal.name != "rank":
        raise InvalidInput(
            f"top is {top!r}, and the goal is {goal.name!r}.", "Only the goal 'rank' has places.", field="top"
        )
    if "top" not in inspect.signature(POLICIES[goal.policy]).parameters:
        raise InvalidInput(
            f"top is {top!r}, but {goal.policy}, the policy for the goal 'rank', ranks all arms.",
            "Leave top out.",
            field="top",
        )
    places = check_integer("top", top, 1)
    if n_arms is not None and places > n_arms:
        raise InvalidInput(
            f"top is {top!r}, and there are {n_arms} arms.", "Give at most as many places as arms.", field="top"
        )
    return places
