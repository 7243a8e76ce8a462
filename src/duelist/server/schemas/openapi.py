"""Error responses of routes, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Final

from duelist.server.schemas.common import ErrorResponse

_WHAT: Final = {
    400: "The request cannot be read.",
    401: "No token, or an unknown one.",
    403: "The token has another scope, study or rater; or the CSRF header is missing.",
    404: "There is no such study, arm, duel, rater, token or file.",
    408: "The body did not arrive in time.",
    409: "A conflict: the name is taken, the vote contradicts another, no pair is left, or the study is not open.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "Unsupported content type.",
    422: "Invalid input.",
    429: "Too many requests; `Retry-After` has the seconds to wait.",
    431: "The headers are too long.",
    501: "An optional part of duelist is not installed.",
    503: "The storage or the background worker does not respond, or the server is stopping; try again.",
}

_CONTENT: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}

Responses = dict[int | str, dict[str, Any]]


def error_responses(*statuses: int) -> Responses:
    """Return these errors and those of every route, as references to `ErrorResponse`: repeating the schema slows the start."""
    every = sorted({*statuses, 400, 408, 413, 414, 429, 431, 503})
    return {status: {"description": _WHAT[status], "content": _CONTENT} for status in every}


ERROR_SCHEMA: Final[Responses] = {503: {"model": ErrorResponse, "description": _WHAT[503]}}
"""For one route, so that the schema of errors is part of the description."""
PUBLIC: Final = error_responses(422)
SIGNED_IN: Final = error_responses(401, 403, 422)
IN_STUDY: Final = error_responses(401, 403, 404, 409, 422)
