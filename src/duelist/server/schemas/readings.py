"""What readings look like where they say more, or say it shorter, than the library's own records."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from duelist.server.schemas.common import BlockSchema, OutcomeName, ResponseBody


class CanStopResponse(ResponseBody):
    """Whether to stop asking, and why."""

    done: bool
    statement: str = Field(description="All of it in one sentence.")
    reason: str = Field(description="Why, without the verdict and the forecast.")
    goal: str
    context: str | None
    votes_expected: int | None = Field(
        description="Votes still needed if they go on as so far; null where nobody can say."
    )


class RecommendationResponse(ResponseBody):
    """The arm to name."""

    best: str
    probability: float
    interval: list[float] = Field(min_length=2, max_length=2)
    candidates: list[str]
    delta: float
    identical: list[str] = Field(description="Arms with the features of the best, named with it.")
    tied: list[str] = Field(
        description="Arms exactly as good as the best by the votes so far; where there are any, nobody leads."
    )
    tolerance: float = Field(description="In utility.")
    tolerance_given: list[float | str] | None = Field(
        min_length=2, max_length=2, description="As it was given, and its unit."
    )
    votes_expected: int | None
    advice: str
    decided: bool
    statement: str


class ProgressResponse(ResponseBody):
    """How near a study is to knowing its best arm."""

    leader: str
    chance_best: float
    not_ruled_out: int
    arms: int
    votes: int
    delta: float
    note: str | None
    votes_expected: int | None
    tied: int = Field(description="Other arms exactly as good as the leader by the votes so far.")
    identical: int = Field(description="Other arms with the features of the leader, which no vote can tell from it.")
    done: bool
    statement: str


class WinMatrixResponse(ResponseBody):
    """Who won against whom: `[i, j, wins of i, wins of j, ties, both bad]` for each pair i < j with any vote."""

    arms: list[str]
    cells: list[list[int]]
    n_arms: int


class WinChancesResponse(ResponseBody):
    """The chance that each arm wins against each other, and of a tie."""

    arms: list[str]
    win: list[list[float | None]]
    tie: list[list[float | None]]
    n_arms: int


class ArmSeriesSchema(ResponseBody):
    """One arm's chance of being best."""

    arm: str
    chance: list[float]


class HistoryResponse(ResponseBody):
    """The chance of being best after so many votes; the arms that are not named together in `others`."""

    votes: list[int]
    series: list[ArmSeriesSchema]
    others: list[float]
    n_arms: int


class RaterStatisticsSchema(ResponseBody):
    """A rater."""

    rater: str
    votes: int
    ties: int
    both_bad: int
    skips: int
    median_seconds: float | None
    votes_per_hour: float | None
    first_share: float | None
    first_low: float | None
    first_high: float | None
    agreement_others: float | None
    kappa: float | None
    repeats: int
    repeat_agreement: float | None
    gold: int
    gold_right: float | None
    agreement_model: float | None
    expected_model: float | None
    excluded: bool
    reasons: list[str]
    blocked: bool
    erased: bool
    attributes: dict[str, Any]


class RatersResponse(ResponseBody):
    """Raters who have voted, and, in `others`, those of whom only something was said."""

    rows: list[RaterStatisticsSchema]
    level: float
    false_alarms: float
    alpha: float | None
    others: list[dict[str, Any]]


class QueuedDuelSchema(ResponseBody):
    """A duel in somebody's hands."""

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
    """What is out; whose time is over and who asks next will get; how many came back unanswered so far; votes that came late."""

    out: list[QueuedDuelSchema]
    over: list[QueuedDuelSchema]
    returned: int
    late: int


class VoteSchema(ResponseBody):
    """A row of the log."""

    sequence: int
    duel: int
    outcome: OutcomeName | None
    rater: str | None
    voted_at: datetime | None
    first: str
    second: str
    context: str | None
    source: str
    response_seconds: float | None
    late: bool
    revises: int | None
    chosen_by: str
    propensity: float | None
    reason: str | None
    criterion: str | None
    kind: str
    expected: OutcomeName | None
    excluded: bool


class LogResponse(ResponseBody):
    """A page of the log; `next` is the `before` of the next."""

    votes: list[VoteSchema]
    next: int | None
    total: int


class CandidateSchema(ResponseBody):
    """A candidate."""

    arm: str
    utility: float
    width: float


class ExplanationResponse(ResponseBody):
    """Why a pair was asked."""

    duel: int
    first: str
    second: str
    kind: str
    chosen_by: str
    propensity: float | None
    policy: str
    utility_first: float
    utility_second: float
    width: float
    wider_pairs: float
    chance_first: float
    candidates: int
    considered: list[CandidateSchema]
    wins: list[float] | None = Field(
        description="Of the first over the second and back, for policies that count; else null."
    )
    statement: str


class ContextSchema(ResponseBody):
    """A group of arms."""

    name: str
    prompt: Any


class ContextsResponse(ResponseBody):
    """The groups of arms."""

    contexts: list[ContextSchema]


class PreviewColumnSchema(ResponseBody):
    """A column of a file."""

    name: str
    role: str
    numeric: bool
    examples: list[str]


class PreviewArmSchema(ResponseBody):
    """An arm as it would be."""

    id: str
    payload: Any
    context: str | None
    content: list[BlockSchema]


class PreviewFeaturesSchema(ResponseBody):
    """A way to make features."""

    kind: str
    advice: str
    available: bool
    missing: str | None
    chosen: bool


class PreviewResponse(ResponseBody):
    """What files were understood as."""

    kind: str
    rows: int
    encoding: str | None
    columns: list[PreviewColumnSchema]
    arms: list[PreviewArmSchema]
    contexts: int
    features: list[PreviewFeaturesSchema]
    plan: dict[str, Any]
    notes: list[str]
