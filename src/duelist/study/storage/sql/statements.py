"""The SQL statements of a study, built once so that SQLAlchemy compiles each of them once.

Statements that find a few rows do not order them; their readers sort. Asked for an order, SQLite may walk through the whole study in
that order instead of finding the rows by their index.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam

from duelist.study.records import DuelKind
from duelist.study.storage.rows import ActionRow, LeaseState, SessionRow, TokenRow
from duelist.study.storage.sql.tables import (
    actions,
    arms,
    contexts,
    details,
    duels,
    features,
    leases,
    media,
    raters,
    server_secret,
    sessions,
    snapshots,
    staged,
    studies,
    tokens,
    votes,
)

COUNTERS: Final = (
    "n_arms", "n_rows", "n_duels", "n_votes", "arms_revision", "dim", "last_voted_at", "revision", "counting_revision",
)  # fmt: skip

_study = bindparam("study", type_=sa.BigInteger)
_since = bindparam("since", type_=sa.BigInteger)
_after = bindparam("after", type_=sa.BigInteger)
_until = bindparam("until", type_=sa.BigInteger)
_rater: Any = bindparam("rater_name")


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
    """Return every column but the study's id: the fields of a row, in their order."""
    return [column for column in table.c if column.name != "study_id"]


def _between(table: sa.Table, key: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(*_columns(table)).where(table.c.study_id == _study, key > _after, key <= _until)


# -- studies -----------------------------------------------------------------------------

_counters: Final = sa.select(*(studies.c[name] for name in COUNTERS)).where(studies.c.id == _study)
_pending_import: Final = tuple(
    sa.select(column).where(staged.c.study_id == _study).order_by(staged.c.number).limit(1).scalar_subquery()
    for column in (staged.c.number, staged.c.since)
)


def begin(now: sa.ColumnElement[Any] | None = None, lock: bool = False) -> sa.Select[Any]:
    """Return the first statement of a transaction: counters, pending import and, if `now` is given, the database's time.

    With `lock` it locks the study's row, and reads the rest when it has the lock.
    """
    row = (_counters.with_for_update() if lock else _counters).cte("counted")
    return sa.select(*row.c, *(column.label(None) for column in _pending_import), sa.null() if now is None else now)


BEGIN: Final = begin()
SAVEPOINT: Final = sa.text("SAVEPOINT duelist")
ROLLBACK_TO_SAVEPOINT: Final = sa.text("ROLLBACK TO SAVEPOINT duelist")
BEGIN_AND_LOCK: Final = begin(lock=True)
SAVE_COUNTERS: Final = (
    sa.update(studies).where(studies.c.id == _study).values({name: bindparam("new_" + name) for name in COUNTERS})
)
STUDIES: Final = sa.select(
    studies.c.id,
    studies.c.name,
    studies.c.settings,
    studies.c.created_at,
    studies.c.state,
    *(studies.c[name] for name in COUNTERS),
).order_by(studies.c.created_at, studies.c.id)
STUDY: Final = STUDIES.where(studies.c.id == _study)
STUDY_BY_NAME: Final = STUDIES.where(studies.c.name == bindparam("name"))
ADD_STUDY: Final = sa.insert(studies).returning(studies.c.id)
PUT_STUDY: Final = (
    sa.update(studies)
    .where(studies.c.id == _study)
    .values(name=bindparam("new_name"), settings=bindparam("new_settings"), state=bindparam("new_state"))
)

# -- raters ------------------------------------------------------------------------------

RATERS: Final = sa.select(*_columns(raters)).where(raters.c.study_id == _study)
DROP_RATER: Final = sa.delete(raters).where(raters.c.study_id == _study, raters.c.name == _rater)
ADD_RATER: Final = sa.insert(raters)
RENAME_RATER: Final = (
    sa.update(votes)
    .where(votes.c.study_id == _study, votes.c.rater == _rater)
    .values(rater=bindparam("new_name"), reason=None),
    sa.update(leases).where(leases.c.study_id == _study, leases.c.rater == _rater).values(rater=bindparam("new_name")),
    sa.update(raters).where(raters.c.study_id == _study, raters.c.name == _rater).values(name=bindparam("new_name")),
    sa.update(actions)
    .where(actions.c.study_id == _study, actions.c.subject == _rater)
    .values(subject=bindparam("new_name")),
)
FIRST_VOTE: Final = sa.select(sa.func.min(votes.c.sequence)).where(votes.c.study_id == _study, votes.c.rater == _rater)
LAST_ASKED: Final = sa.select(sa.func.max(leases.c.asked_at)).where(
    leases.c.study_id == _study, leases.c.rater == _rater
)
LAST_VOTED: Final = sa.select(sa.func.max(votes.c.voted_at)).where(votes.c.study_id == _study, votes.c.rater == _rater)
LEASES_OF: Final = sa.select(*_columns(leases)).where(leases.c.study_id == _study, leases.c.rater == _rater)
DUELS_OF: Final = (
    sa.select(*_columns(duels))
    .join(leases, sa.and_(duels.c.study_id == leases.c.study_id, duels.c.number == leases.c.duel))
    .where(leases.c.study_id == _study, leases.c.rater == _rater)
)

# -- arms --------------------------------------------------------------------------------

ADD_ARMS: Final = sa.insert(arms)
ARMS_SINCE: Final = sa.select(*_columns(arms)).where(arms.c.study_id == _study, arms.c.revision > _since)
_THIS_ARM = sa.and_(arms.c.study_id == _study, arms.c.number == bindparam("arm"))
SET_RETIRED: Final = (
    sa.update(arms).where(_THIS_ARM).values(retired=bindparam("now_retired"), revision=bindparam("new_revision"))
)
TOUCH_ARM: Final = sa.update(arms).where(_THIS_ARM).values(revision=bindparam("new_revision"))
ADD_FEATURES: Final = sa.insert(features)
FEATURES_SINCE: Final = (
    sa.select(*_columns(features))
    .where(features.c.study_id == _study, features.c.first_row >= _since)
    .order_by(features.c.first_row)
)
CONTEXTS_SINCE: Final = sa.select(*_columns(contexts)).where(
    contexts.c.study_id == _study, contexts.c.revision > _since
)
CONTEXTS_NAMED: Final = sa.select(*_columns(contexts)).where(
    contexts.c.study_id == _study, contexts.c.name.in_(bindparam("names", expanding=True))
)
DROP_CONTEXT: Final = sa.delete(contexts).where(
    contexts.c.study_id == _study, contexts.c.name == bindparam("context_name")
)
ADD_CONTEXTS: Final = sa.insert(contexts)

# -- duels and leases --------------------------------------------------------------------

ADD_DUELS: Final = sa.insert(duels)
DUEL: Final = sa.select(*_columns(duels)).where(duels.c.study_id == _study, duels.c.number == bindparam("duel"))
DUELS_SINCE: Final = (
    sa.select(*_columns(duels)).where(duels.c.study_id == _study, duels.c.number > _since).order_by(duels.c.number)
)
DUELS_BETWEEN: Final = _between(duels, duels.c.number)
SIDES_SINCE: Final = sa.select(duels.c.first_row, duels.c.second_row).where(
    duels.c.study_id == _study, duels.c.number > _since
)


def _waiting(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select duels with free places that a rater has not voted on; search only the first few, to bound the cost."""
    few = (
        sa.select(*_columns(duels))
        .where(duels.c.study_id == _study, duels.c.free > 0, *conditions)
        .order_by(duels.c.free, duels.c.number)
        .limit(bindparam("most", type_=sa.Integer))
        .subquery("few")
    )
    voted = sa.exists().where(
        leases.c.study_id == _study,
        leases.c.duel == few.c.number,
        leases.c.rater == bindparam("rater"),
        leases.c.state == int(LeaseState.VOTED),
    )
    return sa.select(few).where(~voted).order_by(few.c.free, few.c.number)


WAITING_DUELS: Final = _waiting()
WAITING_DUELS_IN_CONTEXT: Final = _waiting(duels.c.context == bindparam("within"))
SET_FREE: Final = (
    sa.update(duels)
    .where(duels.c.study_id == _study, duels.c.number == bindparam("duel"))
    .values(free=bindparam("now_free"))
)

LEASE: Final = sa.select(*_columns(leases)).where(
    leases.c.study_id == _study, leases.c.duel == bindparam("duel_number"), leases.c.rater == _rater
)
# Only the columns of a duel that can change; the rest is cached. A subquery looks the duel up, as in `_training_votes`.
OPEN_LEASES: Final = sa.select(
    leases.c.duel,
    leases.c.rater,
    leases.c.asked_at,
    leases.c.deadline,
    sa.select(duels.c.free)
    .where(duels.c.study_id == leases.c.study_id, duels.c.number == leases.c.duel)
    .scalar_subquery(),
).where(leases.c.study_id == _study, leases.c.state == int(LeaseState.OPEN))
LEASES_BETWEEN: Final = _between(leases, leases.c.duel)
COUNT_LEASES: Final = sa.select(sa.func.count()).where(
    leases.c.study_id == _study, leases.c.state == bindparam("lease_state")
)
ADD_LEASES: Final = sa.insert(leases)
# SQLite and PostgreSQL share this text; SQLAlchemy has a construct for each.
PUT_LEASE: Final = sa.text(
    "INSERT INTO duelist_leases (study_id, duel, rater, state, asked_at, deadline) "
    "VALUES (:study, :duel, :rater, :state, :asked_at, :deadline) ON CONFLICT (study_id, duel, rater) "
    "DO UPDATE SET state = excluded.state, asked_at = excluded.asked_at, deadline = excluded.deadline"
)

# -- the log -----------------------------------------------------------------------------

ADD_VOTES: Final = sa.insert(votes)
VOTES_ON_DUEL: Final = sa.select(*_columns(votes)).where(
    votes.c.study_id == _study, votes.c.duel == bindparam("duel_number"), votes.c.rater == _rater
)
VOTES_SINCE: Final = (
    sa.select(*_columns(votes))
    .where(votes.c.study_id == _study, votes.c.sequence > _since, votes.c.sequence <= _until)
    .order_by(votes.c.sequence)
)
VOTES_BETWEEN: Final = _between(votes, votes.c.sequence)
VOTES_OF: Final = (
    sa.select(votes.c.sequence, votes.c.duel, votes.c.outcome, votes.c.revises, duels.c.first_row, duels.c.second_row)
    .join(duels, sa.and_(duels.c.study_id == votes.c.study_id, duels.c.number == votes.c.duel))
    .where(votes.c.study_id == _study, votes.c.rater == _rater, votes.c.sequence > _since)
)
COUNT_LATE_VOTES: Final = sa.select(sa.func.count()).where(votes.c.study_id == _study, votes.c.late)
_EXCLUDED_RATERS: Final = sa.select(raters.c.name).where(raters.c.study_id == _study, raters.c.excluded == sa.true())


def _training_votes(include_excluded: bool, every_kind: bool, look_up: bool) -> sa.Select[Any]:
    """Select votes on normal duels or on all, of all raters or of those who are not excluded.

    `look_up` makes the database find the duel of each vote by its number. PostgreSQL otherwise keeps a plan that it made when the tables
    were nearly empty, and scans all duels for each vote until its next ANALYZE.
    """
    asked: Any = duels
    of_vote = sa.and_(duels.c.study_id == votes.c.study_id, duels.c.number == votes.c.duel)
    if look_up:  # PostgreSQL does not flatten a subquery that has an offset
        asked = sa.select(duels).where(of_vote).offset(sa.literal_column("0")).lateral("asked")
    found = sa.select(
        votes.c.sequence,
        votes.c.root,
        votes.c.outcome,
        asked.c.first_row,
        asked.c.second_row,
        asked.c.layer,
        asked.c.share,
        votes.c.criterion,
        votes.c.rater,
        asked.c.kind,
    )
    found = found.select_from(votes.join(asked, sa.true() if look_up else of_vote)).where(
        votes.c.study_id == _study,
        votes.c.sequence > _since,
        votes.c.sequence <= _until,
    )
    if not every_kind:
        found = found.where(asked.c.kind == DuelKind.NORMAL.value)
    if not include_excluded:
        found = found.where(votes.c.rater.is_(None) | votes.c.rater.not_in(_EXCLUDED_RATERS))
    return found.order_by(votes.c.sequence)


TRAINING_VOTES_SINCE: Final = {
    (database, include_excluded, every_kind): _training_votes(include_excluded, every_kind, database == "postgresql")
    for database in ("sqlite", "postgresql")
    for include_excluded in (False, True)
    for every_kind in (False, True)
}
"""By the name of the database, and by whether votes of excluded raters and on gold and repeated duels are included."""

# -- snapshots ---------------------------------------------------------------------------

PUT_SNAPSHOT: Final = sa.insert(snapshots)
SNAPSHOT_BEFORE: Final = (
    sa.select(snapshots.c.sequence, snapshots.c.body)
    .where(snapshots.c.study_id == _study, snapshots.c.sequence < bindparam("before"))
    .order_by(snapshots.c.sequence.desc())
    .limit(1)
)
SNAPSHOT_SEQUENCES: Final = (
    sa.select(snapshots.c.sequence).where(snapshots.c.study_id == _study).order_by(snapshots.c.sequence)
)
DROP_SNAPSHOT: Final = sa.delete(snapshots).where(
    snapshots.c.study_id == _study, snapshots.c.sequence == bindparam("unwanted")
)

# -- imports -----------------------------------------------------------------------------

DETAILS_BETWEEN: Final = _between(details, details.c.duel)
DETAILS_OF: Final = sa.select(*_columns(details)).where(
    details.c.study_id == _study,
    details.c.duel.in_(sa.select(votes.c.duel).where(votes.c.study_id == _study, votes.c.rater == _rater)),
)
ADD_DETAILS: Final = sa.insert(details)
DROP_DETAILS: Final = sa.delete(details).where(details.c.study_id == _study, details.c.duel == bindparam("duel_number"))
STAGED: Final = sa.select(*_columns(staged)).where(staged.c.study_id == _study)
NEXT_STAGED: Final = STAGED.order_by(staged.c.number).limit(1)
ADD_STAGED: Final = sa.insert(staged)
DROP_STAGED: Final = sa.delete(staged).where(staged.c.study_id == _study, staged.c.number == bindparam("unwanted"))

# -- media and tokens --------------------------------------------------------------------

MEDIA_KEYS: Final = sa.select(media.c.key).where(media.c.study_id == _study)
MEDIA: Final = sa.select(*_columns(media)).where(media.c.study_id == _study, media.c.key == bindparam("media_key"))
ADD_MEDIA: Final = sa.insert(media)

ADD_TOKEN: Final = sa.insert(tokens)
TOKENS: Final = sa.select(*(tokens.c[name] for name in TokenRow._fields))
TOKEN_BY_HASH: Final = TOKENS.where(tokens.c.hash == bindparam("digest"))
TOKEN_ID: Final = sa.select(tokens.c.id).where(tokens.c.id == bindparam("token_id"))
REVOKE_TOKEN: Final = (
    sa.update(tokens)
    .where(tokens.c.id == bindparam("token_id"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)
SECRET: Final = sa.select(server_secret.c.value)
# SQLite and PostgreSQL share this text; of processes that start together, the first one's secret stays.
ADD_SECRET: Final = sa.text("INSERT INTO duelist_secret (number, value) VALUES (1, :value) ON CONFLICT DO NOTHING")
ADD_SESSION: Final = sa.insert(sessions)
SESSION: Final = sa.select(*(sessions.c[name] for name in SessionRow._fields)).where(
    (sessions.c.hash == bindparam("digest")) | (sessions.c.previous == bindparam("digest"))
)
ROTATE_SESSION: Final = (
    sa.update(sessions)
    .where(sessions.c.hash == bindparam("digest"))
    .values(
        hash=bindparam("new_digest"),
        previous=bindparam("digest"),
        rotated_at=bindparam("at"),
        expires_at=bindparam("until"),
    )
)
END_SESSION: Final = sa.delete(sessions).where(sessions.c.id == bindparam("session"))
DROP_EXPIRED_SESSIONS: Final = sa.delete(sessions).where(sessions.c.expires_at < bindparam("now"))
ADD_ACTION: Final = sa.insert(actions)
DROP_OLD_ACTIONS: Final = sa.delete(actions).where(
    actions.c.number <= sa.select(sa.func.max(actions.c.number) - bindparam("most")).scalar_subquery()
)
ACTIONS: Final = (
    sa.select(*(actions.c[name] for name in ActionRow._fields))
    .where(actions.c.number < bindparam("before"))
    .order_by(actions.c.number.desc())
    .limit(bindparam("most", type_=sa.Integer))
)
ACTIONS_OF_STUDY: Final = ACTIONS.where(actions.c.study_id == _study)
DROP_TOKENS_OF: Final = sa.delete(tokens).where(tokens.c.study_id == _study, tokens.c.rater == _rater)
