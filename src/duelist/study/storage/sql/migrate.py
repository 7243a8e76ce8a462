"""Migrate a database to the newest schema, with the migrations of the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from duelist.study.storage.sql import migrations

if TYPE_CHECKING:
    from alembic.config import Config


def migration_config(connection: sa.Connection | None = None) -> Config:
    """Return the configuration of Alembic, which needs no file."""
    from alembic.config import Config  # slow to import, and only needed when a schema changes

    config = Config()
    folder = str(Path(migrations.__file__).parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def migrate(connection: sa.Connection) -> None:
    """Run the missing migrations inside the transaction of `connection`."""
    from alembic import command

    command.upgrade(migration_config(connection), "head")
