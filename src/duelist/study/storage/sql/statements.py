"""The statements of a study, built once, so that SQLAlchemy compiles each of them only once.

Where few rows are wanted in order, they are sorted by whoever reads them: asked for an order, SQLite may rather walk
through the whole study in that order than find the few by their index.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from duelist.study.records import DuelKind
from duelist.study.storage.base import LeaseState
from duelist.study.storage.sql.tables import arms, duels, features, leases, raters, snapshots, staged, studies, votes

COUNTERS: Final = (
    "n_arms", "n_rows", "n_duels", "n_votes", "arms_revision", "dim", "last_voted_at", "revision", "counting_revision",
)  # fmt: skip

_study = given("study", type_=sa.BigInteger)
_since = given("since", type_=sa.BigInteger)
_until = given("until", type_=sa.BigInteger)


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
    """Every column but the study's id: the fields of the row, in their order."""
    return [column for column in table.c if column.name != "study_id"]


_counted: Final = sa.select(*(studies.c[name] for name in COUNTERS)).where(studies.c.id == _study)
_waiting_for: Final = tuple(
    sa.select(column).where(staged.c.study_id == _study).order_by(staged.c.number).limit(1).scalar_subquery()
    for column in (staged.c.number, staged.c.since)
)


def count(now: sa.ColumnElement[Any] | None = None, lock: bool = False) -> sa.Select[Any]:
    """The counters of a study, its next staged part, and the time if the database tells it; with a lock on its row, if one is wanted.

    What is beside the counters is looked at when the lock is there.
    """
    row = (_counted.with_for_update() if lock else _counted).cte("counted")
    return sa.select(*row.c, *(column.label(None) for column in _waiting_for), sa.null() if now is None else now)


COUNT: Final = count()
COUNT_AND_LOCK: Final = count(lock=True)
SAVE_COUNTERS: Final = (
    sa.update(studies).where(studies.c.id == _study).values({name: given("new_" + name) for name in COUNTERS})
)
STUDIES: Final = sa.select(
    studies.c.id,
    studies.c.name,
    studies.c.settings,
    studies.c.created_at,
    studies.c.state,
    *(studies.c[name] for name in COUNTERS),
).order_by(studies.c.created_at, studies.c.id)
STUDY_BY_NAME: Final = STUDIES.where(studies.c.name == given("name"))
ADD_STUDY: Final = sa.insert(studies).returning(studies.c.id)

ADD_ARMS: Final = sa.insert(arms)
ARMS_SINCE: Final = sa.select(
    arms.c.number, arms.c.id, arms.c.payload, arms.c.context, arms.c.retired, arms.c.revision
).where(arms.c.study_id == _study, arms.c.revision > _since)
_THIS_ARM = sa.and_(arms.c.study_id == _study, arms.c.number == given("arm"))
RETIRE_ARM: Final = sa.update(arms).where(_THIS_ARM).values(retired=given("now_retired"), revision=given("at"))
TOUCH_ARM: Final = sa.update(arms).where(_THIS_ARM).values(revision=given("at"))

ADD_FEATURES: Final = sa.insert(features)
FEATURES_SINCE: Final = (
    sa.select(*_columns(features))
    .where(features.c.study_id == _study, features.c.first_row >= _since)
    .order_by(features.c.first_row)
)

ADD_DUELS: Final = sa.insert(duels)
DUEL: Final = sa.select(*_columns(duels)).where(duels.c.study_id == _study, duels.c.number == given("duel"))
DUELS_SINCE: Final = (
    sa.select(*_columns(duels)).where(duels.c.study_id == _study, duels.c.number > _since).order_by(duels.c.number)
)
SIDES_SINCE: Final = sa.select(duels.c.first_row, duels.c.second_row).where(
    duels.c.study_id == _study, duels.c.number > _since
)


