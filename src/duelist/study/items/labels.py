"""Labels of items: what a person reads where an id says too little, such as 17 “Fast as light”."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from duelist.study.items.media_kind import media_kind
from duelist.study.records import Arm

LONGEST: Final = 32
"""Characters of an item's text in its label."""
_SEARCHED: Final = 400
"""Characters of a text in which its beginning is searched."""
_TEXTS: Final = ("text", "markdown", "caption", "alt", "code", "content")
_MARKUP: Final = re.compile(r"^[\s#>*`~-]+|[*`]{2,}")


def label_of(arm: Arm) -> str:
    r"""Return the id of an arm and the beginning of its text, on one line.

    >>> label_of(Arm(0, "17", "Fast as light,\nbright as day"))
    '17 “Fast as light, bright as day”'
    >>> label_of(Arm(0, "cat.png", {"image": "cat.png"}))
    'cat.png'
    """
    text = beginning(arm.payload)
    return arm.id if arm.id.startswith(text.removesuffix("…")) else f"{arm.id} “{text}”"


def beginning(payload: Any) -> str:
    """Return the beginning of the text of a payload; empty if it has none."""
    if isinstance(payload, str):
        if media_kind(payload) is not None and not re.search(r"\s", payload):
            return ""  # the name of a media file adds nothing to the id
        line = " ".join(_MARKUP.sub("", payload[:_SEARCHED]).split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
    if isinstance(payload, Mapping):
        return next((found for name in _TEXTS if (found := beginning(payload.get(name)))), "")
    if isinstance(payload, list):
        # Of a conversation, the last message is what differs between items.
        return next((found for part in reversed(payload) if (found := beginning(part))), "")
    return ""


def picture_of(payload: Any) -> str | None:
    """Return the name of the first picture in a payload; None if it has none."""
    if isinstance(payload, str):
        return payload if len(payload) <= _SEARCHED and media_kind(payload) == "image" else None
    parts = [payload.get("image")] if isinstance(payload, Mapping) else payload if isinstance(payload, list) else ()
    return next((found for part in parts if (found := picture_of(part)) is not None), None)
