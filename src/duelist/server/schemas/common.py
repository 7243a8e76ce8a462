"""Schemas of requests and responses, which FastAPI validates and documents.

Request bodies end in `Request`, response bodies in `Response`, their parts in `Schema`. Where a study has a record, the schema is the
record or made from it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from duelist.server.schemas.base import RequestBody, ResponseBody
from duelist.server.schemas.participation import DepartureSchema, Parameters, RecruitingSchema
from duelist.server.schemas.records import schema_of
from duelist.study import Arm, Vote, VoteImportReport
from duelist.study.administration.tokens import Token
from duelist.study.validation import MAX_FEATURES

MAX_ID: int = 2**53
Name = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
Text = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
MAX_REASON = 2000
"""Characters of the reason for a vote."""
DuelId = Annotated[int, Field(ge=1, le=MAX_ID, description="The id of a duel.")]
StudyId = Annotated[int, Field(ge=1, le=MAX_ID)]
OutcomeName = Literal["first", "second", "tie", "both_bad", "skip"]


# -- errors ------------------------------------------------------------------------------


class ErrorSchema(ResponseBody):
    """An error."""

    code: str = Field(description="The code, for programs.", examples=["study_not_open"])
    message: str = Field(description="The problem, for people.")
    hint: str = Field(description="How to fix it.")
    field: str | None = Field(description="The part of the request that is wrong, if it is one.")


class ErrorResponse(ResponseBody):
    """The body of every error."""

    error: ErrorSchema


# -- sessions ----------------------------------------------------------------------------


class SignInRequest(RequestBody):
    """A token to exchange for a cookie."""

    token: Annotated[str, Field(min_length=1, max_length=500)]


class RegisterRequest(RequestBody):
    """A person who wants to become a rater."""

    name: Name | None = None
    parameters: Parameters = Field(default_factory=dict)


class SessionResponse(ResponseBody):
    """The scope and rater of a token."""

    scope: Literal["admin", "reader", "rater"]
    study: int | None
    study_name: str | None
    rater: str | None
    csrf: str
    expires_at: datetime | None


# -- raters ------------------------------------------------------------------------------


class BlockSchema(ResponseBody):
    """A block of content; docs/reference/http-api.md lists the types."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "markdown", "code", "image", "audio", "video", "message", "link"]


class SideSchema(ResponseBody):
    """One item of a pair; raters get only its content."""

    model_config = ConfigDict(extra="allow")

    content: list[BlockSchema]


class DuelResponse(ResponseBody):
    """A pair to compare; admins get more fields."""

    model_config = ConfigDict(extra="allow")

    id: int
    first: SideSchema
    second: SideSchema
    prompt: list[BlockSchema] | None
    context: str | None
    rater: str | None
    asked_at: datetime
    deadline: datetime


class DuelRequest(RequestBody):
    """A request for a duel."""

    rater: Name | None = None
    context: Name | None = None
    candidates: list[Name] | None = Field(None, max_length=10_000)
    in_progress: list[DuelId] = Field(default_factory=list, max_length=3)


class VoteRequest(RequestBody):
    """A vote."""

    duel: DuelId
    outcome: OutcomeName | None = None
    outcomes: dict[Name, OutcomeName] | None = Field(None, description="An outcome for each criterion.", max_length=100)
    criterion: Name | None = None
    rater: Name | None = None
    reason: str | None = Field(None, max_length=MAX_REASON, pattern=r"^[^\x00]*$")
    response_seconds: float | None = Field(None, ge=0, le=1e9)
    revise: bool = False
    source: Literal["human", "model", "import"] = "human"


class UndoRequest(RequestBody):
    """A vote to undo."""

    duel: DuelId
    criterion: Name | None = None
    rater: Name | None = None


class ReleaseRequest(RequestBody):
    """A duel to return without a vote."""

    duel: DuelId
    rater: Name | None = None


RATER_VOTE_FIELDS = ("sequence", "duel_id", "outcome", "late", "revises", "criterion")
"""Fields of a vote that its rater sees."""
RaterVote = schema_of(Vote, "RaterVote", only=RATER_VOTE_FIELDS)
VotesResponse = create_model(
    "VotesResponse",
    __doc__="Durable votes, as they are in the log; raters see a part of each.",
    votes=(list[Vote] | list[RaterVote], ...),  # type: ignore[arg-type, valid-type]
)


