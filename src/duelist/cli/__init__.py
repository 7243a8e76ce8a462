"""The command line: parse, call, print. One file a command group.

Everything heavy (NumPy, SciPy, matplotlib, the policies, the database library) is imported inside the command that
uses it, so that help, completion and mistakes in typing answer at once. What help shows of the library before it is
loaded stands in `defaults.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from duelist.cli import (
    demo,
    list_,
    report,
    reproduce,
    run,
    serve,
    simulate,
    storage,
    study,
    study_owner,
    study_readings,
    tune,
)
from duelist.cli.console import say

__all__ = ["app"]

app = typer.Typer(
    help="Contextual dueling bandits: which two should I show next?",
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
    """Contextual dueling bandits: which two should I show next?"""
    # So that `module:Class` may lie in the current folder; last, so that no file there hides a module that is installed.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


app.command("list")(list_.list_)
app.command()(simulate.simulate)
app.command()(tune.tune)
app.command()(run.run)
app.command()(report.report)
app.command()(reproduce.reproduce)
app.command()(demo.demo)
app.command()(serve.serve)
app.command("demo-server")(serve.demo_server)
app.add_typer(serve.tokens, name="token")
study_owner.add_to(study.app)
study_readings.add_to(study.app)
app.add_typer(study.app, name="study")
app.add_typer(storage.app, name="storage")
