"""What requests and answers look like; FastAPI checks and documents them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LARGEST: int = 2**53
Name = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
Text = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
DuelId = Annotated[int, Field(ge=1, le=LARGEST, description="The id of a duel.")]
StudyId = Annotated[int, Field(ge=1, le=LARGEST)]
Answer = Literal["first", "second", "tie", "both_bad", "skip"]


class Asked(BaseModel):
    """The body of a request: fields that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Said(BaseModel):
    """The body of an answer."""


# -- errors ------------------------------------------------------------------------------


class Error(Said):
    """What was refused."""

    code: str = Field(description="For programs.", examples=["study_not_open"])
    message: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do about it.")
    field: str | None = Field(description="Which part of the request is wrong, where it is one.")


class Errors(Said):
    """The one shape of errors."""

    error: Error


# -- sessions ----------------------------------------------------------------------------


class SignIn(Asked):
    """A token that becomes a cookie."""

    token: Annotated[str, Field(min_length=1, max_length=500)]


class Register(Asked):
    """Somebody who wants to rate."""

    name: Name | None = None


class Session(Said):
    """Who is signed in."""

    scope: Literal["admin", "reader", "rater"]
    study: int | None
    study_name: str | None
    rater: str | None
    csrf: str
    expires_at: datetime | None


# -- raters ------------------------------------------------------------------------------


class Block(Said):
    """Something to show; see docs/api.md for the kinds."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "markdown", "code", "image", "audio", "video", "message", "link"]


class Side(Said):
    """What is shown on one side. Raters get the content alone."""

    model_config = ConfigDict(extra="allow")

    content: list[Block]


class Duel(Said):
    """A pair to compare; admins are told more about it."""

    model_config = ConfigDict(extra="allow")

    id: int
    first: Side
    second: Side
    prompt: list[Block] | None
    context: str | None
    rater: str | None
    asked_at: datetime
    deadline: datetime


class AskFor(Asked):
    """A rater wants a duel."""

    rater: Name | None = None
    context: Name | None = None
    candidates: list[Name] | None = Field(None, max_length=10_000)
    in_progress: list[DuelId] = Field(default_factory=list, max_length=3)


class Told(Asked):
    """A rater's answer."""

    duel: DuelId
    outcome: Answer | None = None
    outcomes: dict[Name, Answer] | None = Field(None, description="An outcome for each criterion.", max_length=100)
    criterion: Name | None = None
    rater: Name | None = None
    reason: Text | None = None
    response_seconds: float | None = Field(None, ge=0, le=1e9)
    revise: bool = False
    source: Literal["human", "model", "import"] = "human"


class Undone(Asked):
    """An answer that is taken back."""

    duel: DuelId
    criterion: Name | None = None
    rater: Name | None = None


class Released(Asked):
    """A duel that is given back without an answer."""

    duel: DuelId
    rater: Name | None = None


class VoteGiven(Said):
    """A vote as its rater is told of it; admins are told more."""

    model_config = ConfigDict(extra="allow")

    sequence: int
    duel: int
    outcome: Answer | None
    late: bool
    revises: int | None
    criterion: str | None


class Votes(Said):
    """The votes as they stand in the log; they are durable."""

    votes: list[VoteGiven]


class LastVote(Said):
    """One of a rater's newest votes."""

    duel: int
    outcome: Answer


class Me(Said):
    """A rater's own part of a study."""

    rater: str
    study: int
    study_name: str
    state: Literal["open", "paused", "ended", "archived"]
    question: str | None
    guidelines: str | None
    criteria: list[str]
    answers: list[Answer]
    ask_reason: bool
    votes: int
    max_votes: int | None
    blocked: bool
    last: list[LastVote]


# -- studies -----------------------------------------------------------------------------


class Settings(Asked):
    """Settings of a study; what is not given stays as it is, or has its default."""

    policy_settings: dict[str, Any] | None = Field(None, description="Fixed once the study is there.")
    seed: int | None = Field(None, ge=0, le=LARGEST, description="Fixed once the study is there.")
    arm_effects: bool | None = Field(
        None,
        description="Whether arms with features have an arm effect, too; null: as the goal has it. Fixed once the study is there.",
    )
    lease_seconds: float | None = None
    raters_per_duel: int | None = None
    random_share: float | None = None
    repeat_pairs: Literal["never"] | int | float | None = None
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    top: int | None = Field(
        None, ge=1, le=LARGEST, description="For the goal rank, how many places matter. Fixed, too."
    )
    criteria: list[Name] | None = None
    max_votes: int | None = None
    max_votes_per_pair: int | None = None
    max_votes_per_rater: int | None = None
    gold_share: float | None = None
    question: Text | None = None
    guidelines: Text | None = None
    answers: list[Literal["tie", "both_bad", "skip"]] | None = None
    ask_reason: bool | None = None
    show_as: Literal["text", "markdown", "code"] | None = None
    open_registration: bool | None = None


