"""Errors over HTTP: status, code, message, hint and field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from starlette.exceptions import HTTPException

from duelist.core import errors
from duelist.server.content import replace_surrogates

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
    errors.RaterExists: 409,
    errors.InvalidArchive: 422,
    errors.MissingExtra: 501,
    errors.NotAllowed: 403,
    errors.SystemFailed: 502,
}
_STORAGE_MESSAGES: Final = {
    "storage_locked": "The database is busy.",
    "storage_full": "The database is out of space.",
    "storage_read_only": "The database cannot be written to.",
    "connection_lost": "The database cannot be reached.",
}
"""Messages without names of databases, users, hosts and files, which strangers need not know; the log has them."""
_STATUS_BY_CODE: Final = {MALFORMED: 400, "too_large": 413}
"""Errors that the background worker finds in the body of a request."""

HINTS: Final = {
    "invalid_input.rater_model": "Give auto, true or false.",
    "invalid_input.arms_shape": "Give one feature vector per item.",
    "invalid_input.class_not_registered": "Ask the server's administrator to register it with {variable}={name}.",
    "invalid_input.column_missing": "Its columns are {columns}. Rename the one that is meant to {column}.",
    "invalid_input.copy_target": "Send another name.",
    "invalid_input.criterion_missing": 'Name the one that the vote is on in "criterion", or send "outcomes" to vote on all of them.',
    "invalid_input.encoding": "Save it as UTF-8.",
    "invalid_input.horizon_missing": 'Send "policy_settings": {{"horizon": 1000}}, or choose RUCB or DTS.',
    "invalid_input.other_features": "Give this one another id, or the stored features.",
    "invalid_input.same_content": "Name the items in a column named id if this is another one, or give it the stored features.",
    "limit_reached.per_rater": "An owner of the study can raise the limit.",
    "limit_reached.total": "An owner of the study can raise the limit.",
    "missing_extra.encoding": "Save it as UTF-8, or name its encoding.",
    "nothing_to_ask.too_few_arms": "An owner of the study can add items, or bring retired ones back.",
    "rater_blocked.blocked": "An owner of the study can reinstate them.",
    "step_missing": "Open the rater page, which shows what comes first.",
    "study_full": "Try again later: places of participants who drop out are given to others.",
    "study_exists.name": 'Use it, send "load_if_exists": true, or choose another name.',
    "study_exists.settings": "Leave it out, change it with `PATCH` of the study where it can be changed, or choose another name.",
    "study_not_open": "An owner can open it again.",
    "unknown_arm.arm": "An owner of the study can add it.",
    "unknown_arm.context": "An owner of the study can add its items.",
    "unknown_arm.file": "An owner of the study can upload it.",
    "unknown_study.id": "`GET /api/v1/studies` lists the studies.",
    "unknown_study.storage": "Create a study with `POST /api/v1/studies`.",
    "unknown_token.id": "`GET /api/v1/tokens` lists the tokens.",
    "vote_conflict.contradiction": 'Send "revise": true to change the vote.',
    "vote_conflict.rater_blocked": "An owner of the study can reinstate them.",
    "vote_conflict.study_not_open": "An owner can open it again.",
}
"""Hints for HTTP, by code, for errors whose own hint is about Python."""


class RequestError(HTTPException):
    """An error that the server finds in a request."""

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
    """Return the JSON body of every error. Long values in it are shortened."""
    field = None if field is None else _shorten(field, 200)
    return {"error": {"code": code, "message": _shorten(message), "hint": _shorten(hint), "field": field}}


def _shorten(text: str, length: int = 2000) -> str:
    """Return the text without its middle if it is longer, and without unpaired surrogates."""
    text = replace_surrogates(text)
    return text if len(text) <= length else f"{text[: length // 2]} ... {text[-length // 2 :]}"


def error_response(error: errors.DuelistError) -> tuple[int, dict[str, Any]]:
    """Return the status and the body for an error of the library."""
    if error.code in _STATUS_BY_CODE:
        return _STATUS_BY_CODE[error.code], error_body(error.code, error.message, error.hint, error.field)
    if isinstance(error, errors.StorageError):
        message = _STORAGE_MESSAGES.get(error.code.partition(".")[0], "The database does not work.")
        return 503, error_body(error.code, message, "Try again; the log of the server has the details.")
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
    return status, error_body(error.code, error.message, error.hint_from(HINTS), error.field)


class _Sentences(NamedTuple):
    """Message and hint of an error as raters see it, for one code: nothing about items, kinds of pairs, other raters or limits."""

    message: str
    hint: str


_ASK_OWNER: Final = "Please contact the person who invited you."
_CLOSED: Final = _Sentences("This study is not open.", "Try again later.")
_BLOCKED: Final = _Sentences("This study is no longer open to you.", _ASK_OWNER)
_NOT_YOURS: Final = _Sentences("This pair was not assigned to you.", "Ask for a pair.")
_FOR_RATERS: Final = {
    "study_not_open": _CLOSED,
    "rater_blocked": _BLOCKED,
    "participation_ended": _BLOCKED,
    "step_missing": _Sentences("One step is left before the first pair.", "Reload the page."),
    "study_full": _Sentences("All places are taken.", "Try again later."),
    "limit_reached": _Sentences("No more votes are needed.", "You have finished. Thank you!"),
    "no_pairs_left": _Sentences("You have compared every pair.", "You have finished. Thank you!"),
    "nothing_to_ask": _Sentences("There is no pair to compare right now.", "Try again later."),
    "vote_conflict": _NOT_YOURS,
    "vote_conflict.contradiction": _Sentences(
        "You have voted otherwise on this pair.", 'Send "revise": true to change the vote.'
    ),
    "vote_conflict.changes": _Sentences("You have changed this vote too often.", "It stays as it is."),
    "vote_conflict.rater_blocked": _BLOCKED,
    "vote_conflict.study_not_open": _CLOSED,
    "system_failed": _Sentences("A system did not answer.", "Try again."),
    "unknown_duel": _NOT_YOURS,
    "unknown_arm": _Sentences("There is no such file.", "Reload the page."),
}


def rater_error(error: errors.DuelistError) -> tuple[int, dict[str, Any]]:
    """Return status and body of an error for a rater."""
    status, body = error_response(error)
    found = _FOR_RATERS.get(error.code) or _FOR_RATERS.get(error.code.partition(".")[0])
    return status, body if found is None else error_body(error.code, found.message, found.hint, error.field)


def validation_error_from(details: Sequence[Any]) -> RequestError:
    """Return the error for a request that does not fit the documented schema."""
    first = details[0]
    if first["type"] == "json_invalid":
        return RequestError(400, MALFORMED, f"The body is not JSON: {first['msg']}.", "Send JSON in UTF-8.")
    name = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "body"
    message = f"{name}: {first['msg'][:1].lower()}{first['msg'][1:]}."
    return RequestError(422, "invalid_input", message, "See docs/reference/http-api.md and /api/v1/openapi.json.", name)
