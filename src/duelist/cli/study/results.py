"""`duelist study` for results: status, leaderboard, stopping decision, raters, diagnostics, plots and scorer."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import GOALS, STORAGE
from duelist.cli.study.options import AsJson, By, Category, Context, Covariate, Name, StorageUrl, load_study
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_count

if TYPE_CHECKING:
    from duelist.study.analysis import Leaderboard

Without = Annotated[list[str] | None, typer.Option("--without", help="Exclude this rater's votes; may be repeated.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", help="Only raters whose attributes meet this condition, such as 'age >= 30'; may be repeated."
    ),
]
PLOTS: Final = ("leaderboard", "win-matrix", "history", "calibration", "raters")


def status(name: Name, storage: StorageUrl = STORAGE, context: Context = None) -> None:
    """Show the progress of a study and its raters."""
    with report_errors():
        study = load_study(name, storage)
        arms = study.arms()
        retired, systems = sum(arm.retired for arm in arms), study.systems()
        counted = format_count(len(arms), "answer" if systems else "item")
        if systems:
            counted += f" of {format_count(len(systems), 'system')} to {format_count(len(study.contexts()), 'prompt')}"
        say(
            f"{study.name} ({study.state.value}): policy {study.settings.policy}, {counted} ({retired} retired), "
            f"{format_count(len(study), 'vote')} in the log"
        )
        say(format_count(len(study.pending()), "pending pair"))
        if len(study) and len(arms) > 1:
            say(study.progress(context, labels=True))
            say(study.recommend(context, labels=True))
            say(study.raters())


def leaderboard(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    top: Annotated[int | None, typer.Option("--top", "-n", help="Show only the top N items.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also plot to this file.")] = None,
    category: Category = None,
    by: By = None,
    by_category: Annotated[
        bool,
        typer.Option("--by-category", help="In a study of systems: show results on all prompts, and per category."),
    ] = False,
    covariate: Covariate = None,
    as_json: AsJson = False,
) -> None:
    """Show items, or systems, by utility, with intervals, ranks and probabilities of being the best."""
    with report_errors():
        study = load_study(name, storage)
        if by_category:
            if any(each is not None for each in (context, top, category, by, plot)):
                raise InvalidInput("--by-category shows all systems and prompts.", "Give it without other options.")
            boards = study.leaderboard_by_category(**_selection(where, covariates=covariate))
            say(json.dumps(asdict(boards)) if as_json else boards)
            return
        selected = _selection(where, None, category, by, covariate)
        board = study.leaderboard(context, top=top, labels=True, **selected)
        if plot is not None:
            _draw(board, plot)
        say(
            json.dumps(asdict(study.leaderboard(context, top=top, **_selection(where, None, category, by))))
            if as_json
            else board
        )


def can_stop(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    goal: Annotated[str | None, typer.Option(help=f"Goal, if it differs from the study's: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="Top places for the goal rank; default: the study's, else all.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Error rate.")] = 0.05,
    tolerance: Annotated[
        float, typer.Option(help="Accept an item that is worse than the best by at most this much.")
    ] = 0.0,
    unit: Annotated[str, typer.Option(help="Unit of the tolerance: utility, or chance (win probability).")] = "utility",
    category: Category = None,
    by: By = None,
    covariate: Covariate = None,
) -> None:
    """Decide whether there are enough votes for the study's goal; exit with status 0 if so, else 1."""
    with report_errors():
        found = load_study(name, storage).can_stop(
            context,
            goal=goal,
            top=top,
            delta=delta,
            tolerance=tolerance,
            unit=unit,
            labels=True,
            **_selection(where, None, category, by, covariate),
        )
        say(found)
    if not found.done:
        raise typer.Exit(1)


def raters(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
) -> None:
    """Show votes, speed, side bias, agreement and reliability per rater, and which are flagged, blocked or excluded."""
    _say(name, storage, "raters", context, _selection(where, without, category, by))
    with report_errors():
        records = load_study(name, storage).rater_records()
        for state, meaning in (("blocked", "blocked, gets no more pairs"), ("excluded", "votes are excluded")):
            named = [repr(each.name) for each in records if getattr(each, state)]
            if named:
                say(f"{meaning}: {', '.join(named)}")


def win_matrix(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
) -> None:
    """Show the win matrix: the share of wins of each pair (a tie counts half) and its number of votes."""
    _say(name, storage, "win_matrix", context, _selection(where, without, category, by))


def calibration(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
) -> None:
    """Show the calibration of predicted win probabilities on held-out votes."""
    _say(name, storage, "calibration", context, _selection(where, without, category, by))


def goodness_of_fit(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
    covariate: Covariate = None,
) -> None:
    """Show whether the model describes the votes, with one sentence of advice."""
    _say(name, storage, "goodness_of_fit", context, _selection(where, without, category, by, covariate))


def history(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
) -> None:
    """Show how the probabilities of being the best changed with the votes."""
    _say(name, storage, "history", context, _selection(where, without, category, by))


def plot(
    name: Name,
    what: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="Output file: .png, .svg, .pdf, ...", show_default=False)],
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
    category: Category = None,
    by: By = None,
) -> None:
    """Draw a plot of the results into a file."""
    with report_errors():
        if what not in PLOTS:
            raise InvalidInput(f"{what!r} cannot be plotted.", f"Give one of {', '.join(PLOTS)}.")
        draw = getattr(load_study(name, storage), f"plot_{what.replace('-', '_')}")
        draw(context, path=file, **_selection(where, without, category, by))
        say(f"wrote {file}")


def scorer(
    name: Name,
    file: Annotated[Path, typer.Option("--out", help="Output file: .json or .npz.")] = Path("scorer.json"),
    storage: StorageUrl = STORAGE,
    context: Context = None,
    where: Where = None,
    without: Without = None,
) -> None:
    """Write a scorer, which predicts the utility of new items from their features."""
    with report_errors():
        found = load_study(name, storage).scorer(context, **_selection(where, without))
        say(
            f"wrote {found.save(file)}: {format_count(found.dim, 'feature')}, {found.votes:,.0f} votes; `dl.load_scorer` reads it"
        )
        if found.columns:
            say(f"it uses these columns, in the units of the file: {', '.join(found.columns)}")
        elif found.feature_note:
            say(f"it takes {found.feature_note}")


def _draw(board: Leaderboard, path: Path) -> None:
    from duelist.study.analysis import draw_leaderboard

    figure = draw_leaderboard(board)
    kinds = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise InvalidInput(f"--plot is {path}.", f"Give a name that ends in one of .{', .'.join(kinds)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _say(name: str, storage: str, analysis: str, context: str | None, selected: dict[str, Any]) -> None:
    with report_errors():
        say(getattr(load_study(name, storage), analysis)(context, labels=True, **selected))


def _selection(
    where: list[str] | None = None,
    without: list[str] | None = None,
    category: str | None = None,
    by: str | None = None,
    covariates: list[str] | None = None,
) -> dict[str, Any]:
    """Return the options of an analysis, of those given."""
    given = {
        "where": where or None,
        "without": without or None,
        "category": category,
        "by": by,
        "covariates": covariates or None,
    }
    return {name: value for name, value in given.items() if value is not None}
