"""The errors that each kind of route may answer with, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Final

from duelist.server.schemas.common import ErrorResponse

_WHAT: Final = {
    400: "The request cannot be read.",
    401: "No token, or one that is not known.",
    403: "Another scope, another study, another rater; or the CSRF header is missing.",
    404: "There is no such study, arm, duel, rater, token or file.",
    409: "Not as things are: the name is taken, the vote contradicts another, nothing is left to ask, the study is not open.",
    413: "The body is too large.",
    415: "A kind of body that is not read.",
    422: "Something in the request makes no sense.",
    429: "Too many requests; `Retry-After` says when to come back.",
    501: "A part of duelist that is not installed.",
    503: "The storage does not answer, or the server stops; try again.",
}

_CONTENT: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}

Responses = dict[int | str, dict[str, Any]]


def error_responses(*statuses: int) -> Responses:
    """Return these errors and those of every route, as references to `ErrorResponse`: repeating the schema slows the start."""
    every = sorted({*statuses, 400, 413, 429, 503})
    return {status: {"description": _WHAT[status], "content": _CONTENT} for status in every}


ERROR_SCHEMA: Final[Responses] = {503: {"model": ErrorResponse, "description": _WHAT[503]}}
"""For one route, so that the shape of errors is described."""
PUBLIC: Final = error_responses(422)
SIGNED_IN: Final = error_responses(401, 403, 422)
IN_STUDY: Final = error_responses(401, 403, 404, 409, 422)
