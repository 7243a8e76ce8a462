"""Conversion between rows and the values of database columns; a value that cannot be converted is corrupted data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage.encoding import decode_vectors
from duelist.study.storage.rows import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    RaterRow,
    RaterVote,
    StudyRow,
    TrainingVote,
    VoteRow,
)
from duelist.study.storage.sql.errors import corrupted_if_invalid

ARM_NUMBERS: Final = np.dtype("<i8")


def to_json(value: Any) -> str | None:
    """Return a payload as JSON, None for None."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate, which JSON can hold only escaped
        return json.dumps(value)
    return text


def from_json(text: str | None) -> Any:
    """Return the payload that `to_json` wrote."""
    return None if text is None else json.loads(text)


def _outcome(text: str | None) -> Outcome | None:
    return None if text is None else Outcome(text)


# -- to columns --------------------------------------------------------------------------


def settings_to_json(settings: StudySettings) -> str:
    """Return the settings of a study as JSON."""
    return json.dumps(asdict(settings))


def duel_values(row: DuelRow) -> tuple[Any, ...]:
    """Return the values of a duel in the order of the columns."""
    number, first, second, context, chosen_by, *rest, kind, expected = row
    return number, first, second, context, chosen_by.value, *rest, kind.value, expected and expected.value


def vote_values(row: VoteRow) -> tuple[Any, ...]:
    """Return the values of a row of the log in the order of the columns."""
    sequence, duel, rater, outcome, voted_at, source, *rest, criterion, batch = row
    return sequence, duel, rater, outcome and outcome.value, voted_at, source.value, *rest, criterion or "", batch


def lease_values(row: LeaseRow) -> dict[str, Any]:
    """Return the columns of a lease."""
    return {**row._asdict(), "state": int(row.state)}


def rater_values(row: RaterRow) -> dict[str, Any]:
    """Return the columns of a rater."""
    texts = {"attributes": json.dumps(row.attributes), "participation": to_json(row.participation)}
    return {**row._asdict(), **texts}


# -- from columns ------------------------------------------------------------------------


@corrupted_if_invalid
def study_from(row: Sequence[Any]) -> StudyRow:
    """Return a study."""
    number, name, settings, created_at, state, *counters = row
    return StudyRow(
        number, name, StudySettings(**json.loads(settings)), created_at, StudyState(state), Counters(*counters)
    )


@corrupted_if_invalid
def rater_from(row: Sequence[Any]) -> RaterRow:
    """Return a rater."""
    name, attributes, *rest, participation = row
    return RaterRow(name, json.loads(attributes), *rest)._replace(participation=from_json(participation))


@corrupted_if_invalid
def arm_from(row: Sequence[Any]) -> ArmRow:
    """Return an arm."""
    number, name, payload, *rest = row
    return ArmRow(number, name, from_json(payload), *rest)


@corrupted_if_invalid
def context_from(row: Sequence[Any]) -> ContextRow:
    """Return a context."""
    name, payload, revision = row
    return ContextRow(name, from_json(payload), revision)


@corrupted_if_invalid
def chunk_from(row: Sequence[Any]) -> FeatureChunk:
    """Return a chunk of features."""
    first_row, arms, vectors = row
    numbers = np.frombuffer(arms, ARM_NUMBERS)
    return FeatureChunk(first_row, numbers, decode_vectors(vectors, len(numbers)))


@corrupted_if_invalid
def duel_from(row: Sequence[Any]) -> DuelRow:
    """Return a duel."""
    number, first, second, context, chosen_by, propensity, swapped, layer, share, asked_at, free, kind, expected = row
    return DuelRow(
        number, first, second, context, ChosenBy(chosen_by), propensity, swapped, layer, share, asked_at, free,
        DuelKind(kind), _outcome(expected),
    )  # fmt: skip


@corrupted_if_invalid
def lease_from(row: Sequence[Any]) -> LeaseRow:
    """Return a lease."""
    duel, rater, state, asked_at, deadline = row
    return LeaseRow(duel, rater, LeaseState(state), asked_at, deadline)


@corrupted_if_invalid
def vote_from(row: Sequence[Any]) -> VoteRow:
    """Return a row of the log."""
    sequence, duel, rater, outcome, voted_at, source, seconds, late, revises, root, reason, criterion, batch = row
    return VoteRow(
        sequence, duel, rater, _outcome(outcome), voted_at, Source(source), seconds, late, revises, root, reason,
        criterion or None, batch,
    )  # fmt: skip


@corrupted_if_invalid
def rater_vote_from(row: Sequence[Any]) -> RaterVote:
    """Return a vote of a rater with the feature rows that its duel showed."""
    sequence, duel, outcome, revises, first_row, second_row = row
    return RaterVote(sequence, duel, _outcome(outcome), revises, first_row, second_row)


@corrupted_if_invalid
def training_vote_from(row: Sequence[Any]) -> TrainingVote:
    """Return a vote as policies learn it."""
    number, root, outcome, first_row, second_row, layer, share, criterion, rater, kind = row
    return TrainingVote(
        number, root, _outcome(outcome), first_row, second_row, layer, share, criterion or None, rater, DuelKind(kind)
    )


@corrupted_if_invalid
def detail_from(row: Sequence[Any]) -> DetailRow:
    """Return the details of a duel."""
    duel, body = row
    return DetailRow(duel, json.loads(body))
