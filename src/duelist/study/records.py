"""What a study keeps: arms, duels and votes, as small frozen values.

Times are UTC and aware. Arms are known to people by their `id`, and inside a study by their `number`, dense from 0 in
the order they were added. Votes are only ever added: a vote that was revised or undone stays in the log, and a later
row says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Outcome(StrEnum):
    """What a rater may answer."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    BOTH_BAD = "both_bad"
    SKIP = "skip"

    @property
    def mirrored(self) -> Outcome:
        """The same answer, had the arms been shown the other way round."""
        return {Outcome.FIRST: Outcome.SECOND, Outcome.SECOND: Outcome.FIRST}.get(self, self)


class Source(StrEnum):
    """Who voted."""

    HUMAN = "human"
    MODEL = "model"
    IMPORT = "import"


class ChosenBy(StrEnum):
    """Who chose the pair: the policy, a coin (for off-line evaluation), the person who imported it, or the study's owner."""

    POLICY = "policy"
    RANDOM = "random"
    IMPORT = "import"
    OWNER = "owner"


class DuelKind(StrEnum):
    """What a duel is for: to learn about arms; or, with a pair whose answer is known or was given, about a rater."""

    NORMAL = "normal"
    GOLD = "gold"
    REPEAT = "repeat"


class StudyState(StrEnum):
    """Whether a study asks (open), asks nothing new but takes answers (paused), takes none (closed), or is put away."""

    OPEN = "open"
    PAUSED = "paused"
    ENDED = "ended"
    ARCHIVED = "archived"


WINS: Final[dict[Outcome, float]] = {Outcome.FIRST: 1.0, Outcome.SECOND: 0.0, Outcome.TIE: 0.5, Outcome.BOTH_BAD: 0.5}
"""Outcomes that teach which arm is better, as the share of the win that goes to the first; a skip teaches nothing."""


class GoldPair(NamedTuple):
    """A pair of arms whose answer is known, to see which raters look."""

    first: str
    second: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class StudySettings:
    """How a study asks. Policy, its settings and the seed stay as they are; the rest may be changed, see `Study.change`."""

    policy: str
    policy_settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    lease_seconds: float = 600.0
    raters_per_duel: int = 1
    random_share: float = 0.0
    repeat_pairs: str | float = "never"
    goal: str | None = None
    criteria: tuple[str, ...] = ()
    max_votes: int | None = None
    max_votes_per_pair: int | None = None
    max_votes_per_rater: int | None = None
    gold: tuple[GoldPair, ...] = ()
    gold_share: float = 0.1
    arm_effects: bool = False
    question: str | None = None
    guidelines: str | None = None
    answers: tuple[Outcome, ...] = (Outcome.TIE, Outcome.BOTH_BAD, Outcome.SKIP)
    ask_reason: bool = False
    show_as: str = "text"
    open_registration: bool = False
    feature_recipe: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        # JSON, which storages keep settings in, knows no tuples.
        gold = tuple(GoldPair(first, second, Outcome(outcome)) for first, second, outcome in self.gold)
        object.__setattr__(self, "criteria", tuple(self.criteria))
        object.__setattr__(self, "gold", gold)
        object.__setattr__(self, "answers", tuple(Outcome(answer) for answer in self.answers))

    @property
    def top(self) -> int | None:
        """How many places matter to a study that ranks; None: all of them."""
        return self.policy_settings.get("top")

    @property
    def main_criterion(self) -> str | None:
        """The criterion that the policy learns and readings show: the first, None where there is a single question."""
        return self.criteria[0] if self.criteria else None


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
class Rater:
    """What the owner has said of a rater.

    One who is `blocked` is asked no more; the votes of one who is `excluded` do not count; an `erased` one has a made-up name.
    """

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    blocked: bool = False
    excluded: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True)
class StudyDuel:
    """A duel asked of a rater: `first` is shown on the left, after shuffling.

    `swapped` says whether the policy had named the arms the other way round; `layer` and `share` are what the policy
    wants to know when it learns the outcome; `chance` is the probability with which this pair was chosen, where it is known.
    `prompt` is what the context is, where somebody has said so: a text, messages, or any JSON.
    """

    id: int
    first: Arm
    second: Arm
    rater: str | None
    asked_at: datetime
    deadline: datetime
    context: str | None = None
    chosen_by: ChosenBy = ChosenBy.POLICY
    propensity: float | None = None
    swapped: bool = False
    layer: int = 0
    share: float = 1.0
    kind: DuelKind = DuelKind.NORMAL
    prompt: Any = None


@dataclass(frozen=True, slots=True)
class Vote:
    """One row of the log. `sequence` is dense from 1 within a study, in the order votes were accepted.

    A row with `revises` replaces the vote of that sequence number; if its outcome is None, that vote was undone. `voted_at` is
    None for a vote from elsewhere whose time is not known. `criterion` is None where the study asks a single question.
    `expected` is the known answer of a gold duel. A vote that is `excluded` is one of a rater whom the owner does not count.
    """

    sequence: int
    duel_id: int
    outcome: Outcome | None
    rater: str | None
    voted_at: datetime | None
    first: str
    second: str
    context: str | None = None
    source: Source = Source.HUMAN
    response_seconds: float | None = None
    late: bool = False
    revises: int | None = None
    chosen_by: ChosenBy = ChosenBy.POLICY
    propensity: float | None = None
    reason: str | None = None
    criterion: str | None = None
    kind: DuelKind = DuelKind.NORMAL
    expected: Outcome | None = None
    excluded: bool = False


def current_votes(votes: list[Vote]) -> list[Vote]:
    """The votes that stand: revised ones replaced in place, undone ones left out, in the order first given.

    A revision of a revision replaces the same original vote. Of these, `counted` are what arms are judged by.
    """
    original: dict[int, int] = {}
    latest: dict[int, Vote] = {}
    for vote in votes:
        root = vote.sequence if vote.revises is None else original.get(vote.revises, vote.revises)
        original[vote.sequence] = root
        latest[root] = vote
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]


def counted_votes(votes: list[Vote], criterion: str | None = None) -> list[Vote]:
    """Of votes that stand, those that say which arm is better: not those of raters who are left out, nor on gold and repeated
    duels, which are asked to learn about raters; on one criterion, where the study asks about several.
    """
    wanted = (None, criterion)
    return [v for v in votes if not v.excluded and v.kind is DuelKind.NORMAL and v.criterion in wanted]
