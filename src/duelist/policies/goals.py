"""What people want of their votes: which policy suits each goal, and when to choose it. The one table of goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from duelist.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, when to choose it, and the name of the policy that suits it."""

    name: str
    when: str
    policy: str
    about_these_arms: bool = False
    """Whether it is the arms of the study that matter, and not others like them: then what features do not say of an arm counts, too."""


GOALS: Final = {
    goal.name: goal
    for goal in (
        Goal(
            "best",
            "You want one winner with as few votes as possible, and do not mind bad arms being shown on the way.",
            "BestArmPair",
            about_these_arms=True,
        ),
        Goal(
            "rank",
            "You want the order of the arms, not only the first of them, with as few votes as possible.",
            "RankingPair",
            about_these_arms=True,
        ),
        Goal("learn", "You want votes that teach a model which of any two arms people prefer.", "RewardDesign"),
        Goal(
            "serve",
            "People live with what they are shown: every duel should be between good arms, while you learn.",
            "LocalPairUCB",
        ),
    )
}


def find_goal(name: str) -> Goal:
    """The goal of that name."""
    goal = GOALS.get(name) if isinstance(name, str) else None
    if goal is None:
        raise InvalidInput(f"goal is {name!r}.", f"Choose one of {', '.join(GOALS)}.", field="goal")
    return goal
