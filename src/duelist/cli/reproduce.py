"""`duelist reproduce`: the paper's experiments and the frontier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from duelist.cli.console import out, report_errors, say_written
from duelist.cli.defaults import ENGINE, EXPERIMENTS
from duelist.cli.engines import EngineOption, SchedulerOption, WorkersOption, begun_engine
from duelist.cli.progress import progress_bars

if TYPE_CHECKING:
    from duelist.research.experiments.reports.findings import Findings


def reproduce(
    experiments: Annotated[list[str], typer.Argument(help=f"{EXPERIMENTS}, or all (the paper's).")],
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Output folder for figures, tables and the report.")
    ] = Path("out/figures"),
    engine: EngineOption = ENGINE,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    docs: Annotated[Path | None, typer.Option("--docs", help="Also write the claims to this Markdown file.")] = None,
) -> None:
    """Run the paper's experiments: figures, tables, and a verdict on every claim."""
    from duelist.research.experiments.programs import write_text
    from duelist.research.paper.report import markdown_report
    from duelist.research.paper.reproduce import reproduce as run

    with report_errors():
        with begun_engine(engine, workers, scheduler) as begun, progress_bars() as report:
            outcomes = run(experiments, folder, report, begun)
        out.print(_verdicts(outcomes))
        if docs is not None:
            write_text(docs, markdown_report(outcomes))
        say_written((docs, folder / "report.html"))


def _verdicts(outcomes: list[Findings]) -> Table:
    table = Table("claim", "setting", "finding", "verdict", title="What holds", title_justify="left")
    for claim in (c for o in outcomes for c in o.claims):
        table.add_row(claim.claim, claim.setting, claim.figure, claim.verdict)
    return table
