"""The first schema: studies, arms, features, duels, leases, votes, snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


# Rows in the table, then rows that share the first, the first two, ... columns of the index.
_STATISTICS = {
    ("duelist_arms", "duelist_arms"): "100000 100000 1",
    ("duelist_arms", "duelist_arms_by_revision"): "100000 100000 1000 1",
    ("duelist_duels", "duelist_duels"): "1000000 1000000 1",
    ("duelist_duels", "duelist_duels_by_free"): "1000000 1000000 500000 1",
    ("duelist_duels", "duelist_duels_by_context"): "1000000 1000000 1000 500 1",
    ("duelist_leases", "duelist_leases"): "1000000 1000000 1 1",
    ("duelist_leases", "duelist_leases_by_state"): "1000000 1000000 10 1 1",
    ("duelist_votes", "duelist_votes"): "1000000 1000000 1",
    ("duelist_votes", "duelist_votes_by_duel"): "1000000 1000000 1 1 1",
    ("duelist_votes", "duelist_votes_once"): "1000000 1000000 1 1",
}


def upgrade() -> None:
    """Make all tables."""
    _studies()
    _arms()
    _duels()
    _votes()
    if op.get_bind().dialect.name == "sqlite":
        _statistics()


def _statistics() -> None:
    """Tell SQLite that a study is large: it takes every table for a small one, and would read all of a study to find a row."""
    op.execute("ANALYZE sqlite_schema")
    for (table, index), rows in _STATISTICS.items():
        statement = sa.text("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)")
        op.execute(statement.bindparams(tbl=table, idx=index, stat=rows))
    op.execute("ANALYZE sqlite_schema")


def _of_study() -> "sa.Column[int]":
    return sa.Column("study_id", _ID, sa.ForeignKey("duelist_studies.id"), primary_key=True)


def _key(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def _number(name: str, nullable: bool = False) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _studies() -> None:
    op.create_table(
        "duelist_studies",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("settings", sa.Text, nullable=False),
        _number("created_at"),
        _number("n_arms"),
        _number("n_rows"),
        _number("n_duels"),
        _number("n_votes"),
        _number("arms_revision"),
        sa.Column("dim", sa.Integer),
        _number("last_told_at"),
    )
    op.create_table(
        "duelist_snapshots",
        _of_study(),
        _key("sequence"),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _arms() -> None:
    op.create_table(
        "duelist_arms",
        _of_study(),
        _key("number"),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("context", sa.Text),
        sa.Column("retired", sa.Boolean, nullable=False),
        _number("revision"),
        sa.UniqueConstraint("study_id", "id", name="duelist_arms_by_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_arms_by_revision", "duelist_arms", ["study_id", "revision"])
    op.create_table(
        "duelist_features",
        _of_study(),
        _key("first_row"),
        sa.Column("arms", sa.LargeBinary, nullable=False),
        sa.Column("vectors", sa.LargeBinary, nullable=False),
    )


def _duels() -> None:
    op.create_table(
        "duelist_duels",
        _of_study(),
        _key("number"),
        _number("first_row"),
        _number("second_row"),
        sa.Column("context", sa.Text),
        sa.Column("chosen_by", sa.Text, nullable=False),
        sa.Column("chance", sa.Double),
        sa.Column("swapped", sa.Boolean, nullable=False),
        sa.Column("layer", sa.Integer, nullable=False),
        sa.Column("share", sa.Double, nullable=False),
        _number("asked_at"),
        sa.Column("free", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_duels_by_free", "duelist_duels", ["study_id", "free", "number"])
    op.create_index("duelist_duels_by_context", "duelist_duels", ["study_id", "context", "free", "number"])
    op.create_table(
        "duelist_leases",
        _of_study(),
        _key("duel"),
        sa.Column("rater", sa.Text, primary_key=True),
        sa.Column("state", sa.SmallInteger, nullable=False),
        _number("asked_at"),
        _number("deadline"),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_leases_by_state", "duelist_leases", ["study_id", "state", "duel"])


def _votes() -> None:
    op.create_table(
        "duelist_votes",
        _of_study(),
        _key("sequence"),
        _number("duel"),
        sa.Column("rater", sa.Text),
        sa.Column("outcome", sa.Text),
        _number("told_at"),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("response_seconds", sa.Double),
        sa.Column("late", sa.Boolean, nullable=False),
        _number("revises", nullable=True),
        _number("root"),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_votes_by_duel", "duelist_votes", ["study_id", "duel", "rater", "sequence"])
    first_votes = sa.text("revises IS NULL")
    op.create_index(
        "duelist_votes_once",
        "duelist_votes",
        ["study_id", "duel", "rater"],
        unique=True,
        sqlite_where=first_votes,
        postgresql_where=first_votes,
    )
