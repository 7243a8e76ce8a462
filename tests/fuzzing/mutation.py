"""Random changes of bytes and of JSON values."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any, Final

NESTED: Final = "@nested@"
"""Written as 5,000 nested lists."""
HUGE: Final = "@huge@"
"""Written as a whole number of 5,000 digits."""
VALUES: Final = (
    None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400,
    0.5, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
    "", "a", "0", "\x00", "\ud800", "\ufeff", "é" * 300, "x" * 5000, "=1+1", "../../etc/passwd", "evilpol:Evil", "VACDB",
    [], {}, [[]], [0, 1], {"a": 1}, {"text": "a"}, NESTED, HUGE,
)  # fmt: skip


def mutated_bytes(luck: random.Random, body: bytes, tokens: Sequence[bytes]) -> bytes:
    """Return the bytes after one to four changes; tokens are pieces that mean something to the reader."""
    for _ in range(luck.choice((1, 1, 2, 4))):
        at = luck.randrange(len(body) + 1)
        end = min(len(body), at + int(luck.expovariate(0.1)) + 1)
        piece = body[at:end]
        change = luck.randrange(7)
        if change == 0:
            piece = bytes(byte ^ (1 << luck.randrange(8)) for byte in piece)
        elif change == 1:
            piece = b""
        elif change == 2:
            piece += luck.randbytes(luck.choice((1, 1, 2, 8)))
        elif change in (3, 4):
            piece += luck.choice(tokens)
        elif change == 5:
            piece *= luck.choice((2, 2, 3, 20, 1000))
        else:
            other = luck.randrange(len(body) + 1)
            piece = body[other : other + len(piece)]
        body = body[:at] + piece + body[end:]
    return body[: luck.randrange(len(body) + 1)] if luck.random() < 0.05 else body


def mutated_json(luck: random.Random, value: Any) -> Any:
    """Return a JSON value with one change somewhere inside; containers are changed in place."""
    if isinstance(value, (dict, list)) and value and luck.random() < 0.9:
        key: Any = luck.choice(list(value)) if isinstance(value, dict) else luck.randrange(len(value))
        if luck.random() < 0.85:
            value[key] = mutated_json(luck, value[key])
        elif luck.random() < 0.5:
            del value[key]
        elif isinstance(value, list):
            value.insert(luck.randrange(len(value) + 1), value[key])
        else:
            value[luck.choice((f"{key}x", "", "id", "kind", "\x00"))] = value[key]
        return value
    if isinstance(value, (int, float)) and luck.random() < 0.5:
        return luck.choice((value + 1, value - 1, -value, value * 2, value / 2 if abs(value) < 1e300 else 0.5))
    if isinstance(value, str) and luck.random() < 0.3:
        return mutated_bytes(luck, value.encode(errors="replace"), (b"\x00", b":", b"=")).decode(errors="replace")
    return copy.deepcopy(luck.choice(VALUES))  # what is inserted may be changed in place later


def to_text(value: Any) -> str:
    """Return JSON, with its placeholders written out."""
    text = json.dumps(value).replace(f'"{HUGE}"', "1" + "0" * 5000)
    return text.replace(f'"{NESTED}"', "[" * 5000 + "]" * 5000)
