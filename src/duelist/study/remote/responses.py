"""Records from the responses of a server, which have fewer fields for raters."""

from __future__ import annotations

from typing import Any

from duelist.core.serialization import from_plain
from duelist.study.records import Arm, StudyDuel, Vote


def duel_from(body: dict[str, Any]) -> StudyDuel:
    """Return the duel of a response, where the prompt and the payloads are content to show."""
    sides = {side: _arm(body[side]) for side in ("first", "second")}
    prompt = body.get("prompt_payload", body["prompt"])
    rest = {name: value for name, value in body.items() if name not in (*sides, "prompt", "prompt_payload")}
    blank = {"number": 0, "id": ""}
    duel = from_plain(StudyDuel, {**rest, "first": blank, "second": blank})
    return StudyDuel(**{**{name: getattr(duel, name) for name in StudyDuel.__slots__}, **sides, "prompt": prompt})


def _arm(side: dict[str, Any]) -> Arm:
    """Return the arm of one side; raters receive only its content."""
    return from_plain(Arm, side) if "id" in side else Arm(0, "", side["content"])


def listed_duel_from(body: dict[str, Any]) -> StudyDuel:
    """Return a duel of the queue, which has only the ids of its arms."""
    arms = {side: {"number": 0, "id": body[side]} for side in ("first", "second")}
    return from_plain(StudyDuel, {**body, **arms, "id": body["duel"]})


def vote_from(body: dict[str, Any]) -> Vote:
    """Return the vote of a response; raters receive only some of its fields."""
    missing = {"rater": None, "voted_at": None, "first": "", "second": ""}
    return from_plain(Vote, {**missing, **body})
