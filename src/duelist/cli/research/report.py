"""`duelist report`: the report of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say, say_written


def report(
    folder: Annotated[Path, typer.Argument(help="The results folder of an experiment.", show_default=False)],
    kind: Annotated[str, typer.Option(help="Regret to report: average, weak or strong.")] = "average",
    reference: Annotated[
        str | None, typer.Option("--reference", help="Label of the policy to compare with; default: the first.")
    ] = None,
) -> None:
    """Report on an experiment, finished or not: print tables and comparisons, and write a page with plots."""
    from duelist.research.experiments import Results
    from duelist.research.experiments.comparison import format_summaries
    from duelist.research.experiments.reports.results_report import write_page

    with report_errors():
        results = Results(folder)
        say(
            f"{results.plan.name}: {results.finished} of {results.planned} cells finished, {len(results.failures)} failed"
        )
        for environment in results.environments:
            rows = results.compare(environment, reference, kind)
            if rows:
                say(f"\n{environment}: {kind} regret after {results.plan.horizon} rounds, 95% intervals")
                say(format_summaries(rows, reference or results.policies[0]))
        say_written([write_page(results, kind, reference)])
