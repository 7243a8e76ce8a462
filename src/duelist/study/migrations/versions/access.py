"""Who may do what, and the files that raters are shown."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Two tables; what is there stays."""
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
    )
    op.create_index("duelist_tokens_by_study", "duelist_tokens", ["study_id", "rater"])
    op.create_table(
        "duelist_media",
        sa.Column("study_id", _ID, sa.ForeignKey("duelist_studies.id"), primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
