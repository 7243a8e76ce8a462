"""`duelist study` for results: raters, win matrix, calibration, history, plots, scorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import STORAGE
from duelist.cli.study.options import Context, Name, StorageUrl, load_study
from duelist.core.errors import InvalidInput

Without = Annotated[list[str] | None, typer.Option("--without", help="Exclude this rater's votes; may be repeated.")]
PLOTS: Final = ("leaderboard", "win-matrix", "history", "calibration", "raters")


def raters(name: Name, storage: StorageUrl = STORAGE, context: Context = None, without: Without = None) -> None:
    """Show each rater's votes, speed, side bias and agreement, and outliers."""
    _say(name, storage, "raters", context, without)


def win_matrix(name: Name, storage: StorageUrl = STORAGE, context: Context = None, without: Without = None) -> None:
    """Show the win matrix: the share of each pair's votes, ties counting half, and how many there are."""
    _say(name, storage, "win_matrix", context, without)


def calibration(name: Name, storage: StorageUrl = STORAGE, context: Context = None, without: Without = None) -> None:
    """Show the calibration of predicted win probabilities on held-out votes."""
    _say(name, storage, "calibration", context, without)


def history(name: Name, storage: StorageUrl = STORAGE, context: Context = None, without: Without = None) -> None:
    """Show the probability of being best of the leading items, over the votes."""
    _say(name, storage, "history", context, without)


def plot(
    name: Name,
    what: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")],
    file: Annotated[Path, typer.Argument(help="Output file: .png, .svg, .pdf, ...")],
    storage: StorageUrl = STORAGE,
    context: Context = None,
    without: Without = None,
) -> None:
    """Plot results into a file."""
    with report_errors():
        if what not in PLOTS:
            raise InvalidInput(f"{what!r} cannot be plotted.", f"Give one of {', '.join(PLOTS)}.")
        draw = getattr(load_study(name, storage), f"plot_{what.replace('-', '_')}")
        draw(context, path=file, **_left_out(without))
        say(f"wrote {file}")


def scorer(
    name: Name,
    file: Annotated[Path, typer.Option("--out", help="Output file: .json or .npz.")] = Path("scorer.json"),
    storage: StorageUrl = STORAGE,
    context: Context = None,
    without: Without = None,
) -> None:
    """Write a scorer, which predicts the utility of new items from features."""
    with report_errors():
        found = load_study(name, storage).scorer(context, **_left_out(without))
        say(f"wrote {found.save(file)}: {found.dim} features, {found.votes:,.0f} votes; `dl.load_scorer` reads it")
        if found.columns:
            say(f"it uses these columns, in the units of the file: {', '.join(found.columns)}")
        elif found.feature_note:
            say(f"it takes {found.feature_note}")


def add_to(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for command in (raters, calibration, history, plot, scorer):
        app.command()(command)
    app.command("win-matrix")(win_matrix)


def _say(name: str, storage: str, reading: str, context: str | None, without: list[str] | None) -> None:
    with report_errors():
        say(getattr(load_study(name, storage), reading)(context, **_left_out(without)))


def _left_out(without: list[str] | None) -> dict[str, Any]:
    return {"without": without} if without else {}
