"""The database tables, as the newest migration creates them.

Times are whole microseconds since 1970 UTC: exact, ordered, and equal in every database. Counters are in the row of their
study, which every writer locks first; so numbers have no gaps, and writers conflict nowhere else.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

HEAD: Final = "0001"
"""The newest migration; a test compares it with the files."""
VERSION_TABLE: Final = "duelist_version"

metadata = sa.MetaData()

# SQLite assigns keys itself only if their type is INTEGER.
_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _of_study() -> sa.Column[Any]:
    return sa.Column("study_id", _Id, sa.ForeignKey("duelist_studies.id"), primary_key=True)


studies = sa.Table(
    "duelist_studies",
    metadata,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("n_arms", sa.BigInteger, nullable=False),
    sa.Column("n_rows", sa.BigInteger, nullable=False),
    sa.Column("n_duels", sa.BigInteger, nullable=False),
    sa.Column("n_votes", sa.BigInteger, nullable=False),
    sa.Column("arms_revision", sa.BigInteger, nullable=False),
    sa.Column("dim", sa.Integer),
    sa.Column("last_voted_at", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("counting_revision", sa.BigInteger, nullable=False),
)

contexts = sa.Table(
    "duelist_contexts",
    metadata,
    _of_study(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("payload", sa.Text),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Index("duelist_contexts_by_revision", "study_id", "revision"),
    sqlite_with_rowid=False,
)

raters = sa.Table(
    "duelist_raters",
    metadata,
    _of_study(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("attributes", sa.Text, nullable=False),
    sa.Column("blocked", sa.Boolean, nullable=False),
    sa.Column("excluded", sa.Boolean, nullable=False),
    sa.Column("erased", sa.Boolean, nullable=False),
    sa.Column("blocked_at", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("participation", sa.Text),
    sa.Index("duelist_raters_excluded", "study_id", "excluded", "name"),
    sqlite_with_rowid=False,
)

arms = sa.Table(
    "duelist_arms",
    metadata,
    _of_study(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("payload", sa.Text),
    sa.Column("context", sa.Text),
    sa.Column("retired", sa.Boolean, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("system", sa.Text),
    sa.Column("category", sa.Text),
    sa.UniqueConstraint("study_id", "id", name="duelist_arms_by_id"),
    sa.Index("duelist_arms_by_revision", "study_id", "revision"),
    sqlite_with_rowid=False,
)

# Features are only added: a new version of an arm is a new row, and many rows share a chunk.
features = sa.Table(
    "duelist_features",
    metadata,
    _of_study(),
    sa.Column("first_row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("arms", sa.LargeBinary, nullable=False),
    sa.Column("vectors", sa.LargeBinary, nullable=False),
)

duels = sa.Table(
    "duelist_duels",
    metadata,
    _of_study(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("first_row", sa.BigInteger, nullable=False),
    sa.Column("second_row", sa.BigInteger, nullable=False),
    sa.Column("context", sa.Text),
    sa.Column("chosen_by", sa.Text, nullable=False),
    sa.Column("propensity", sa.Double),
    sa.Column("swapped", sa.Boolean, nullable=False),
    sa.Column("layer", sa.Integer, nullable=False),
    sa.Column("share", sa.Double, nullable=False),
    sa.Column("asked_at", sa.BigInteger, nullable=False),
    sa.Column("free", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("expected", sa.Text),
    sa.Index("duelist_duels_by_free", "study_id", "free", "number"),
    sa.Index("duelist_duels_by_context", "study_id", "context", "free", "number"),
    sqlite_with_rowid=False,
)

leases = sa.Table(
    "duelist_leases",
    metadata,
    _of_study(),
    sa.Column("duel", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("rater", sa.Text, primary_key=True),
    sa.Column("state", sa.SmallInteger, nullable=False),
    sa.Column("asked_at", sa.BigInteger, nullable=False),
    sa.Column("deadline", sa.BigInteger, nullable=False),
    sa.Index("duelist_leases_by_state", "study_id", "state", "duel"),
    sa.Index("duelist_leases_by_rater", "study_id", "rater", "duel"),
    sqlite_with_rowid=False,
)

votes = sa.Table(
    "duelist_votes",
    metadata,
    _of_study(),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("duel", sa.BigInteger, nullable=False),
    sa.Column("rater", sa.Text),
    sa.Column("outcome", sa.Text),
    sa.Column("voted_at", sa.BigInteger),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("response_seconds", sa.Double),
    sa.Column("late", sa.Boolean, nullable=False),
    sa.Column("revises", sa.BigInteger),
    sa.Column("root", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.Text),
    # Empty where the study has no criteria: NULLs would never be equal in the unique index.
    sa.Column("criterion", sa.Text, nullable=False),
    sa.Column("batch", sa.BigInteger),
    sa.Index("duelist_votes_by_duel", "study_id", "duel", "rater", "sequence"),
    sa.Index("duelist_votes_by_rater", "study_id", "rater", "sequence"),
    sqlite_with_rowid=False,
)

# The database also enforces that a rater has one first vote per duel and criterion.
sa.Index(
    "duelist_votes_once",
    votes.c.study_id,
    votes.c.duel,
    votes.c.rater,
    votes.c.criterion,
    unique=True,
    sqlite_where=votes.c.revises.is_(None),
    postgresql_where=votes.c.revises.is_(None),
)

# What imported files said about duels and no other row has; separate, so that analyses do not load long texts.
details = sa.Table(
    "duelist_details",
    metadata,
    _of_study(),
    sa.Column("duel", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text, nullable=False),
)

# Parts of an accepted import that are not in the log yet; `since` is the row of the log that it began after.
staged = sa.Table(
    "duelist_staged",
    metadata,
    _of_study(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

snapshots = sa.Table(
    "duelist_snapshots",
    metadata,
    _of_study(),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

# Tokens are stored as hashes. A token without a study is valid for all studies.
tokens = sa.Table(
    "duelist_tokens",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("study_id", _Id, sa.ForeignKey("duelist_studies.id")),
    sa.Column("rater", sa.Text),
    sa.Column("label", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Index("duelist_tokens_by_study", "study_id", "rater"),
)

# One row: the secret with which names are hidden from raters.
server_secret = sa.Table(
    "duelist_secret",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.LargeBinary, nullable=False),
)

# Sessions of browsers; a secret is stored as its hash, and a session ends with its token.
sessions = sa.Table(
    "duelist_sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("previous", sa.Text),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("rotated_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Index("duelist_sessions_by_previous", "previous"),
    sa.Index("duelist_sessions_by_expiry", "expires_at"),
)

# What owners did; the log outlives the studies and tokens that it names.
actions = sa.Table(
    "duelist_actions",
    metadata,
    sa.Column("number", _Id, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("study_id", _Id),
    sa.Column("subject", sa.Text),
    sa.Index("duelist_actions_by_study", "study_id", "number"),
)

# Images, audio and video shown to raters; a key is a hash of the content.
media = sa.Table(
    "duelist_media",
    metadata,
    _of_study(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

CHILDREN: Final = (media, tokens, snapshots, staged, details, votes, leases, duels, features, arms, contexts, raters)
"""The tables of a study's parts, in an order in which they can be deleted."""
