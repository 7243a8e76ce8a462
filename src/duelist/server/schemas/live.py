"""Schemas of live comparison."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from duelist.server.schemas.base import RequestBody, ResponseBody
from duelist.server.schemas.common import Name

MAX_PROMPT = 20_000
"""Characters of a rater's own prompt."""


class LiveRequest(RequestBody):
    """A prompt for two systems."""

    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT, pattern=r"^[^\x00]*\S[^\x00]*$")]
    rater: Name | None = None


class RevealResponse(ResponseBody):
    """The systems whose answers a pair showed."""

    first: str | None
    second: str | None
