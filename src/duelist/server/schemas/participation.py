"""Schemas of how people enter a study and leave it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from duelist.server.schemas.base import RequestBody, ResponseBody
from duelist.study.participation.recruiting import MAX_PARAMETER_NAME, MAX_PARAMETER_VALUE, MAX_PARAMETERS

Parameters = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=MAX_PARAMETER_NAME)],
        Annotated[str, Field(max_length=MAX_PARAMETER_VALUE)],
    ],
    Field(max_length=MAX_PARAMETERS, description="Parameters of the address by which a rater came."),
]


class EntryRequest(RequestBody):
    """A person who has opened the rater page."""

    parameters: Parameters = Field(default_factory=dict)


class ConsentRequest(RequestBody):
    """A rater's answer to the consent form of this version."""

    version: Annotated[str, Field(max_length=500)]
    agrees: bool = True


class AnswersRequest(RequestBody):
    """Answers to the questionnaire by the names of its questions."""

    answers: Annotated[
        dict[Annotated[str, Field(max_length=50)], Annotated[str, Field(max_length=500)] | float | None],
        Field(max_length=50),
    ]


class DepartureSchema(ResponseBody):
    """How participation ended, with the completion code and the address to return to."""

    kind: Literal["completed", "screened_out", "timed_out", "full"]
    code: str | None
    redirect: str | None


class EntryResponse(ResponseBody):
    """How a person without a personal link may enter; the name and the content of the study are not for strangers."""

    may_enter: bool = Field(description="Whether the study is open to anyone, and open now.")
    is_open_to_anyone: bool
    needs_participant: bool = Field(description="Whether people enter with an id in the address, which is missing.")
    asks_name: bool
    departure: DepartureSchema | None = Field(description="Set if all places are taken.")


class EndingSchema(RequestBody):
    """A completion code, and an https address to return to; `{code}` and `{NAME}` may stand in its query."""

    code: str | None = None
    redirect: str | None = None


class RecruitingSchema(RequestBody):
    """How participants come from a recruiting service and return to it; missing fields have their default."""

    participant: str | None = Field(None, description="The URL parameter with the participant's id.")
    ask_name: bool = True
    places: int | None = None
    idle_minutes: float | None = None
    completed: EndingSchema | None = None
    screened_out: EndingSchema | None = None
    timed_out: EndingSchema | None = None
    full: EndingSchema | None = None
    embed_in: list[str] = Field(default_factory=list, description="Sites that may show the rater page in a frame.")
