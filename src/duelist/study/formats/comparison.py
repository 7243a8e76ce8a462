"""`Comparison`: one vote on two items, as files know it.

Every format is read into comparisons and written from them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.records import ChosenBy, Outcome, Source, Vote

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A vote on two items, with everything a file may say about it.

    `first` was shown on the left. `prompt` and the payloads are a text, a list of messages (`role`, `content`), or any
    JSON value. `extra` holds the columns of the file that have no field here. An outcome of None undoes the vote that
    it `revises`.
    """

    first: str
    second: str
    outcome: Outcome | None
    rater: str | None = None
    context: str | None = None
    voted_at: datetime | None = None
    source: Source = Source.IMPORT
    response_seconds: float | None = None
    chosen_by: ChosenBy = ChosenBy.IMPORT
    propensity: float | None = None
    prompt: Any = None
    payload_first: Any = None
    payload_second: Any = None
    late: bool = False
    sequence: int | None = None
    duel_id: int | None = None
    revises: int | None = None
    reason: str | None = None
    criterion: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_vote(cls, vote: Vote, **content: Any) -> Comparison:
        """Return a vote of a study as a comparison.

        `content` is its prompt, payloads and extra fields.
        """
        return cls(**{name: getattr(vote, name) for name in _SHARED_WITH_VOTE}, **content)

    def to_vote(self, sequence: int, duel_id: int, voted_at: datetime | None = None) -> Vote:
        """Return the comparison as a vote of a study.

        `voted_at` is the default for an unknown time.
        """
        shared = {name: getattr(self, name) for name in _SHARED_WITH_VOTE}
        return Vote(**shared | {"sequence": sequence, "duel_id": duel_id, "voted_at": self.voted_at or voted_at})


_SHARED_WITH_VOTE: Final = tuple(
    each.name for each in fields(Comparison) if each.name in {one.name for one in fields(Vote)}
)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote, and what it could not."""

    rows: int
    """Rows in the file."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Comparisons that were not written, counted by reason."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Fields that the format cannot hold, and how many of the written comparisons had a value there."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """What the format expresses in another way, so that it does not come back unchanged."""

    def __str__(self) -> str:
        parts = [f"{self.rows} {'row' if self.rows == 1 else 'rows'} written"]
        parts += [f"{count} skipped ({reason})" for reason, count in self.skipped.items()]
        if self.lost:
            parts.append("without " + ", ".join(f"{name} ({count})" for name, count in self.lost.items()))
        parts += [f"{count} changed ({what})" for what, count in self.changed.items()]
        return "; ".join(parts)


# -- ids from contents -------------------------------------------------------------------

_DIGITS: Final = 16
_LONGEST_NAME: Final = 60
_LONGEST_START: Final = 40


def arm_id(content: Any) -> str:
    """Return an id for content without one.

    The same content has the same id in every file.

    >>> arm_id("It is blue.") == arm_id([{"role": "assistant", "content": "It is blue."}])
    True
    """
    return "text-" + _digest(content, "assistant")


def context_id(prompt: Any) -> str:
    """Return a name for a context that is known by its prompt.

    It is the prompt, or its first words and a digest.

    >>> context_id("Why?") == context_id([{"role": "user", "content": "Why?"}])
    True
    >>> context_id("Why is the sky blue, and not green or red? Answer in two sentences.")
    'Why is the sky blue, and not green or… 2fb2b61a283e'
    """
    digest = _digest(prompt, "user")
    text = as_text(prompt, "user")
    words = " ".join((text or "").split())
    if not words:
        return f"prompt-{digest}"
    if words == text and len(words) <= _LONGEST_NAME:
        return words
    start = words if len(words) <= _LONGEST_START else words[: _LONGEST_START + 1].rpartition(" ")[0]
    return f"{start or words[:_LONGEST_START]}… {digest[:12]}"


def _digest(content: Any, role: str) -> str:
    text = as_text(content, role)
    encoded = text if text is not None else json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


# -- texts and messages ------------------------------------------------------------------


def as_text(content: Any, role: str = "assistant") -> str | None:
    """Return the text of some content, or None.

    Strings, payloads `{"text": ...}` and single messages of that role have a text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    if is_messages(content) and len(content) == 1 and set(content[0]) == {"role", "content"}:
        message = content[0]
        return message["content"] if message["role"] == role and isinstance(message["content"], str) else None
    return None


def as_messages(content: Any, role: str) -> list[Message] | None:
    """Return messages as they are, a text as one message of that role, or None."""
    if is_messages(content):
        return list(content)
    text = as_text(content, role)
    return None if text is None else [{"role": role, "content": text}]


def is_messages(content: Any) -> bool:
    """Return whether this is a list of objects with a role and a content."""
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(message, Mapping) and "role" in message and "content" in message for message in content)
    )


def simplify_messages(content: Any, role: str) -> Any:
    """Return a single plain message of that role as its text, else the content."""
    text = as_text(content, role)
    return content if text is None or not isinstance(content, list) else text


def shared_prefix_length(a: list[Any], b: list[Any]) -> int:
    """Return how many leading messages two conversations share.

    Each keeps at least its last message.
    """
    most = max(min(len(a), len(b)) - 1, 0)
    return next((k for k in range(most) if a[k] != b[k]), most)


def check_distinct(where: str, first: str, second: str) -> tuple[str, str]:
    """Return the two ids, which must differ."""
    if first == second:
        raise InvalidInput(f"{where} compares {first!r} with itself.", "Remove that row.")
    return first, second
