"""What the server refuses, in one shape: a code for programs, a message and the way out for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from duelist.core import errors

MALFORMED: Final = "malformed"
_STATUS: Final[dict[type[errors.DuelistError], int]] = {
    errors.UnknownStudy: 404,
    errors.UnknownArm: 404,
    errors.UnknownDuel: 404,
    errors.UnknownRater: 404,
    errors.UnknownToken: 404,
    errors.StudyExists: 409,
    errors.VoteRefused: 409,
    errors.NothingToAsk: 409,
    errors.NothingLeft: 409,
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


class Refused(Exception):
    """Something that the server itself refuses."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        way_out: str = "",
        field: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = shape(code, message, way_out, field)


def shape(code: str, message: str, way_out: str = "", field: str | None = None) -> dict[str, Any]:
    """The one shape of errors."""
    return {"error": {"code": code, "message": message, "way_out": way_out, "field": field}}


def of_error(error: errors.DuelistError) -> tuple[int, dict[str, Any]]:
    """The status and the body for something that the library refuses."""
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
    said = in_http_words(str(error))
    message, _, way_out = said.partition("; ")
    return status, shape(code_of(type(error)), message, way_out, _field(message))


def of_validation(found: Sequence[Any]) -> Refused:
    """What is said of a request that does not have the documented shape."""
    first = found[0]
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
    if first["type"] == "json_invalid":
        return Refused(400, MALFORMED, f"the body is not JSON: {first['msg']}", "send JSON in UTF-8")
    name = ".".join(place) or "body"
    said = first["msg"][:1].lower() + first["msg"][1:]
    return Refused(
        422, "invalid_input", f"{name}: {said}", "docs/api.md and /api/v1/openapi.json say what is taken", name
    )


def code_of(kind: type[errors.DuelistError]) -> str:
    """A class's name as programs are told it.

    >>> code_of(errors.StudyNotOpen)
    'study_not_open'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _field(message: str) -> str | None:
    """What a message is about, where it begins with it: "outcome is 'x'"."""
    found = re.match(r"(\w+) (?:is|are) ", message)
    return (
        found[1] if found and not found[1].isdigit() and found[1] not in ("there", "that", "it", "features") else None
    )


_Said = str | Callable[[re.Match[str]], str]
_SPOKEN: Final[tuple[tuple[str, _Said], ...]] = (
    (r"`open` opens it again", "an owner can open it again"),
    (r"`unblock` takes that back", "an owner can take that back"),
    (r"`limit\(\w+=\.\.\.\)` sets another, None lifts it", "an owner can raise the limit"),
    (r", or raise `limit\(per_pair=\.\.\.\)`", ", or raise the limit for a pair"),
    (r"with `raters_per_duel`", "with the setting raters_per_duel"),
    (r"with `repeat_pairs`", "with the setting repeat_pairs"),
    (r"tell it with revise=True \(`--revise`\) to change the vote", 'send "revise": true to change the vote'),
    (r"`load_study`, load_if_exists=True, or another name", 'use it, send "load_if_exists": true, or choose another name'),
    (r"`load_study\(\.\.\.\)\.change\(\.\.\.\)`", "`PATCH` of the study"),
    (r"add (it|some|its arms) with `add_arms(?:\([^`]*\))?`", r"an owner can add \1"),
    (r"or `restore` (?:retired ones|some)", "or take retired ones back"),
    (r"say which the answer is about with `criterion`, or answer about all of them with `tell_all`",
     "say which the answer is about with `criterion`, or answer about all of them with `outcomes`"),
    (r"`ask\(rater\)` returned", "`ask` gave to them"),
    (r"`put_media` keeps one", "an owner can upload it"),
    (r", or change those there with `update_features`", ", or the features that are there"),
    (r"`list_studies` names those there are", "`GET /api/v1/studies` names those there are"),
    (r"`list_tokens` names those there are", "`GET /api/v1/tokens` names those there are"),
    (r"a dict with", "an object with"),
    (r"\bNone\b", "null"),
    (r"\bTrue\b", "true"),
    (r"\bFalse\b", "false"),
)  # fmt: skip


def in_http_words(message: str) -> str:
    """A message of the library for somebody at the other end of a connection.

    >>> in_http_words("study 'a' is paused and asks nothing; `open` opens it again")
    "study 'a' is paused and asks nothing; an owner can open it again"
    """
    for pattern, said in _SPOKEN:
        message = re.sub(pattern, said, message)
    return message
