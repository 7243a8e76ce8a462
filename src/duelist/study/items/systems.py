"""The answers of a study of systems: which system answered which prompt.

A study compares systems when its arms have systems. An arm is then the answer of one system to one prompt (its
context), and the policy learns one utility per system: its ids are the numbers of systems, not those of arms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput

NO_ANSWER = -1
"""In a table of answers: this system has no active answer to this prompt."""


class NewArm(NamedTuple):
    """An arm to be added, without its features."""

    id: str
    payload: Any = None
    context: str | None = None
    system: str | None = None
    category: str | None = None


class _Answer(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def context(self) -> str | None: ...
    @property
    def system(self) -> str | None: ...
    @property
    def category(self) -> str | None: ...


class _StoredAnswer(_Answer, Protocol):
    @property
    def retired(self) -> bool: ...


class SystemAnswers:
    """Answers by system and prompt; systems and prompts are numbered in the order in which they were added."""

    def __init__(self, arms: Sequence[_StoredAnswer]) -> None:
        self.systems: list[str] = list(dict.fromkeys(arm.system for arm in arms if arm.system is not None))
        self.prompts: list[str | None] = list(dict.fromkeys(arm.context for arm in arms))
        system, prompt = _positions(self.systems), _positions(self.prompts)
        self.system_of: Ints = np.array([system[arm.system] for arm in arms], np.int64)
        """The number of each arm's system."""
        self.prompt_of: Ints = np.array([prompt[arm.context] for arm in arms], np.int64)
        """The number of each arm's prompt."""
        self.active: Ints = np.full((len(self.systems), len(self.prompts)), NO_ANSWER, np.int64)
        """The number of the active arm by system and prompt, `NO_ANSWER` where there is none."""
        numbers = np.flatnonzero([not arm.retired for arm in arms])
        self.active[self.system_of[numbers], self.prompt_of[numbers]] = numbers

    def within(self, context: str | None, candidates: Ints | None) -> Ints:
        """Return `active` with only the answers to one prompt, or only these arms."""
        if candidates is not None:
            chosen = np.isin(self.active, candidates)
        elif context is not None:
            chosen = np.zeros(self.active.shape, np.bool_)
            chosen[:, self.prompts.index(context)] = True
        else:
            return self.active
        return np.where(chosen, self.active, NO_ANSWER)


def check_systems(new: Iterable[NewArm], existing: Iterable[_Answer]) -> None:
    """Raise InvalidInput unless all arms of a study have systems or none has.

    A system answers a prompt at most once, and a prompt has one category.
    """
    answers: dict[tuple[str | None, str | None], str] = {}
    categories: dict[str | None, str | None] = {}
    has_systems = None
    every: list[_Answer] = [*existing, *new]
    for arm in every:
        has_systems = (arm.system is not None) if has_systems is None else has_systems
        if (arm.system is not None) != has_systems:
            raise InvalidInput(
                f"Arm {arm.id!r} has {'a' if arm.system is not None else 'no'} system, unlike other arms of this study.",
                "Give every arm a system, or none of them.",
                field="systems",
            )
        if arm.system is None:
            if arm.category is not None:
                raise InvalidInput(
                    f"Arm {arm.id!r} has a category and no system.",
                    "Categories group the prompts of systems; leave them out, or give systems.",
                    field="categories",
                )
            continue
        if arm.context is None:
            raise InvalidInput(
                f"Arm {arm.id!r} of system {arm.system!r} has no prompt.",
                "Name the prompt that it answers as its context.",
                field="contexts",
            )
        other = answers.setdefault((arm.system, arm.context), arm.id)
        if other != arm.id:
            raise InvalidInput(
                f"System {arm.system!r} has two answers to the prompt {arm.context!r}: {other!r} and {arm.id!r}.",
                "Give each system at most one answer per prompt.",
                field="systems",
            )
        if categories.setdefault(arm.context, arm.category) != arm.category:
            raise InvalidInput(
                f"The prompt {arm.context!r} has the categories {categories[arm.context]!r} and {arm.category!r}.",
                "Give each prompt one category.",
                field="categories",
            )


def _positions(names: Sequence[str | None]) -> dict[str | None, int]:
    return {name: k for k, name in enumerate(names)}
