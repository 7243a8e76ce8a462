"""The initial schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Rows in the table, then rows that share the first, the first two, ... columns of the index.
_STATISTICS = {
    ("duelist_arms", "duelist_arms"): "100000 100000 1",
    ("duelist_arms", "duelist_arms_by_revision"): "100000 100000 1000 1",
    ("duelist_contexts", "duelist_contexts"): "100000 100000 1",
    ("duelist_contexts", "duelist_contexts_by_revision"): "100000 100000 1000 1",
    ("duelist_duels", "duelist_duels"): "1000000 1000000 1",
    ("duelist_duels", "duelist_duels_by_free"): "1000000 1000000 500000 1",
    ("duelist_duels", "duelist_duels_by_context"): "1000000 1000000 1000 500 1",
    ("duelist_leases", "duelist_leases"): "1000000 1000000 1 1",
    ("duelist_leases", "duelist_leases_by_rater"): "1000000 1000000 1000 1",
    ("duelist_leases", "duelist_leases_by_state"): "1000000 1000000 10 1 1",
    ("duelist_raters", "duelist_raters"): "1000 1000 1",
    ("duelist_raters", "duelist_raters_excluded"): "1000 1000 10 1",
    ("duelist_votes", "duelist_votes"): "1000000 1000000 1",
    ("duelist_votes", "duelist_votes_by_duel"): "1000000 1000000 1 1 1",
    ("duelist_votes", "duelist_votes_by_rater"): "1000000 1000000 1000 1",
    ("duelist_votes", "duelist_votes_once"): "1000000 1000000 1 1 1",
}


def upgrade() -> None:
    """Create all tables."""
    _studies()
    _arms()
    _raters()
    _duels()
    _votes()
    _sessions_and_actions()
    if op.get_bind().dialect.name == "sqlite":
        _statistics()


def _statistics() -> None:
    """Tell SQLite that tables are large: without statistics it plans for small ones, and scans a study to find a row."""
    op.execute("ANALYZE sqlite_schema")
    for (table, index), rows in _STATISTICS.items():
        statement = sa.text("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)")
        op.execute(statement.bindparams(tbl=table, idx=index, stat=rows))
    op.execute("ANALYZE sqlite_schema")


def _of_study() -> "sa.Column[int]":
    return sa.Column("study_id", _ID, sa.ForeignKey("duelist_studies.id"), primary_key=True)


def _studies() -> None:
    op.create_table(
        "duelist_studies",
        sa.Column("id", _ID, primary_key=True),
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
    op.create_table(
        "duelist_snapshots",
        _of_study(),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _arms() -> None:
    op.create_table(
        "duelist_contexts",
        _of_study(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("payload", sa.Text),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Index("duelist_contexts_by_revision", "study_id", "revision"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "duelist_arms",
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
    op.create_table(
        "duelist_features",
        _of_study(),
        sa.Column("first_row", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arms", sa.LargeBinary, nullable=False),
        sa.Column("vectors", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "duelist_media",
        _of_study(),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _raters() -> None:
    op.create_table(
        "duelist_raters",
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
    op.create_table(
        "duelist_tokens",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("study_id", _ID, sa.ForeignKey("duelist_studies.id")),
        sa.Column("rater", sa.Text),
        sa.Column("label", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Index("duelist_tokens_by_study", "study_id", "rater"),
    )


def _duels() -> None:
    op.create_table(
        "duelist_duels",
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
    op.create_table(
        "duelist_leases",
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
    op.create_table(
        "duelist_details",
        _of_study(),
        sa.Column("duel", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def _votes() -> None:
    op.create_table(
        "duelist_votes",
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
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("batch", sa.BigInteger),
        sa.Index("duelist_votes_by_duel", "study_id", "duel", "rater", "sequence"),
        sa.Index("duelist_votes_by_rater", "study_id", "rater", "sequence"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "duelist_staged",
        _of_study(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    first_votes = sa.text("revises IS NULL")
    op.create_index(
        "duelist_votes_once",
        "duelist_votes",
        ["study_id", "duel", "rater", "criterion"],
        unique=True,
        sqlite_where=first_votes,
        postgresql_where=first_votes,
    )


def _sessions_and_actions() -> None:
    op.create_table(
        "duelist_secret",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "duelist_sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("previous", sa.Text),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("rotated_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Index("duelist_sessions_by_previous", "previous"),
        sa.Index("duelist_sessions_by_expiry", "expires_at"),
    )
    op.create_table(
        "duelist_actions",
        sa.Column("number", _ID, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("study_id", _ID),
        sa.Column("subject", sa.Text),
        sa.Index("duelist_actions_by_study", "study_id", "number"),
    )
