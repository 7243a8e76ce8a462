"""Schemas of results, where they differ from the records of the library."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from duelist.server.schemas.base import ResponseBody
from duelist.server.schemas.common import BlockSchema, NoteSchema
from duelist.server.schemas.records import schema_of
from duelist.study import Explanation, Rater, Vote
from duelist.study.analysis import Progress, Raters
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.raters.raters import RaterStatistics
from duelist.study.analysis.stopping import StudyRecommendation

CanStopResponse = schema_of(
    CanStop,
    "CanStopResponse",
    statement=Annotated[str, Field(description="The decision, its reason and the forecast in one sentence.")],
    reason=Annotated[str, Field(description="The reason alone.")],
)
RecommendationResponse = schema_of(
    StudyRecommendation,
    "RecommendationResponse",
    best=str,
    candidates=list[str],
    identical=list[str],
    tied=list[str],
    decided=bool,
    statement=str,
)
ProgressResponse = schema_of(Progress, "ProgressResponse", done=bool, statement=str)
ExplanationResponse = schema_of(Explanation, "ExplanationResponse", statement=str)
RaterRow = schema_of(
    RaterStatistics,
    "RaterRow",
    blocked=bool,
    erased=bool,
    attributes=Annotated[dict[str, Any], Field(description="Answers and notes; empty for readers.")],
    ending=Annotated[str | None, Field(description="How their participation ended; null for readers.")],
    excluded_by=Annotated[str | None, Field(description="The rule that excluded them; null for readers.")],
)
RatersResponse = schema_of(
    Raters,
    "RatersResponse",
    rows=list[RaterRow],  # type: ignore[valid-type]
    others=Annotated[list[Rater], Field(description="Raters who have attributes or are blocked, and have not voted.")],
)


class WinMatrixResponse(ResponseBody):
    """Counts of votes: `[i, j, wins of i, wins of j, ties, both bad]` for each pair i < j with a vote."""

    arms: list[str]
    cells: list[list[int]]
    n_arms: int


class WinChancesResponse(ResponseBody):
    """Probabilities of a win and of a tie for each pair of arms."""

    arms: list[str]
    win: list[list[float | None]]
    tie: list[list[float | None]]
    n_arms: int


class ArmSeriesSchema(ResponseBody):
    """One arm's probability of being the best."""

    arm: str
    chance: list[float]


class HistoryResponse(ResponseBody):
    """Probability of being the best by number of votes; `others` sums up the remaining arms."""

    votes: list[int]
    series: list[ArmSeriesSchema]
    others: list[float]
    n_arms: int


class QueuedDuelSchema(ResponseBody):
    """A pending or expired duel."""

    duel: int
    first: str
    second: str
    rater: str | None
    context: str | None
    kind: str
    chosen_by: str
    asked_at: datetime
    deadline: datetime


class QueueResponse(ResponseBody):
    """Pending duels, expired ones that wait for the next rater, and the numbers of returned duels and late votes."""

    pending: list[QueuedDuelSchema]
    expired: list[QueuedDuelSchema]
    returned: int
    late: int


class LogResponse(ResponseBody):
    """A page of the log; `next` is the `before` of the next page."""

    votes: list[Vote]
    next: int | None
    total: int


class ContextSchema(ResponseBody):
    """A context and its payload."""

    name: str
    prompt: Any


class ContextsResponse(ResponseBody):
    """Contexts; in a study of systems also their names and the categories of prompts."""

    contexts: list[ContextSchema]
    systems: list[str]
    categories: list[str]


class LabelsResponse(ResponseBody):
    """What names arms to people, by id: the label, and the address of the arm's picture, if it has one."""

    labels: dict[str, Annotated[list[str | None], Field(min_length=2, max_length=2)]]


class PreviewColumnSchema(ResponseBody):
    """A column of a file."""

    name: str
    role: str
    numeric: bool
    examples: list[str]


class PreviewItemSchema(ResponseBody):
    """An item as it would be imported."""

    id: str
    payload: Any
    context: str | None
    system: str | None
    content: list[BlockSchema]


class PreviewFeaturesSchema(ResponseBody):
    """A way to make features."""

    kind: str
    advice: str
    available: bool
    missing: str | None
    chosen: bool


class PreviewResponse(ResponseBody):
    """What an import of files would do."""

    kind: str
    rows: int
    encoding: str | None
    columns: list[PreviewColumnSchema]
    items: list[PreviewItemSchema]
    systems: list[str] = Field(description="The systems whose answers these are; none for plain items.")
    contexts: int
    features: list[PreviewFeaturesSchema]
    plan: dict[str, Any]
    notes: list[NoteSchema]
