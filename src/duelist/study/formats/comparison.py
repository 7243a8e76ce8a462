"""What every format is read into and written from: one vote on two things, with whatever was known about it."""

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
    """A vote as files know it: arms by their ids, their contents beside them, and nothing of a study.

    `first` was shown on the left. `prompt` and the payloads are a text, a list of messages (`role`, `content`), or any
    JSON. `extra` holds the columns that the file had and no field here. An outcome of None undoes the vote it `revises`.
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
    def of_vote(cls, vote: Vote, **known: Any) -> Comparison:
        """A vote of a study; `known` is what lies elsewhere: prompt, payload_first, payload_second, extra."""
        return cls(**{name: getattr(vote, name) for name in _OF_VOTE}, **known)

    def vote(self, sequence: int, duel_id: int, voted_at: datetime | None = None) -> Vote:
        """The same as a row of a study's log; `voted_at` stands in where its own time is not known."""
        here = {name: getattr(self, name) for name in _OF_VOTE}
        return Vote(**here | {"sequence": sequence, "duel_id": duel_id, "voted_at": self.voted_at or voted_at})


_OF_VOTE: Final = tuple(each.name for each in fields(Comparison) if each.name in {one.name for one in fields(Vote)})


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an export."""

    rows: int
    """Rows in the file."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Comparisons that the format cannot hold: why, and how many."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Fields that the format cannot hold, and how many of the comparisons written had something in them."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """What the format says in its own way, so that it does not come back as it was: what, and how many."""

    def __str__(self) -> str:
        parts = [f"{self.rows} {'row' if self.rows == 1 else 'rows'} written"]
        parts += [f"{count} left out: {reason}" for reason, count in self.left_out.items()]
        if self.dropped:
            parts.append("without " + ", ".join(f"{name} ({count})" for name, count in self.dropped.items()))
        parts += [f"{count} changed: {what}" for what, count in self.changed.items()]
        return "; ".join(parts)


_DIGITS: Final = 16
_LONGEST_NAME: Final = 60
_FIRST_WORDS: Final = 40


def arm_id(content: Any) -> str:
    """An id for something that came without one: the same content has the same id, whatever the file.

    >>> arm_id("It is blue.") == arm_id([{"role": "assistant", "content": "It is blue."}])
    True
    """
    return "text-" + _digest(content, "assistant")


def context_id(prompt: Any) -> str:
    """A name for a context of which only the prompt is known: the prompt, or its first words and what tells it from all others.

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
    begun = (
        words if len(words) <= _FIRST_WORDS else words[: _FIRST_WORDS + 1].rpartition(" ")[0] or words[:_FIRST_WORDS]
    )
    return f"{begun}… {digest[:12]}"


def _digest(content: Any, role: str) -> str:
    plain = as_text(content, role)
    written = plain if plain is not None else json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def as_text(content: Any, role: str = "assistant") -> str | None:
    """The text of a text, of a payload `{"text": ...}`, or of a single message of that role; None of anything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    if is_messages(content) and len(content) == 1 and set(content[0]) == {"role", "content"}:
        message = content[0]
        return message["content"] if message["role"] == role and isinstance(message["content"], str) else None
    return None


def as_messages(content: Any, role: str) -> list[Message] | None:
    """A list of messages as it is, a text as one message of that role; None of anything else."""
    if is_messages(content):
        return list(content)
    text = as_text(content, role)
    return None if text is None else [{"role": role, "content": text}]


def is_messages(content: Any) -> bool:
    """Whether this is a conversation: a list of objects that each have a role and a content."""
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(message, Mapping) and "role" in message and "content" in message for message in content)
    )


def plainest(content: Any, role: str) -> Any:
    """A single plain message of that role as its text, anything else as it is."""
    text = as_text(content, role)
    return content if text is None or not isinstance(content, list) else text


def shared_start(a: list[Any], b: list[Any]) -> int:
    """How many leading messages two conversations share, leaving each at least its last one."""
    most = max(min(len(a), len(b)) - 1, 0)
    return next((k for k in range(most) if a[k] != b[k]), most)


def different(where: str, first: str, second: str) -> tuple[str, str]:
    """The two ids, which must not be the same."""
    if first == second:
        raise InvalidInput(f"{where} compares {first!r} with itself.", "Remove that row.")
    return first, second
