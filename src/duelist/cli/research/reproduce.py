"""`duelist reproduce`: the paper's experiments, and the comparison beyond them (frontier)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from duelist.cli.console import report_errors, say_table, say_written
from duelist.cli.defaults import ENGINE, EXPERIMENTS
from duelist.cli.progress import progress_bars
from duelist.cli.research.engines import EngineOption, SchedulerOption, WorkersOption, started_engine

_CHANGE: Final = "Figure 1a, changed"


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(help=f"{EXPERIMENTS}, or all for those of the paper.", show_default=False),
    ],
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Output folder for figures, tables and the report.")
    ] = Path("out/figures"),
    engine: EngineOption = ENGINE,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    dim: Annotated[int | None, typer.Option(help="Number of features; default: 5.", rich_help_panel=_CHANGE)] = None,
    link: Annotated[
        str | None,
        typer.Option(help="How votes are drawn, and what policies assume; default: logistic.", rich_help_panel=_CHANGE),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="Rounds on the hypercube; experiments with changing arms have 3/8 as many; default: 4000.",
            rich_help_panel=_CHANGE,
        ),
    ] = None,
    arms: Annotated[
        int | None,
        typer.Option(
            help="Arms per round in experiments with changing arms (the hypercube has 2^dim); default: 32.",
            rich_help_panel=_CHANGE,
        ),
    ] = None,
    docs: Annotated[Path | None, typer.Option("--docs", help="Also write the claims to this Markdown file.")] = None,
) -> None:
    """Run the paper's experiments: draw figures, write tables, and check every claim."""
    from duelist.research.experiments.programs import write_text
    from duelist.research.paper.problems import Figure1aSetting
    from duelist.research.paper.report import markdown_report
    from duelist.research.paper.reproduce import reproduce as run

    changed: dict[str, Any] = {"dim": dim, "link": link, "horizon": horizon, "arms": arms}
    with report_errors():
        setting = Figure1aSetting(**{name: value for name, value in changed.items() if value is not None})
        with started_engine(engine, workers, scheduler) as started, progress_bars() as report:
            outcomes = run(experiments, folder, report, started, setting)
        rows = [(c.claim, c.setting, c.figure, c.conclusion) for outcome in outcomes for c in outcome.claims]
        say_table(("claim", "setting", "finding", "does it hold?"), rows, "Claims")
        if docs is not None:
            write_text(docs, markdown_report(outcomes))
        say_written((docs, folder / "report.html"))
