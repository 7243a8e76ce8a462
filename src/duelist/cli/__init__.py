"""The command line: parse, call, print. One file per command or topic.

Heavy libraries (NumPy, SciPy, matplotlib, the policies, SQLAlchemy) are imported inside the command that uses them,
so that help, completion and usage errors appear at once. `defaults.py` repeats the defaults that help texts show.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from duelist.cli import study
from duelist.cli.console import say
from duelist.cli.research import demo, listing, report, reproduce, run, simulate, tune
from duelist.cli.server import serve, storage, tokens

__all__ = ["app"]

app = typer.Typer(
    help="Learn preferences from pairwise comparisons: compare policies, run studies, reproduce the paper.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        from duelist import __version__

        say(f"duelist {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _version_flag: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn preferences from pairwise comparisons: compare policies, run studies, reproduce the paper."""
    # So that `module:Class` may live in the current folder; last, so that no file there shadows an installed module.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


app.command("list")(listing.list_)
app.command()(simulate.simulate)
app.command()(tune.tune)
app.command()(run.run)
app.command()(report.report)
app.command()(reproduce.reproduce)
app.command()(demo.demo)
app.command()(serve.serve)
app.command("demo-server")(serve.demo_server)
app.add_typer(tokens.app, name="token")
app.add_typer(study.app, name="study")
app.add_typer(storage.app, name="storage")
