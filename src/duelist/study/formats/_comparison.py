"""What every format is read into and written from: one vote on two things, with whatever was known about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from duelist.errors import InvalidInput
from duelist.study.records import Arm, ChosenBy, Outcome, Source, Vote

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
    told_at: datetime | None = None
    source: Source = Source.IMPORT
    response_seconds: float | None = None
    chosen_by: ChosenBy = ChosenBy.IMPORT
    chance: float | None = None
    prompt: Any = None
    payload_first: Any = None
    payload_second: Any = None
    late: bool = False
    sequence: int | None = None
    duel_id: int | None = None
    revises: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_vote(cls, vote: Vote, arms: Mapping[str, Arm] | None = None, prompt: Any = None) -> Comparison:
        """A vote of a study; the payloads are looked up in `arms` by id."""
        payloads = {} if arms is None else {key: arms[key].payload for key in (vote.first, vote.second) if key in arms}
        return cls(
            first=vote.first,
            second=vote.second,
            outcome=vote.outcome,
            rater=vote.rater,
            context=vote.context,
            told_at=vote.told_at,
            source=vote.source,
            response_seconds=vote.response_seconds,
            chosen_by=vote.chosen_by,
            chance=vote.chance,
            prompt=prompt,
            payload_first=payloads.get(vote.first),
            payload_second=payloads.get(vote.second),
            late=vote.late,
            sequence=vote.sequence,
            duel_id=vote.duel_id,
            revises=vote.revises,
        )

    def vote(self, sequence: int, duel_id: int, told_at: datetime) -> Vote:
        """The same as a row of a study's log; its own time is kept, and `told_at` stands in where there is none."""
        return Vote(
            sequence=sequence,
            duel_id=duel_id,
            outcome=self.outcome,
            rater=self.rater,
            told_at=self.told_at if self.told_at is not None else told_at,
            first=self.first,
            second=self.second,
            context=self.context,
            source=self.source,
            response_seconds=self.response_seconds,
            late=self.late,
            revises=self.revises,
            chosen_by=self.chosen_by,
            chance=self.chance,
        )


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an export."""

    rows: int
    """Rows in the file."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Comparisons that the format cannot hold: why, and how many."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Fields that the format cannot hold, and how many of the comparisons written had something in them."""

    def __str__(self) -> str:
        parts = [f"{self.rows} {'row' if self.rows == 1 else 'rows'} written"]
        parts += [f"{count} left out: {reason}" for reason, count in self.left_out.items()]
        if self.dropped:
            parts.append("without " + ", ".join(f"{name} ({count})" for name, count in self.dropped.items()))
        return "; ".join(parts)


_DIGITS: Final = 16


def arm_id(content: Any) -> str:
    """An id for something that came without one: the same content has the same id, whatever the file.

    >>> arm_id("It is blue.") == arm_id([{"role": "assistant", "content": "It is blue."}])
    True
    """
    plain = as_text(content)
    written = plain if plain is not None else json.dumps(content, sort_keys=True, ensure_ascii=True)
    return "text-" + hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


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
        raise InvalidInput(f"{where} compares {first!r} with itself; remove that row")
    return first, second
