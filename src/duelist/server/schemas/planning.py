"""Schemas of plans of studies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from duelist.server.schemas.base import RequestBody, ResponseBody


class StudyPlanRequest(RequestBody):
    """What to plan; see `duelist.study.planning.plan_study`."""

    items: int = Field(ge=2, le=500)
    goal: Literal["best", "rank", "learn", "serve"] = "best"
    raters: int = Field(20, ge=1, le=10_000)
    votes_per_rater: int = Field(50, ge=1, le=10_000)
    effect: float = Field(
        0.7, ge=0.505, le=0.99, description="Share of votes that the better of two items wins, on average."
    )
    top: int | None = Field(None, ge=1, le=500)
    tolerance: float = Field(0.0, ge=0, le=0.4, description="In win probability above one half.")
    pay_per_rater: float = Field(0.0, ge=0, le=1e6)
    pay_per_vote: float = Field(0.0, ge=0, le=1e6)


class Spread(ResponseBody):
    """A tenth of studies need less than `low`, half need less than `median`, and a tenth more than `high`."""

    low: float
    median: float
    high: float


class DecidedBy(ResponseBody):
    """The shares of simulated studies that are decided, and rightly decided, by this number of votes, with a 95 % interval."""

    votes: int
    decided: float
    low: float
    high: float
    right: float


class StudyPlanResponse(ResponseBody):
    """What to expect of a study, from simulated studies."""

    runs: int
    budget: int = Field(description="The most votes that the raters can give.")
    chance_decided: float
    chance_right: float
    chance_wrong: float
    agreement: float = Field(description="Share of pairs of items whose order is right at the end, on average.")
    votes: Spread
    costs: Spread
    most_cost: float
    votes_needed: int | None = Field(
        description="Votes after which four in five studies are decided; null if too many."
    )
    advice: str
    curve: list[DecidedBy]
