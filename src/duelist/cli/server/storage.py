"""`duelist storage`: the database of studies."""

from __future__ import annotations

from typing import Annotated

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import STORAGE

app = typer.Typer(help="Manage the database of studies.", no_args_is_help=True)


@app.command()
def upgrade(
    storage: Annotated[
        str, typer.Argument(envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
    ] = STORAGE,
) -> None:
    """Upgrade a database to the schema of this version."""
    from duelist.study import upgrade_storage
    from duelist.study.storage import without_password

    with report_errors():
        version = upgrade_storage(storage)
        say(f"{without_password(storage)} has schema {version}, the newest")
