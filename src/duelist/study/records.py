"""What a study keeps: arms, duels and votes, as small frozen values.

Times are UTC and aware. Arms are known to people by their `id`, and inside a study by their `number`, dense from 0 in
the order they were added. Votes are only ever added: a vote that was revised or undone stays in the log, and a later
row says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final


class Outcome(StrEnum):
    """What a rater may answer."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    BOTH_BAD = "both_bad"
    SKIP = "skip"


class Source(StrEnum):
    """Who voted."""

    HUMAN = "human"
    MODEL = "model"
    IMPORT = "import"


class ChosenBy(StrEnum):
    """Who chose the pair: the policy, a coin (for off-line evaluation), or the person who imported it."""

    POLICY = "policy"
    RANDOM = "random"
    IMPORT = "import"


WINS: Final[dict[Outcome, float]] = {Outcome.FIRST: 1.0, Outcome.SECOND: 0.0, Outcome.TIE: 0.5, Outcome.BOTH_BAD: 0.5}
"""Outcomes that teach which arm is better, as the share of the win that goes to the first; a skip teaches nothing."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """How a study asks; fixed when it is created."""

    policy: str
    policy_settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    lease_seconds: float = 600.0
    raters_per_duel: int = 1
    random_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Arm:
    """One thing to compare; its features lie in the study's matrix, in row `number`."""

    number: int
    id: str
    payload: Any = None
    context: str | None = None
    version: int = 1
    retired: bool = False


@dataclass(frozen=True, slots=True)
class StudyDuel:
    """A duel asked of a rater: `first` is shown on the left, after shuffling.

    `swapped` says whether the policy had named the arms the other way round; `layer` and `share` are what the policy
    wants to know when it learns the outcome; `chance` is the probability with which this pair was chosen, where it is known.
    """

    id: int
    first: Arm
    second: Arm
    rater: str | None
    asked_at: datetime
    deadline: datetime
    context: str | None = None
    chosen_by: ChosenBy = ChosenBy.POLICY
    chance: float | None = None
    swapped: bool = False
    layer: int = 0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Vote:
    """One row of the log. `sequence` is dense from 1 within a study, in the order votes were accepted.

    A row with `revises` replaces the vote of that sequence number; if its outcome is None, that vote was undone.
    """

    sequence: int
    duel_id: int
    outcome: Outcome | None
    rater: str | None
    told_at: datetime
    first: str
    second: str
    context: str | None = None
    source: Source = Source.HUMAN
    response_seconds: float | None = None
    late: bool = False
    revises: int | None = None
    chosen_by: ChosenBy = ChosenBy.POLICY
    chance: float | None = None


def standing(votes: list[Vote]) -> list[Vote]:
    """The votes that count: revised ones replaced in place, undone ones left out, in the order first given.

    A revision of a revision replaces the same original vote.
    """
    original: dict[int, int] = {}
    latest: dict[int, Vote] = {}
    for vote in votes:
        root = vote.sequence if vote.revises is None else original.get(vote.revises, vote.revises)
        original[vote.sequence] = root
        latest[root] = vote
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]
