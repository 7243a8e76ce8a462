"""What requests and answers look like; FastAPI checks and documents them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from duelist.server.schemas.records import schema_of
from duelist.study import Arm, Imported, Vote
from duelist.study.access import Token

MAX_ID: int = 2**53
Name = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]
Text = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
DuelId = Annotated[int, Field(ge=1, le=MAX_ID, description="The id of a duel.")]
StudyId = Annotated[int, Field(ge=1, le=MAX_ID)]
OutcomeName = Literal["first", "second", "tie", "both_bad", "skip"]


class RequestBody(BaseModel):
    """The body of a request: fields that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseBody(BaseModel):
    """The body of an answer."""


# -- errors ------------------------------------------------------------------------------


class ErrorSchema(ResponseBody):
    """What was refused."""

    code: str = Field(description="For programs.", examples=["study_not_open"])
    message: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do about it.")
    field: str | None = Field(description="Which part of the request is wrong, where it is one.")


class ErrorResponse(ResponseBody):
    """The one shape of errors."""

    error: ErrorSchema


# -- sessions ----------------------------------------------------------------------------


class SignInRequest(RequestBody):
    """A token that becomes a cookie."""

    token: Annotated[str, Field(min_length=1, max_length=500)]


class RegisterRequest(RequestBody):
    """Somebody who wants to rate."""

    name: Name | None = None


class SessionResponse(ResponseBody):
    """Who is signed in."""

    scope: Literal["admin", "reader", "rater"]
    study: int | None
    study_name: str | None
    rater: str | None
    csrf: str
    expires_at: datetime | None


# -- raters ------------------------------------------------------------------------------


class BlockSchema(ResponseBody):
    """Something to show; see docs/api.md for the kinds."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "markdown", "code", "image", "audio", "video", "message", "link"]


class SideSchema(ResponseBody):
    """What is shown on one side. Raters get the content alone."""

    model_config = ConfigDict(extra="allow")

    content: list[BlockSchema]


class DuelResponse(ResponseBody):
    """A pair to compare; admins are told more about it."""

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
    """A rater wants a duel."""

    rater: Name | None = None
    context: Name | None = None
    candidates: list[Name] | None = Field(None, max_length=10_000)
    in_progress: list[DuelId] = Field(default_factory=list, max_length=3)


class VoteRequest(RequestBody):
    """A rater's answer."""

    duel: DuelId
    outcome: OutcomeName | None = None
    outcomes: dict[Name, OutcomeName] | None = Field(None, description="An outcome for each criterion.", max_length=100)
    criterion: Name | None = None
    rater: Name | None = None
    reason: Text | None = None
    response_seconds: float | None = Field(None, ge=0, le=1e9)
    revise: bool = False
    source: Literal["human", "model", "import"] = "human"


class UndoRequest(RequestBody):
    """An answer that is taken back."""

    duel: DuelId
    criterion: Name | None = None
    rater: Name | None = None


class ReleaseRequest(RequestBody):
    """A duel that is given back without an answer."""

    duel: DuelId
    rater: Name | None = None


RATER_VOTE_FIELDS = ("sequence", "duel_id", "outcome", "late", "revises", "criterion")
"""What a rater sees of their own votes."""
RaterVote = schema_of(Vote, "RaterVote", only=RATER_VOTE_FIELDS)
VotesResponse = create_model(
    "VotesResponse",
    __doc__="Durable votes, as they are in the log; raters see a part of each.",
    votes=(list[Vote] | list[RaterVote], ...),  # type: ignore[arg-type, valid-type]
)


class RecentVoteSchema(ResponseBody):
    """One of a rater's newest votes."""

    duel_id: int
    outcome: OutcomeName


class MeResponse(ResponseBody):
    """A rater's own part of a study."""

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
    recent: list[RecentVoteSchema]


# -- studies -----------------------------------------------------------------------------


