"""Errors over HTTP: one JSON body, with a code for programs, and a message and a hint for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException

from duelist.core import errors
from duelist.server.hints import HINTS

MALFORMED: Final = "malformed"
_STATUS: Final[dict[type[errors.DuelistError], int]] = {
    errors.UnknownStudy: 404,
    errors.UnknownArm: 404,
    errors.UnknownDuel: 404,
    errors.UnknownRater: 404,
    errors.UnknownToken: 404,
    errors.StudyExists: 409,
    errors.VoteConflict: 409,
    errors.NothingToAsk: 409,
    errors.NoPairsLeft: 409,
    errors.LimitReached: 409,
    errors.StudyNotOpen: 409,
    errors.RaterBlocked: 409,
    errors.InvalidArchive: 422,
    errors.MissingExtra: 501,
    errors.StorageLocked: 503,
    errors.StorageFull: 503,
    errors.StorageReadOnly: 503,
    errors.ConnectionLost: 503,
    errors.StorageError: 503,
}


class RequestError(HTTPException):
    """An error that the server itself finds in a request."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str = "",
        field: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.body = error_body(code, message, hint, field)


def error_body(code: str, message: str, hint: str = "", field: str | None = None) -> dict[str, Any]:
    """Return the JSON body of every error."""
    return {"error": {"code": code, "message": message, "hint": hint, "field": field}}


def of_error(error: errors.DuelistError) -> tuple[int, dict[str, Any]]:
    """Return the status and the body for an error of the library."""
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
    return status, error_body(error.code, error.message, error.hint_from(HINTS), error.field)


def of_validation(found: Sequence[Any]) -> RequestError:
    """Return the error for a request that does not fit the documented schema."""
    first = found[0]
    if first["type"] == "json_invalid":
        return RequestError(400, MALFORMED, f"The body is not JSON: {first['msg']}.", "Send JSON in UTF-8.")
    name = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "body"
    message = f"{name}: {first['msg'][:1].lower()}{first['msg'][1:]}."
    return RequestError(422, "invalid_input", message, "See docs/api.md and /api/v1/openapi.json.", name)
