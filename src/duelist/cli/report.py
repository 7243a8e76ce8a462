"""`duelist report`: what a results folder says, at any moment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import kind_errors, say, say_written


def report(
    folder: Annotated[Path, typer.Argument(help="The results folder of an experiment.")],
    kind: Annotated[str, typer.Option(help="Regret to report: average, weak or strong.")] = "average",
    reference: Annotated[
        str | None, typer.Option("--reference", help="The policy to compare with, by its label; default: the first.")
    ] = None,
) -> None:
    """Report an experiment, finished or not: tables, paired comparisons, plots, and one page with all of them."""
    from duelist.research.experiments import Results
    from duelist.research.experiments.comparison import format_summaries
    from duelist.research.experiments.results_report import write_page

    with kind_errors():
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