class SettingsSchema(RequestBody):
    """SettingsSchema of a study; what is not given stays as it is, or has its default."""

    policy_settings: dict[str, Any] | None = Field(None, description="Fixed once the study is there.")
    seed: int | None = Field(None, ge=0, le=MAX_ID, description="Fixed once the study is there.")
    arm_effects: bool | None = Field(
        None,
        description="Whether arms with features have an arm effect, too; null: as the goal has it. Fixed once the study is there.",
    )
    lease_seconds: float | None = None
    raters_per_duel: int | None = None
    random_share: float | None = None
    repeat_pairs: Literal["never"] | int | float | None = None
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    top: int | None = Field(None, ge=1, le=MAX_ID, description="For the goal rank, how many places matter. Fixed, too.")
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


class CreateStudyRequest(RequestBody):
    """A study to be made."""

    name: Name
    goal: Literal["best", "rank", "learn", "serve"] | None = None
    policy: Name | None = None
    settings: SettingsSchema | None = None
    load_if_exists: bool = False


class UpdateStudyRequest(RequestBody):
    """What is to be changed of a study."""

    name: Name | None = None
    state: Literal["open", "paused", "ended", "archived"] | None = None
    settings: SettingsSchema | None = None


class CopyStudyRequest(RequestBody):
    """The name of a copy."""

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
    rate_url: str = Field(description="What raters open; each with a link of their own, or registration_limiter there.")


class StudiesResponse(ResponseBody):
    """StudiesResponse, oldest first."""

    studies: list[StudyResponse]


# -- arms --------------------------------------------------------------------------------


class NewArmSchema(RequestBody):
    """An arm."""

    id: Name
    features: list[float] | None = Field(None, max_length=100_000)
    payload: Any = None
    context: Name | None = None


class AddArmsRequest(RequestBody):
    """ArmsResponse, all of them or none."""

    arms: list[NewArmSchema] = Field(min_length=1, max_length=100_000)
    prompts: dict[Name, Any] | None = Field(None, description="What contexts are, by name.")


class AddedArmsResponse(ResponseBody):
    """How many arms are new, and how many were there already; of a file, what its owner should know, a sentence each."""

    added: int
    there: int
    notes: list[str] = Field(default_factory=list)


class ArmIdsRequest(RequestBody):
    """ArmsResponse by their ids."""

    ids: list[Name] = Field(min_length=1, max_length=100_000)


class ArmCountsResponse(ResponseBody):
    """How many arms there are, and how many of them are retired."""

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
    """A rater who is asked no more."""

    rater: Name
    keep_votes: bool = False


class ReinstateRequest(RequestBody):
    """A rater."""

    rater: Name


class DescribeRaterRequest(RequestBody):
    """What is known of a rater."""

    rater: Name
    attributes: dict[Name, Any]


class EraseRaterRequest(RequestBody):
    """A rater to be forgotten; the name twice, since there is no way back."""

    rater: Name
    confirm: Name


class GoldPairSchema(RequestBody):
    """A pair whose answer is known."""

    first: Name
    second: Name
    outcome: Literal["first", "second", "tie", "both_bad"]


class PairRequest(RequestBody):
    """Two arms."""

    first: Name
    second: Name


class GoldPairsResponse(ResponseBody):
    """The pairs whose answers are known."""

    gold: list[GoldPairSchema]


class CreateTokenRequest(RequestBody):
    """A token to be made."""

    scope: Literal["admin", "reader", "rater"]
    label: Name | None = None
    days: float | None = Field(None, gt=0, le=36_500)
    rater: Name | None = None


NewTokenResponse = schema_of(
    Token, "NewTokenResponse", token=Annotated[str, Field(description="The secret, shown once.")]
)


class TokensResponse(ResponseBody):
    """TokensResponse, oldest first."""

    tokens: list[Token]


class CreateLinksRequest(RequestBody):
    """Raters who get a link each."""

    raters: list[Name] = Field(min_length=1, max_length=1000)
    days: float | None = Field(None, gt=0, le=36_500)


class LinkSchema(ResponseBody):
    """A link for one rater; whoever has it votes under that name."""

    rater: str
    url: str
    id: str
    expires_at: datetime | None


class LinksResponse(ResponseBody):
    """The links; they are shown this once."""

    links: list[LinkSchema]


class HealthResponse(ResponseBody):
    """Whether the server and its storage answer."""

    status: Literal["ok"]
    version: str


ImportResponse = schema_of(Imported, "ImportResponse", statement=str)
