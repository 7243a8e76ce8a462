"""Bodies of requests: a limit for each route, deadlines, and JSON that the rest of the server can rely on."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, NamedTuple, NoReturn

from fastapi import Request

from duelist.server.errors import MALFORMED, RequestError

Message = MutableMapping[str, Any]

SILENCE_SECONDS: Final = 20.0
"""Longest time between two pieces of a body."""
MAX_DEPTH: Final = 100
"""Largest depth of arrays and objects in JSON."""
_MAX_DIGITS: Final = 400
_SCOPE_KEY: Final = "duelist_body"


class BodyLimit(NamedTuple):
    """The size of a body in bytes (None: the largest upload), the seconds in which it must arrive, and its values as JSON."""

    size: int | None
    seconds: float
    values: int = 20_000
    """Maximum number of entries of arrays and objects: each invalid one delays other requests."""


JSON: Final = BodyLimit(2**20, 30.0)
IDS: Final = BodyLimit(4 * 2**20, 30.0, values=100_100)
PUBLIC: Final = BodyLimit(16 * 2**10, 10.0, values=250)
RATER: Final = BodyLimit(256 * 2**10, 30.0, values=250)
"""What raters send, to any route."""
UPLOAD: Final = BodyLimit(None, 900.0)
MAX_JSON_ARMS: Final = 32 * 2**20
"""Largest body of arms as one JSON document; more arms are sent as lines."""

LIMITS: Final = {
    "POST /session": PUBLIC,
    "POST /studies/{study}/register": PUBLIC,
    "POST /studies/{study}/entry": PUBLIC,
    "POST /studies/{study}/arms/retire": IDS,
    "POST /studies/{study}/arms/activate": IDS,
    "POST /studies/{study}/arms": UPLOAD,
    "POST /studies/{study}/files": UPLOAD,
    "POST /studies/{study}/import": UPLOAD,
    "POST /studies/restore": UPLOAD,
    "POST /files/preview": UPLOAD,
    "POST /files/create": UPLOAD,
}
"""Limits by route; every other route takes `JSON`."""


class BodyStream:
    """The body of a request. A route allows it after it has authenticated the sender; until then it is not read."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Message]]) -> None:
        headers = dict(scope["headers"])
        self._receive = receive
        self._length = headers.get(b"content-length", b"")
        self._limit = 0
        self._received = 0
        self._deadline: float | None = None
        self.is_complete = self._length in (b"", b"0") and b"transfer-encoding" not in headers
        scope[_SCOPE_KEY] = self

    def allow(self, size: int, seconds: float) -> None:
        """Allow the body to be read: at most `size` bytes, in at most `seconds` seconds."""
        self._limit, self._deadline = size, time.monotonic() + seconds
        if self._length.isdigit() and (len(self._length) > 18 or int(self._length) > size):
            raise too_large(size)

    async def receive(self) -> Message:
        """Return the next message of the body; once it is complete, wait for the end of the connection."""
        if self.is_complete or self._deadline is None:
            message = await self._receive()
            unasked = self._deadline is None and message.get("body")
            return {"type": "http.disconnect"} if unasked else message
        try:
            async with asyncio.timeout(min(SILENCE_SECONDS, self._deadline - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise RequestError(
                408, "timeout", "The body of the request did not arrive in time.", "Send it again."
            ) from None
        self.is_complete = not message.get("more_body", False)
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise too_large(self._limit)
        return message


def allow_body(request: Request, limit: BodyLimit, max_upload_bytes: int) -> None:
    """Let the body of a request be read."""
    body: BodyStream = request.scope[_SCOPE_KEY]
    body.allow(max_upload_bytes if limit.size is None else min(limit.size, max_upload_bytes), limit.seconds)


def too_large(limit: int) -> RequestError:
    """Return the error for a body that is larger than the route takes."""
    return RequestError(413, "too_large", f"The body is larger than {limit} bytes.", "Send less at a time.")


def smaller(one: BodyLimit, other: BodyLimit) -> BodyLimit:
    """Return the smaller size and the fewer values of two limits, and the time of the first."""
    sizes = [limit.size for limit in (one, other) if limit.size is not None]
    return BodyLimit(min(sizes, default=None), one.seconds, min(one.values, other.values))


class JsonRequest(Request):
    """A request whose JSON is checked by `parse_json`; `values` are those of the body, once it is read."""

    values: Any = None
    max_values: int | None = None

    async def json(self) -> Any:
        """Return the body as JSON values."""
        self.values = parse_json(await self.body(), self.max_values)
        return self.values


def parse_json(body: bytes, max_values: int | None = None) -> Any:
    r"""Return the values of JSON in UTF-8; reject what databases and other programs cannot hold, and too many values.

    >>> parse_json(b'{"a": [1, 2.5, "x"]}')
    {'a': [1, 2.5, 'x']}
    """
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_reject_number, parse_float=_read_float, parse_int=_read_integer)
    except UnicodeDecodeError as error:
        raise _malformed("The body is not UTF-8.") from error
    except json.JSONDecodeError as error:
        raise _malformed(f"The body is not JSON: {error.msg} at character {error.pos}.") from error
    except RecursionError as error:
        raise _malformed(f"The body has more than {MAX_DEPTH} levels of arrays and objects.") from error
    if _may_be_deep(text) and _depth(value) > MAX_DEPTH:
        raise _malformed(f"The body has more than {MAX_DEPTH} levels of arrays and objects.")
    if max_values is not None and text.count(",") >= max_values and _has_more(value, max_values):
        raise RequestError(
            422, "invalid_input", f"The body has more than {max_values:,} values.", "Send fewer at a time."
        )
    if "\\u" in text:
        _check_texts(value)
    return value


def _malformed(message: str) -> RequestError:
    return RequestError(400, MALFORMED, message, "Send JSON in UTF-8.")


def _read_float(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _reject_number(digits)


def _read_integer(digits: str) -> int:
    return int(digits) if len(digits) < _MAX_DIGITS and abs(int(digits)) <= 2**63 else _reject_number(digits)


def _reject_number(digits: str) -> NoReturn:
    shown = digits if len(digits) <= 40 else f"{digits[:20]}... ({len(digits)} digits)"
    raise RequestError(
        422, "invalid_input", f"The body has the number {shown}, which is out of range.", "Send a finite number."
    )


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_DEPTH


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
    return depth


def _has_more(value: Any, most: int) -> bool:
    """Return whether arrays and objects have more than `most` entries in all."""
    entries, waiting = 0, [value]
    while waiting and entries <= most:
        each = waiting.pop()
        if isinstance(each, dict | list):
            entries += len(each)
            waiting += each.values() if isinstance(each, dict) else each
    return entries > most


_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def _check_texts(value: Any) -> None:
    """Reject NUL and unpaired surrogates, which databases and UTF-8 cannot hold."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            if _UNSTORABLE.search(each):
                shown = ascii(each if len(each) <= 60 else each[:60] + "...")
                raise RequestError(
                    422,
                    "invalid_input",
                    f"The body has the text {shown}, with a character that cannot be stored.",
                    "Remove NUL and unpaired surrogates.",
                )
        elif isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            waiting += each
