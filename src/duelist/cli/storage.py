"""`duelist storage`: the database that studies live in."""

from __future__ import annotations

from typing import Annotated

import typer

from duelist.cli.console import kind_errors, say
from duelist.cli.defaults import STORAGE

app = typer.Typer(help="The database that studies live in.", no_args_is_help=True)


@app.command()
def upgrade(
    storage: Annotated[
        str, typer.Argument(envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
    ] = STORAGE,
) -> None:
    """Bring a database that an older version made up to date."""
    from duelist.study import upgrade_storage
    from duelist.study.storage import without_password

    with kind_errors():
        version = upgrade_storage(storage)
        say(f"{without_password(storage)} is up to date, with schema {version}")
