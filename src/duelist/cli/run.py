"""`duelist run`: run or resume the experiment of a TOML file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from duelist.cli.console import err, out, report_errors, say
from duelist.cli.defaults import ENGINE
from duelist.cli.engines import EngineOption, SchedulerOption, WorkersOption, begun_engine, chosen_engine
from duelist.cli.progress import progress_bars_or_lines

if TYPE_CHECKING:
    from duelist.research.experiments import Engine, Results
    from duelist.research.experiments.forecast import Forecast


def run(
    experiment: Annotated[Path, typer.Argument(help="The TOML file that declares the experiment.")],
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="The results folder; default: results/NAME.")
    ] = None,
    engine: EngineOption = ENGINE,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and the expected time only.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Recompute everything if the results were made by other code.")
    ] = False,
) -> None:
    """Run an experiment declared in a TOML file. Run the same command again to resume."""
    from duelist.research.experiments import Experiment, run_experiment
    from duelist.research.experiments.forecast import forecast

    with report_errors():
        if not experiment.exists():
            raise FileNotFoundError(f"There is no file {experiment}. Give the TOML file of an experiment.")
        declared = Experiment.from_toml(experiment)
        folder = folder or Path("results") / declared.name
        if dry_run:
            _show_plan(
                forecast(declared, folder, recompute), chosen_engine(engine, workers, scheduler), scheduler is not None
            )
            return
        with begun_engine(engine, workers, scheduler) as begun, progress_bars_or_lines() as report:
            results = run_experiment(declared, folder, begun, recompute=recompute, progress=report)
        _show_end(results)
    if results.failures:
        raise typer.Exit(1)


def _show_plan(expected: Forecast, engine: Engine, remote: bool) -> None:
    table = Table("environment", "policy", "cells", "finished", title="Plan", title_justify="left")
    for line in expected.lines:
        table.add_row(line.environment, line.policy, str(line.cells), str(line.finished))
    out.print(table)
    say(f"{expected.finished} of {expected.cells} cells are finished, {expected.cells - expected.finished} are left")
    if expected.finished == expected.cells:
        return
    # Only an external scheduler has to be asked for its number of workers.
    with engine if remote else nullcontext():
        say(expected.sentence(engine))


def _show_end(results: Results) -> None:
    say(
        f"{results.finished} of {results.planned} cells are in {results.folder}; see them with `duelist report {results.folder}`"
    )
    for failed in results.failures[:20]:
        settings = failed["settings"]
        told = f"{settings['policy']} {settings['settings']} in {settings['environment']}, seed {settings['seed']}, "
        told += f"runs from {settings['first_run']}"
        err.print(f"failed: {told}: {failed['error']}", highlight=False, markup=False, soft_wrap=True)
    if results.failures:
        err.print(
            f"{len(results.failures)} cells failed; tracebacks are in {results.folder / 'failed'}; "
            "the same command tries them again",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