class NewStudy(Asked):
    """A study to be made."""

    name: Name
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    policy: Name | None = None
    settings: Settings | None = None
    load_if_exists: bool = False


class ChangedStudy(Asked):
    """What is to be changed of a study."""

    name: Name | None = None
    state: Literal["open", "paused", "ended", "archived"] | None = None
    settings: Settings | None = None


class CopiedStudy(Asked):
    """The name of a copy."""

    name: Name


class Study(Said):
    """A study."""

    id: int
    name: str
    state: Literal["open", "paused", "ended", "archived"]
    created_at: datetime
    arms: int
    duels: int
    votes: int
    settings: dict[str, Any]
    rate_url: str = Field(description="What raters open; each with a link of their own, or registering there.")


class Studies(Said):
    """Studies, oldest first."""

    studies: list[Study]


# -- arms --------------------------------------------------------------------------------


class NewArm(Asked):
    """An arm."""

    id: Name
    features: list[float] | None = Field(None, max_length=100_000)
    payload: Any = None
    context: Name | None = None


class NewArms(Asked):
    """Arms, all of them or none."""

    arms: list[NewArm] = Field(min_length=1, max_length=100_000)
    prompts: dict[Name, Any] | None = Field(None, description="What contexts are, by name.")


class Added(Said):
    """How many arms are new, and how many were there already; of a file, what its owner should know, a sentence each."""

    added: int
    there: int
    notes: list[str] = Field(default_factory=list)


class ArmIds(Asked):
    """Arms by their ids."""

    ids: list[Name] = Field(min_length=1, max_length=100_000)


class Retired(Said):
    """How many arms there are, and how many of them are retired."""

    arms: int
    retired: int


class Arm(Said):
    """An arm."""

    id: str
    number: int
    payload: Any
    content: list[Block]
    context: str | None
    version: int
    retired: bool


class Arms(Said):
    """A page of arms."""

    arms: list[Arm]
    next: int | None
    total: int


# -- raters, gold, tokens ----------------------------------------------------------------


class Blocked(Asked):
    """A rater who is asked no more."""

    rater: Name
    keep_votes: bool = False


class RaterName(Asked):
    """A rater."""

    rater: Name


class Described(Asked):
    """What is known of a rater."""

    rater: Name
    attributes: dict[Name, Any]


class Forgotten(Asked):
    """A rater to be forgotten; the name twice, since there is no way back."""

    rater: Name
    confirm: Name


class Rater(Said):
    """What was said of a rater."""

    name: str
    attributes: dict[str, Any]
    blocked: bool
    excluded: bool
    erased: bool


class ErasedRater(Said):
    """The made-up name, null if there was nobody of that name, and how many votes were kept."""

    name: str | None
    votes: int


class Gold(Asked):
    """A pair whose answer is known."""

    first: Name
    second: Name
    outcome: Literal["first", "second", "tie", "both_bad"]


class Pair(Asked):
    """Two arms."""

    first: Name
    second: Name


class GoldPairs(Said):
    """The pairs whose answers are known."""

    gold: list[Gold]


class NewToken(Asked):
    """A token to be made."""

    scope: Literal["admin", "reader", "rater"]
    label: Name | None = None
    days: float | None = Field(None, gt=0, le=36_500)
    rater: Name | None = None


class Token(Said):
    """A token, without its secret."""

    id: str
    scope: Literal["admin", "reader", "rater"]
    study: int | None
    rater: str | None
    label: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked: bool


class MadeToken(Token):
    """A token with its secret, which is shown this once."""

    token: str


class Tokens(Said):
    """Tokens, oldest first."""

    tokens: list[Token]


class Links(Asked):
    """Raters who get a link each."""

    raters: list[Name] = Field(min_length=1, max_length=1000)
    days: float | None = Field(None, gt=0, le=36_500)


class Link(Said):
    """A link for one rater; whoever has it votes under that name."""

    rater: str
    url: str
    id: str
    expires_at: datetime | None


class MadeLinks(Said):
    """The links; they are shown this once."""

    links: list[Link]


class Health(Said):
    """Whether the server and its storage answer."""

    status: Literal["ok"]
    version: str


class Imported(Said):
    """What became of an import."""

    added: int
    known: int
    revised: int
    left_out: dict[str, int]
    dropped: dict[str, int]
    set_aside: dict[str, int]
    statement: str
