"""A made-up next schema, for tests of upgrades."""

import shutil
from pathlib import Path

import pytest

from duelist.study.storage.sql import migrations
from duelist.study.storage.sql import storage as _sql
from duelist.study.storage.sql.tables import HEAD

NEXT = "9000"
_MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade():
    op.add_column("duelist_raters", sa.Column("made_up", sa.Text))
'''


def expect_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make duelist expect the schema `NEXT`, which has one more column; migrations are read from a copy in `folder`."""
    copy = folder / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, copy)
    (copy / "versions" / "made_up.py").write_text(_MIGRATION)
    monkeypatch.setattr(migrations, "__file__", str(copy / "__init__.py"))
    monkeypatch.setattr(_sql, "HEAD", NEXT)
