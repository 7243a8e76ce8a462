"""What owners do: states, raters, contexts with a text of their own, gold pairs, criteria, votes of an unknown time."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# As in the first schema: rows in the table, then rows that share the first, the first two, ... columns of the index.
_STATISTICS = {
    ("duelist_contexts", "duelist_contexts"): "100000 100000 1",
    ("duelist_contexts", "duelist_contexts_by_revision"): "100000 100000 1000 1",
    ("duelist_raters", "duelist_raters"): "1000 1000 1",
    ("duelist_raters", "duelist_raters_left_out"): "1000 1000 10 1",
    ("duelist_leases", "duelist_leases_by_rater"): "1000000 1000000 1000 1",
    ("duelist_votes", "duelist_votes"): "1000000 1000000 1",
    ("duelist_votes", "duelist_votes_by_duel"): "1000000 1000000 1 1 1",
    ("duelist_votes", "duelist_votes_by_rater"): "1000000 1000000 1000 1",
    ("duelist_votes", "duelist_votes_once"): "1000000 1000000 1 1 1",
}
_KEPT = "study_id, sequence, duel, rater, outcome, told_at, source, response_seconds, late, revises, root"


def upgrade() -> None:
    """New tables and columns; what is there stays."""
    _columns()
    _tables()
    op.create_index("duelist_leases_by_rater", "duelist_leases", ["study_id", "rater", "duel"])
    if op.get_bind().dialect.name == "sqlite":
        _votes_anew()
    else:
        _votes_in_place()
    op.create_index("duelist_votes_by_rater", "duelist_votes", ["study_id", "rater", "sequence"])
    first_votes = sa.text("revises IS NULL")
    op.create_index(
        "duelist_votes_once",
        "duelist_votes",
        ["study_id", "duel", "rater", "criterion"],
        unique=True,
        sqlite_where=first_votes,
        postgresql_where=first_votes,
    )
    if op.get_bind().dialect.name == "sqlite":
        _statistics()


def _columns() -> None:
    op.add_column("duelist_studies", sa.Column("state", sa.Text, nullable=False, server_default="open"))
    for name in ("revision", "counting_revision"):
        op.add_column("duelist_studies", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("duelist_duels", sa.Column("kind", sa.Text, nullable=False, server_default="normal"))
    op.add_column("duelist_duels", sa.Column("expected", sa.Text))


def _of_study() -> "sa.Column[int]":
    return sa.Column("study_id", _ID, sa.ForeignKey("duelist_studies.id"), primary_key=True)


def _tables() -> None:
    op.create_table(
        "duelist_contexts",
        _of_study(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("payload", sa.Text),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_contexts_by_revision", "duelist_contexts", ["study_id", "revision"])
    op.create_table(
        "duelist_raters",
        _of_study(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("attributes", sa.Text, nullable=False),
        sa.Column("blocked", sa.Boolean, nullable=False),
        sa.Column("left_out", sa.Boolean, nullable=False),
        sa.Column("erased", sa.Boolean, nullable=False),
        sa.Column("blocked_at", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("duelist_raters_left_out", "duelist_raters", ["study_id", "left_out", "name"])
    op.create_table(
        "duelist_details",
        _of_study(),
        sa.Column("duel", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "duelist_staged",
        _of_study(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _votes_in_place() -> None:
    op.drop_index("duelist_votes_once", "duelist_votes")
    op.alter_column("duelist_votes", "told_at", nullable=True)
    op.add_column("duelist_votes", sa.Column("reason", sa.Text))
    op.add_column("duelist_votes", sa.Column("criterion", sa.Text, nullable=False, server_default=""))
    op.alter_column("duelist_votes", "criterion", server_default=None)
    op.add_column("duelist_votes", sa.Column("batch", sa.BigInteger))


def _votes_anew() -> None:
    """SQLite cannot let a column be empty that could not; the table is made anew, and its indexes with it."""
    op.rename_table("duelist_votes", "duelist_votes_0001")
    op.create_table(
        "duelist_votes",
        _of_study(),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("duel", sa.BigInteger, nullable=False),
        sa.Column("rater", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("told_at", sa.BigInteger),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("response_seconds", sa.Double),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("revises", sa.BigInteger),
        sa.Column("root", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("batch", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    op.execute(f"INSERT INTO duelist_votes ({_KEPT}, criterion) SELECT {_KEPT}, '' FROM duelist_votes_0001")  # noqa: S608  (a constant)
    op.drop_table("duelist_votes_0001")
    op.create_index("duelist_votes_by_duel", "duelist_votes", ["study_id", "duel", "rater", "sequence"])


def _statistics() -> None:
    """Tell SQLite that a study is large, see the first schema."""
    for (table, index), rows in _STATISTICS.items():
        for text in (
            "DELETE FROM sqlite_stat1 WHERE tbl = :tbl AND idx = :idx",
            "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)",
        ):
            values = {"tbl": table, "idx": index, "stat": rows}
            op.execute(sa.text(text).bindparams(**{name: v for name, v in values.items() if f":{name}" in text}))
    op.execute("ANALYZE sqlite_schema")
