"""Rows between Python and a database: what each column holds, and back. What cannot be converted was damaged there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage.base import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    Lesson,
    RaterRow,
    SeenRow,
    StudyRow,
    VoteRow,
)
from duelist.study.storage.sql.errors import whole
from duelist.study.storage.vectors import unpacked

ARM_NUMBERS: Final = np.dtype("<i8")


def to_json(value: Any) -> str | None:
    """A payload as text; nothing for nothing."""
    if value is None:
        return None
    plain = json.dumps(value, ensure_ascii=False)
    try:
        plain.encode()
    except UnicodeEncodeError:  # half a character, which JSON can hold only escaped
        return json.dumps(value)
    return plain


def from_json(text: str | None) -> Any:
    """What `to_json` wrote."""
    return None if text is None else json.loads(text)


def _outcome(text: str | None) -> Outcome | None:
    return None if text is None else Outcome(text)


def duel_values(row: DuelRow) -> dict[str, Any]:
    """The columns of a duel."""
    expected = None if row.expected is None else row.expected.value
    return {**row._asdict(), "chosen_by": row.chosen_by.value, "kind": row.kind.value, "expected": expected}


def vote_values(row: VoteRow) -> dict[str, Any]:
    """The columns of a row of the log."""
    outcome = None if row.outcome is None else row.outcome.value
    return {**row._asdict(), "outcome": outcome, "source": row.source.value, "criterion": row.criterion or ""}


def lease_values(row: LeaseRow) -> dict[str, Any]:
    """The columns of a lease."""
    return {**row._asdict(), "state": int(row.state)}


def rater_values(row: RaterRow) -> dict[str, Any]:
    """The columns of a rater."""
    return {**row._asdict(), "attributes": json.dumps(row.attributes)}


@whole
def arm_from(row: Sequence[Any]) -> ArmRow:
    """An arm."""
    number, name, payload, *rest = row
    return ArmRow(number, name, from_json(payload), *rest)


@whole
def context_from(row: Sequence[Any]) -> ContextRow:
    """A context."""
    name, payload, revision = row
    return ContextRow(name, from_json(payload), revision)


@whole
def detail_from(row: Sequence[Any]) -> DetailRow:
    """What is kept of a duel."""
    duel, body = row
    return DetailRow(duel, json.loads(body))


@whole
def chunk_from(row: Sequence[Any]) -> FeatureChunk:
    """A chunk of features."""
    first_row, arms, vectors = row
    numbers = np.frombuffer(arms, ARM_NUMBERS)
    return FeatureChunk(first_row, numbers, unpacked(vectors, len(numbers)))


@whole
def lesson_from(row: Sequence[Any]) -> Lesson:
    """A lesson."""
    number, root, outcome, first_row, second_row, layer, share, criterion, rater = row
    return Lesson(number, root, _outcome(outcome), first_row, second_row, layer, share, criterion or None, rater)


@whole
def study_from(row: Sequence[Any]) -> StudyRow:
    """A study."""
    number, name, settings, created_at, state, *counters = row
    return StudyRow(
        number, name, StudySettings(**json.loads(settings)), created_at, StudyState(state), Counters(*counters)
    )


@whole
def duel_from(row: Sequence[Any]) -> DuelRow:
    """A duel."""
    (
        number,
        first_row,
        second_row,
        context,
        chosen_by,
        propensity,
        swapped,
        layer,
        share,
        asked_at,
        free,
        kind,
        expected,
    ) = row
    return DuelRow(
        number, first_row, second_row, context, ChosenBy(chosen_by), propensity, swapped, layer, share, asked_at, free,
        DuelKind(kind), _outcome(expected),
    )  # fmt: skip


@whole
def lease_from(row: Sequence[Any]) -> LeaseRow:
    """A lease."""
    duel, rater, state, asked_at, deadline = row
    return LeaseRow(duel, rater, LeaseState(state), asked_at, deadline)


@whole
def vote_from(row: Sequence[Any]) -> VoteRow:
    """A row of the log."""
    sequence, duel, rater, outcome, voted_at, source, seconds, late, revises, root, reason, criterion, batch = row
    return VoteRow(
        sequence, duel, rater, _outcome(outcome), voted_at, Source(source), seconds, late, revises, root, reason,
        criterion or None, batch,
    )  # fmt: skip


@whole
def seen_from(row: Sequence[Any]) -> SeenRow:
    """A row of the log with what its duel showed."""
    sequence, duel, outcome, revises, first_row, second_row = row
    return SeenRow(sequence, duel, _outcome(outcome), revises, first_row, second_row)


@whole
def rater_from(row: Sequence[Any]) -> RaterRow:
    """A rater."""
    name, attributes, *rest = row
    return RaterRow(name, json.loads(attributes), *rest)