def _waiting(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Duels with room for a rater who has not told them, among the first few: looking further would take ever longer."""
    few = (
        sa.select(*_columns(duels))
        .where(duels.c.study_id == _study, duels.c.free > 0, *conditions)
        .order_by(duels.c.free, duels.c.number)
        .limit(given("most", type_=sa.Integer))
        .subquery("few")
    )
    told = sa.exists().where(
        leases.c.study_id == _study,
        leases.c.duel == few.c.number,
        leases.c.rater == given("rater"),
        leases.c.state == int(LeaseState.TOLD),
    )
    return sa.select(few).where(~told).order_by(few.c.free, few.c.number)


WAITING_DUELS: Final = _waiting()
WAITING_IN_CONTEXT: Final = _waiting(duels.c.context == given("within"))
SET_FREE: Final = (
    sa.update(duels).where(duels.c.study_id == _study, duels.c.number == given("duel")).values(free=given("now_free"))
)

LEASE: Final = sa.select(*_columns(leases)).where(
    leases.c.study_id == _study, leases.c.duel == given("of"), leases.c.rater == given("by")
)
# Of a duel only what may have changed: the rest is remembered by whoever has read it once. Looked up, as in `_lessons`.
OPEN_LEASES: Final = sa.select(
    leases.c.duel,
    leases.c.rater,
    leases.c.asked_at,
    leases.c.deadline,
    sa.select(duels.c.free)
    .where(duels.c.study_id == leases.c.study_id, duels.c.number == leases.c.duel)
    .scalar_subquery(),
).where(leases.c.study_id == _study, leases.c.state == int(LeaseState.OPEN))
# The same words in SQLite and in PostgreSQL, but two constructs in SQLAlchemy.
PUT_LEASE: Final = sa.text(
    "INSERT INTO duelist_leases (study_id, duel, rater, state, asked_at, deadline) "
    "VALUES (:study, :duel, :rater, :state, :asked_at, :deadline) ON CONFLICT (study_id, duel, rater) "
    "DO UPDATE SET state = excluded.state, asked_at = excluded.asked_at, deadline = excluded.deadline"
)

ADD_VOTES: Final = sa.insert(votes)
VOTES_ON_DUEL: Final = sa.select(*_columns(votes)).where(
    votes.c.study_id == _study, votes.c.duel == given("of"), votes.c.rater == given("by")
)
_LEFT_OUT: Final = sa.select(raters.c.name).where(raters.c.study_id == _study, raters.c.excluded == sa.true())
VOTES_SINCE: Final = (
    sa.select(*_columns(votes))
    .where(votes.c.study_id == _study, votes.c.sequence > _since, votes.c.sequence <= _until)
    .order_by(votes.c.sequence)
)
SEEN_BY: Final = (
    sa.select(votes.c.sequence, votes.c.duel, votes.c.outcome, votes.c.revises, duels.c.first_row, duels.c.second_row)
    .join(duels, sa.and_(duels.c.study_id == votes.c.study_id, duels.c.number == votes.c.duel))
    .where(votes.c.study_id == _study, votes.c.rater == given("by"), votes.c.sequence > _since)
)


def _lessons(everyone: bool, look_up: bool) -> sa.Select[Any]:
    """What rows of the log teach: votes on normal duels, of everyone or of those who are not left out.

    `look_up` finds the duel of each row by its number, whatever the database thinks of its tables. Left to itself, PostgreSQL keeps the
    plan that it made when they were nearly empty, which then looks at every duel for each row, until its next ANALYZE.
    """
    asked: Any = duels
    of_vote = sa.and_(duels.c.study_id == votes.c.study_id, duels.c.number == votes.c.duel)
    if look_up:  # a subquery with an offset stays one
        asked = sa.select(duels).where(of_vote).offset(sa.literal_column("0")).lateral("asked")
    kept = sa.select(
        votes.c.sequence,
        votes.c.root,
        votes.c.outcome,
        asked.c.first_row,
        asked.c.second_row,
        asked.c.layer,
        asked.c.share,
        votes.c.criterion,
        votes.c.rater,
    )
    kept = kept.select_from(votes.join(asked, sa.true() if look_up else of_vote)).where(
        votes.c.study_id == _study,
        votes.c.sequence > _since,
        votes.c.sequence <= _until,
        asked.c.kind == DuelKind.NORMAL.value,
    )
    if not everyone:
        kept = kept.where(votes.c.rater.is_(None) | votes.c.rater.not_in(_LEFT_OUT))
    return kept.order_by(votes.c.sequence)


LESSONS_SINCE: Final = {
    (database, everyone): _lessons(everyone, look_up=database == "postgresql")
    for database in ("sqlite", "postgresql")
    for everyone in (False, True)
}
"""By the name of the database, and by whether votes of raters who are left out count."""

PUT_SNAPSHOT: Final = sa.insert(snapshots)
SNAPSHOT_BEFORE: Final = (
    sa.select(snapshots.c.sequence, snapshots.c.body)
    .where(snapshots.c.study_id == _study, snapshots.c.sequence < given("before"))
    .order_by(snapshots.c.sequence.desc())
    .limit(1)
)
SNAPSHOT_SEQUENCES: Final = (
    sa.select(snapshots.c.sequence).where(snapshots.c.study_id == _study).order_by(snapshots.c.sequence)
)
DROP_SNAPSHOT: Final = sa.delete(snapshots).where(
    snapshots.c.study_id == _study, snapshots.c.sequence == given("unwanted")
)
