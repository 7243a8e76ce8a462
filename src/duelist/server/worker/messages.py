"""Messages between the server and its background worker: two lengths, a head of JSON, and a body of bytes.

Lengths instead of line ends let a message contain anything; both sides reject a message longer than the limits.
"""

from __future__ import annotations

import asyncio
import json
import struct
from typing import IO, Any, Final

Message = tuple[dict[str, Any], bytes]

MAX_HEAD_BYTES: Final = 16 * 2**20
"""Limit of a head: that of a request has its arguments, such as the settings of a study."""
MAX_BODY_BYTES: Final = 256 * 2**20
"""Limit of a body: the JSON of a result."""
BEGUN: Final = "begun"
"""In the head of a message that says that the worker begins with a request."""
_LENGTHS: Final = struct.Struct(">II")


class MessageTooLarge(ValueError):
    """A message is larger than the limits."""


def encode(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    head_bytes = json.dumps(head).encode()
    _check(len(head_bytes), len(body))
    return _LENGTHS.pack(len(head_bytes), len(body)) + head_bytes + body


def read(stream: IO[bytes]) -> Message | None:
    """Read a message, or return None at the end of the stream."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _checked_lengths(lengths)
    return json.loads(stream.read(head)), stream.read(body)


async def receive(stream: asyncio.StreamReader) -> Message | None:
    """Read a message without blocking, or return None at the end of the stream."""
    try:
        head, body = _checked_lengths(await stream.readexactly(_LENGTHS.size))
        return json.loads(await stream.readexactly(head)), await stream.readexactly(body)
    except asyncio.IncompleteReadError:
        return None


def _checked_lengths(lengths: bytes) -> tuple[int, int]:
    head, body = _LENGTHS.unpack(lengths)
    _check(head, body)
    return head, body


def _check(head: int, body: int) -> None:
    if head > MAX_HEAD_BYTES or body > MAX_BODY_BYTES:
        raise MessageTooLarge(
            f"A message has {head} + {body} bytes; the limits are {MAX_HEAD_BYTES} + {MAX_BODY_BYTES}."
        )
