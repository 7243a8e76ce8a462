"""`duelist study`, for those who want to know what it says: raters, pairs, calibration, history; in words and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from duelist.cli.console import kind_errors, say
from duelist.cli.defaults import STORAGE
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import Study

Name = Annotated[str, typer.Argument(help="The study.", show_default=False)]
Url = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
Context = Annotated[str | None, typer.Option("--context", "-c", help="Only this group of arms.")]
Without = Annotated[list[str] | None, typer.Option("--without", help="Leave this rater's votes out; may be repeated.")]
PLOTS: Final = ("leaderboard", "win-matrix", "history", "calibration", "raters")


def raters(name: Name, storage: Url = STORAGE, context: Context = None, without: Without = None) -> None:
    """Each rater's votes, speed, side and agreement, and who stands out."""
    _say(name, storage, "raters", context, without)


def win_matrix(name: Name, storage: Url = STORAGE, context: Context = None, without: Without = None) -> None:
    """Who won against whom: the share of each pair's votes, ties half, and how many there are."""
    _say(name, storage, "win_matrix", context, without)


def calibration(name: Name, storage: Url = STORAGE, context: Context = None, without: Without = None) -> None:
    """Whether votes come out as often as the fit predicts, on votes that it has not seen."""
    _say(name, storage, "calibration", context, without)


def history(name: Name, storage: Url = STORAGE, context: Context = None, without: Without = None) -> None:
    """The chance of being best of the leading arms, vote by vote."""
    _say(name, storage, "history", context, without)


def plot(
    name: Name,
    what: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")],
    file: Annotated[Path, typer.Argument(help="Where to draw it: .png, .svg, .pdf, ...")],
    storage: Url = STORAGE,
    context: Context = None,
    without: Without = None,
) -> None:
    """Draw a reading into a file."""
    with kind_errors():
        if what not in PLOTS:
            raise InvalidInput(f"{what!r} cannot be drawn.", f"Give one of {', '.join(PLOTS)}.")
        draw = getattr(_study(name, storage), f"plot_{what.replace('-', '_')}")
        draw(context, path=file, **_left_out(without))
        say(f"wrote {file}")


def scorer(
    name: Name,
    file: Annotated[Path, typer.Option("--out", help="Where to write it: .json or .npz.")] = Path("scorer.json"),
    storage: Url = STORAGE,
    context: Context = None,
    without: Without = None,
) -> None:
    """Write what votes teach about features, to score arms that nobody has voted on."""
    with kind_errors():
        found = _study(name, storage).scorer(context, **_left_out(without))
        say(f"wrote {found.save(file)}: {found.dim} features, {found.votes:,.0f} votes; `dl.load_scorer` reads it")
        if found.columns:
            say(f"it takes these columns, in the units of the file: {', '.join(found.columns)}")
        elif found.feature_note:
            say(f"it takes {found.feature_note}")


def add_to(app: typer.Typer) -> None:
    """Let the app have these commands."""
    for command in (raters, calibration, history, plot, scorer):
        app.command()(command)
    app.command("win-matrix")(win_matrix)


def _say(name: str, storage: str, reading: str, context: str | None, without: list[str] | None) -> None:
    with kind_errors():
        say(getattr(_study(name, storage), reading)(context, **_left_out(without)))


def _left_out(without: list[str] | None) -> dict[str, Any]:
    return {"without": without} if without else {}


def _study(name: str, storage: str) -> Study:
    from duelist.study import load_study

    return load_study(name, storage=storage)