class RecentVoteSchema(ResponseBody):
    """One of a rater's most recent votes."""

    duel_id: int
    outcome: OutcomeName


class MeResponse(ResponseBody):
    """A rater's progress, and what the rating page needs to know about the study."""

    rater: str
    study: int
    study_name: str
    state: Literal["open", "paused", "ended", "archived"]
    question: str | None
    guidelines: str | None
    criteria: list[str]
    answers: list[OutcomeName]
    ask_reason: bool
    votes: int
    max_votes: int | None
    blocked: bool
    live: bool = Field(description="Whether systems answer the rater's own prompts.")
    departure: DepartureSchema | None = Field(description="How the rater's participation ended, if it has.")
    recent: list[RecentVoteSchema]
    flow: dict[str, Any] = Field(description="What the page shows around the pairs; see `duelist.study.Flow`.")
    step: Literal["consent", "questions", "practice"] | None = Field(
        description="What the rater has to do before the first pair."
    )


# -- studies -----------------------------------------------------------------------------


class SettingsSchema(RequestBody):
    """Settings of a study; missing ones keep their value or default."""

    policy_settings: dict[str, Any] | None = Field(None, description="Fixed when the study is created.")
    seed: int | None = Field(None, ge=0, le=MAX_ID, description="Fixed when the study is created.")
    arm_effects: bool | None = Field(
        None,
        description="Whether arms with features also have an arm effect; null for the goal's default. Fixed when the study is created.",
    )
    lease_seconds: float | None = None
    raters_per_duel: int | None = None
    random_share: float | None = None
    repeat_pairs: Literal["never"] | int | float | None = None
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    top: int | None = Field(
        None,
        ge=1,
        le=MAX_ID,
        description="Number of places that matter, for the goal rank. Fixed when the study is created.",
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
    language: str | None = None
    wordings: dict[str, dict[str, str | dict[str, str]]] | None = Field(
        None, description="Texts that replace sentences of the rater page, by language and key."
    )
    recruiting: RecruitingSchema | None = None
    flow: dict[str, Any] | None = Field(
        None,
        description="What raters see around the pairs: consent, questionnaire, practice, ... See `duelist.study.Flow`.",
    )


class CreateStudyRequest(RequestBody):
    """A study to create."""

    name: Name
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    policy: Name | None = None
    settings: SettingsSchema | None = None
    load_if_exists: bool = False


class FilePlanRequest(RequestBody):
    """How to import files of items, and how to create a study of them; missing options are guessed."""

    name: Name | None = None
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    policy: Name | None = None
    settings: SettingsSchema | None = None
    columns: dict[Literal["id", "payload", "context", "prompt", "system", "category"], str | None] | None = None
    systems: list[str] | None = Field(None, description="The columns of a file with one column of answers per system.")
    features: dict[Literal["kind", "columns", "size"], Any] | None = None
    encoding: Name | None = None


class UpdateStudyRequest(RequestBody):
    """Changes to a study."""

    name: Name | None = None
    state: Literal["open", "paused", "ended", "archived"] | None = None
    settings: SettingsSchema | None = None


class CopyStudyRequest(RequestBody):
    """A study to copy, by the name of the copy."""

    name: Name


class StudyResponse(ResponseBody):
    """A study."""

    id: int
    name: str
    state: Literal["open", "paused", "ended", "archived"]
    created_at: datetime
    arms: int
    duels: int
    votes: int
    settings: dict[str, Any]
    rate_url: str = Field(description="The page for raters, who have a personal link or register there.")


class StudiesResponse(ResponseBody):
    """Studies, oldest first."""

    studies: list[StudyResponse]


# -- arms --------------------------------------------------------------------------------


class NewArmSchema(RequestBody):
    """An arm to add."""

    id: Name
    features: list[float] | None = Field(None, max_length=MAX_FEATURES)
    payload: Any = None
    context: Name | None = None
    system: Name | None = Field(None, description="The system that gave this answer, in a study of systems.")
    category: Name | None = Field(None, description="The category of the prompt, in a study of systems.")


class AddArmsRequest(RequestBody):
    """Arms to add, all or none."""

    arms: list[NewArmSchema] = Field(min_length=1, max_length=100_000)
    prompts: dict[Name, Any] | None = Field(None, description="Payloads of contexts, by name.")


class NoteSchema(ResponseBody):
    """Something that the owner of a file should know."""

    code: str = Field(description="For programs.", examples=["outliers"])
    details: dict[str, Any]
    message: str = Field(description="The note as a sentence.")


class AddedArmsResponse(ResponseBody):
    """How many items are new, how many the study had already, and notes on the file that they came from."""

    added: int
    existing: int
    notes: list[NoteSchema] = Field(default_factory=list)


class ArmIdsRequest(RequestBody):
    """Ids of arms."""

    ids: list[Name] = Field(min_length=1, max_length=100_000)


class ArmCountsResponse(ResponseBody):
    """The number of arms, and of retired ones."""

    arms: int
    retired: int


ArmSchema = schema_of(Arm, "ArmSchema", content=list[BlockSchema])
ArmsResponse = create_model(
    "ArmsResponse",
    __doc__="A page of arms; `next` is the `after` of the next page.",
    arms=(list[ArmSchema], ...),  # type: ignore[valid-type]
    next=(int | None, ...),
    total=(int, ...),
)

# -- raters, gold, tokens ----------------------------------------------------------------


class BlockRequest(RequestBody):
    """A rater to block."""

    rater: Name
    exclude_votes: bool = False


class ReinstateRequest(RequestBody):
    """A rater to reinstate."""

    rater: Name


class DescribeRaterRequest(RequestBody):
    """Attributes of a rater; null removes one."""

    rater: Name
    attributes: dict[Name, Any]


class EraseRaterRequest(RequestBody):
    """A rater to erase; `confirm` repeats the name, since this cannot be undone."""

    rater: Name
    confirm: Name


class GoldPairSchema(RequestBody):
    """A pair with a known outcome."""

    first: Name
    second: Name
    outcome: Literal["first", "second", "tie", "both_bad"]


class PairRequest(RequestBody):
    """Two arms."""

    first: Name
    second: Name


class GoldPairsResponse(ResponseBody):
    """Pairs with a known outcome."""

    gold: list[GoldPairSchema]


class CreateTokenRequest(RequestBody):
    """A token to create."""

    scope: Literal["admin", "reader", "rater"]
    label: Name | None = None
    days: float | None = Field(None, gt=0, le=36_500)
    rater: Name | None = None


NewTokenResponse = schema_of(
    Token, "NewTokenResponse", token=Annotated[str, Field(description="The secret, shown once.")]
)


class TokensResponse(ResponseBody):
    """Tokens, oldest first."""

    tokens: list[Token]


class CreateLinksRequest(RequestBody):
    """Raters to create links for."""

    raters: list[Name] = Field(min_length=1, max_length=1000)
    days: float | None = Field(None, gt=0, le=36_500)


class LinkSchema(ResponseBody):
    """A personal link: it signs in as that rater."""

    rater: str
    url: str
    id: str
    expires_at: datetime | None


class LinksResponse(ResponseBody):
    """New links, which are shown only once."""

    links: list[LinkSchema]


class ActionSchema(ResponseBody):
    """An action of an owner or a reader."""

    number: int
    at: datetime
    token: str = Field(description="The id of the token.")
    label: str | None = Field(description="The label of the token.")
    address: str = Field(description="The IP address.")
    action: str = Field(examples=["POST /studies/{study}/raters/block"])
    study: int | None
    subject: str | None = Field(description="What it was about, such as the name of a rater.")


class ActionsResponse(ResponseBody):
    """A page of the audit log, newest first; `next` is the `before` of the next page."""

    actions: list[ActionSchema]
    next: int | None


class HealthResponse(ResponseBody):
    """The status of the server."""

    status: Literal["ok"]
    version: str


ImportResponse = schema_of(VoteImportReport, "ImportResponse", statement=str)
