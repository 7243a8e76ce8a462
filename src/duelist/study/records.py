"""The records of a study: settings, arms, raters, duels and votes, as frozen values.

Times are UTC with a time zone. Users name arms by `id`; inside a study arms have a `number`, dense from 0 in the order they were added.
The log only grows: a vote that is revised or undone stays in it, and a later row replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from duelist.study.participation.flow import Flow, checked_flow
from duelist.study.participation.recruiting import Recruiting, checked_recruiting


class Outcome(StrEnum):
    """The outcome of a vote."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    BOTH_BAD = "both_bad"
    SKIP = "skip"

    @property
    def mirrored(self) -> Outcome:
        """The same outcome with the sides swapped."""
        return {Outcome.FIRST: Outcome.SECOND, Outcome.SECOND: Outcome.FIRST}.get(self, self)


class Source(StrEnum):
    """Where a vote comes from."""

    HUMAN = "human"
    MODEL = "model"
    IMPORT = "import"


class ChosenBy(StrEnum):
    """How a pair was chosen: by the policy, at random (for off-policy evaluation), by an import, or by the owner."""

    POLICY = "policy"
    RANDOM = "random"
    IMPORT = "import"
    OWNER = "owner"


class DuelKind(StrEnum):
    """NORMAL duels compare arms. GOLD duels, whose outcome is known, and REPEAT duels check raters."""

    NORMAL = "normal"
    GOLD = "gold"
    REPEAT = "repeat"


class StudyState(StrEnum):
    """An open study asks and accepts votes, a paused one only accepts votes, an ended one does neither, an archived one is read-only."""

    OPEN = "open"
    PAUSED = "paused"
    ENDED = "ended"
    ARCHIVED = "archived"


WIN_SHARES: Final[dict[Outcome, float]] = {
    Outcome.FIRST: 1.0,
    Outcome.SECOND: 0.0,
    Outcome.TIE: 0.5,
    Outcome.BOTH_BAD: 0.5,
}
"""The first arm's share of the win, by outcome; a skip teaches nothing."""


class GoldPair(NamedTuple):
    """A pair of arms whose outcome is known, to check raters."""

    first: str
    second: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class StudySettings:
    """The settings of a study, see `create_study`; the policy, its settings and the seed are fixed."""

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
    language: str | None = None
    wordings: dict[str, dict[str, Any]] = field(default_factory=dict)
    feature_recipe: dict[str, Any] | None = None
    recruiting: Recruiting = field(default_factory=Recruiting)
    flow: Flow = field(default_factory=Flow)

    def __post_init__(self) -> None:
        # Storages store settings as JSON, which has no tuples.
        gold = tuple(GoldPair(first, second, Outcome(outcome)) for first, second, outcome in self.gold)
        object.__setattr__(self, "criteria", tuple(self.criteria))
        object.__setattr__(self, "gold", gold)
        object.__setattr__(self, "recruiting", checked_recruiting(self.recruiting))
        object.__setattr__(self, "flow", checked_flow(self.flow))
        object.__setattr__(self, "answers", tuple(Outcome(answer) for answer in self.answers))

    @property
    def top(self) -> int | None:
        """The number of places that matter to a ranking study; None: all."""
        return self.policy_settings.get("top")

    @property
    def has_hidden_kinds(self) -> bool:
        """Whether raters get gold, repeated or random pairs, which they must not recognize."""
        return bool(self.gold and self.gold_share) or isinstance(self.repeat_pairs, float) or self.random_share > 0.0

    @property
    def main_criterion(self) -> str | None:
        """The criterion that the policy learns: the first, or None if there is a single question."""
        return self.criteria[0] if self.criteria else None


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm; its features are row `number` of `Study.features()`.

    In a study of systems an arm is the answer of `system` to the prompt
    `context`, and `category` is that of the prompt.
    """

    number: int
    id: str
    payload: Any = None
    context: str | None = None
    version: int = 1
    retired: bool = False
    system: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Rater:
    """What is recorded of a rater.

    A `blocked` rater is not asked, the votes of an `excluded` one do not count,
    and the name of an `erased` one is a pseudonym. `parameters` are those of
    the address by which they came, `entered_at` is when they entered a study
    that is open to anyone, and `ending` is how their participation ended.
    `consented_at` is when they agreed to the version `consent_version` of the
    consent form, and `excluded_by` the rule (gold, fast, side) that excluded
    them automatically.
    """

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    blocked: bool = False
    excluded: bool = False
    erased: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    entered_at: datetime | None = None
    ending: str | None = None
    consented_at: datetime | None = None
    consent_version: str | None = None
    excluded_by: str | None = None


@dataclass(frozen=True, slots=True)
class StudyDuel:
    """A duel that a rater is asked; `first` is shown on the left.

    `swapped` says whether the policy named the arms in the other order. `layer`
    and `share` are for the policy, when it learns the outcome. `propensity` is
    the probability with which a random pair was drawn. `prompt` is the payload
    of the context: a text, messages, or any JSON.
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
    """A row of the log; `sequence` is dense from 1 in the order of acceptance.

    A row that `revises` another replaces it; if its outcome is None, the vote
    was undone. `voted_at` is None for an imported vote whose time is unknown.
    `criterion` is None if the study asks a single question. `expected` is the
    known outcome of a gold duel. An `excluded` vote is by a rater whose votes
    do not count.
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


class _LogRow(Protocol):
    """A row of the log in any form."""

    @property
    def sequence(self) -> int: ...
    @property
    def revises(self) -> int | None: ...
    @property
    def outcome(self) -> Outcome | None: ...


LogRow = TypeVar("LogRow", bound=_LogRow)


def current_votes(votes: Iterable[LogRow]) -> list[LogRow]:
    """Return votes after revisions and undos, in the order first given; `counted_votes` are those of them that rank arms.

    A revision of a revision replaces the same original vote.
    """
    original: dict[int, int] = {}
    latest: dict[int, LogRow] = {}
    for vote in votes:
        root = vote.sequence if vote.revises is None else original.get(vote.revises, vote.revises)
        original[vote.sequence] = root
        latest[root] = vote
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]


def counted_votes(votes: Iterable[Vote], criterion: str | None = None) -> list[Vote]:
    """Return the current votes that rank arms: on normal duels, without excluded raters, on one criterion."""
    wanted = (None, criterion)
    return [v for v in votes if not v.excluded and v.kind is DuelKind.NORMAL and v.criterion in wanted]
