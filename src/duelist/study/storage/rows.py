"""The rows of a study, as every storage stores them: plain values, with times in microseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage.encoding import Vectors


@dataclass(slots=True)
class Counters:
    """Sizes and revision numbers of a study; a transaction may advance them and writes them when it ends.

    A process that caches part of a study reads that part again when its revision has changed: `revision` counts changes of
    the name, the settings, the state and the raters' records, `arms_revision` changes of arms and contexts, and
    `counting_revision` changes of which votes count.
    """

    n_arms: int = 0
    n_rows: int = 0
    n_duels: int = 0
    n_votes: int = 0
    arms_revision: int = 0
    dim: int | None = None
    last_voted_at: int = 0
    revision: int = 0
    counting_revision: int = 0


class StudyRow(NamedTuple):
    """A study as storages list it."""

    id: int
    name: str
    settings: StudySettings
    created_at: int
    state: StudyState
    counters: Counters


class ArmRow(NamedTuple):
    """An arm without its features; `revision` is the study's `arms_revision` at its last change.

    In a study of systems an arm is the answer of `system` to the prompt `context`, and `category` is that of the prompt.
    """

    number: int
    id: str
    payload: Any
    context: str | None
    retired: bool
    revision: int
    system: str | None = None
    category: str | None = None


class ContextRow(NamedTuple):
    """A context and its payload (its prompt); `revision` is the `arms_revision` at its last change."""

    name: str
    payload: Any
    revision: int


class FeatureChunk(NamedTuple):
    """Feature vectors of rows `first_row`, `first_row + 1`, ...; `arms` are the numbers of their arms.

    The vectors are in single precision if all of them fit it exactly.
    """

    first_row: int
    arms: NDArray[np.int64]
    vectors: Vectors


class DuelRow(NamedTuple):
    """A duel as shown: feature rows of the left and the right arm, and `free`, the number of raters it still needs."""

    number: int
    first_row: int
    second_row: int
    context: str | None
    chosen_by: ChosenBy
    propensity: float | None
    swapped: bool
    layer: int
    share: float
    asked_at: int
    free: int
    kind: DuelKind = DuelKind.NORMAL
    expected: Outcome | None = None


class LeaseState(IntEnum):
    """OPEN: the duel is pending with the rater. VOTED: they voted. RETURNED: it expired or was released."""

    RETURNED = 0
    OPEN = 1
    VOTED = 2


class LeaseRow(NamedTuple):
    """A duel that was given to a rater."""

    duel: int
    rater: str
    state: LeaseState
    asked_at: int
    deadline: int


class VoteRow(NamedTuple):
    """A row of the log.

    `revises` is the row that this one replaces; `root` is the first row of that chain (the row itself, if it revises none).
    `batch` is the first row of the log that came with the same import.
    """

    sequence: int
    duel: int
    rater: str | None
    outcome: Outcome | None
    voted_at: int | None
    source: Source
    response_seconds: float | None
    late: bool
    revises: int | None
    root: int
    reason: str | None = None
    criterion: str | None = None
    batch: int | None = None


class DetailRow(NamedTuple):
    """What an imported file said about a duel and no other row has, as JSON; its own columns are under "extra"."""

    duel: int
    body: Any


class StagedRow(NamedTuple):
    """A part of an accepted import that is not in the log yet; the import began after row `since` of the log."""

    number: int
    since: int
    body: bytes


class PendingImport(NamedTuple):
    """An import that is not whole in the log yet: its next part, and the row of the log that it began after."""

    part: int
    since: int


class RaterRow(NamedTuple):
    """A rater who entered by the open address, or whom the owner has described, blocked or erased; others have no such row."""

    name: str
    attributes: dict[str, Any]
    blocked: bool
    excluded: bool
    erased: bool
    blocked_at: int | None
    created_at: int
    participation: dict[str, Any] | None = None
    """See `duelist.study.participation.state`."""


class MediaRow(NamedTuple):
    """A file that is shown to raters."""

    key: str
    name: str
    type: str
    body: bytes


class TokenRow(NamedTuple):
    """A token, by its hash; `study_id` is None if it is valid for every study."""

    hash: str
    id: str
    scope: str
    study_id: int | None
    rater: str | None
    label: str | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class SessionRow(NamedTuple):
    """A browser's session, by the hash of its secret; `previous` is that of the secret before, `token` the hash of its token."""

    id: str
    hash: str
    previous: str | None
    token: str
    rotated_at: int
    expires_at: int


class ActionRow(NamedTuple):
    """An action of an owner, for the audit log: who did what to which study."""

    at: int
    token: str
    label: str | None
    address: str
    action: str
    study_id: int | None
    subject: str | None
    number: int | None = None


# -- parts of rows, for readers that need no more ------------------------------------------


class RaterVote(NamedTuple):
    """A vote of a rater with the feature rows that its duel showed."""

    sequence: int
    duel: int
    outcome: Outcome | None
    revises: int | None
    first_row: int
    second_row: int


class TrainingVote(NamedTuple):
    """A vote with what a policy needs to learn from it."""

    sequence: int
    root: int
    outcome: Outcome | None
    first_row: int
    second_row: int
    layer: int
    share: float
    criterion: str | None = None
    rater: str | None = None
    kind: DuelKind = DuelKind.NORMAL


class VoteColumns(NamedTuple):
    """Rows of the log by column, as the database has them; see `VoteRow`. Response times are whole microseconds."""

    sequence: Sequence[int]
    root: Sequence[int]
    duel: Sequence[int]
    rater: Sequence[str | None]
    outcome: Sequence[str | None]
    voted_at: Sequence[int | None]
    response_microseconds: Sequence[int | None]
    criterion: Sequence[str | None]


class DuelColumns(NamedTuple):
    """Duels by column, as the database has them; see `DuelRow`."""

    number: Sequence[int]
    first_row: Sequence[int]
    second_row: Sequence[int]
    context: Sequence[str | None]
    chosen_by: Sequence[str]
    propensity: Sequence[float | None]
    kind: Sequence[str]
    expected: Sequence[str | None]
