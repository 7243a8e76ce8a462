"""`duelist run`: run or resume the experiment of a TOML file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duelist.cli.console import log, report_errors, say, say_table
from duelist.cli.defaults import ENGINE
from duelist.cli.progress import progress_bars_or_lines
from duelist.cli.research.engines import EngineOption, SchedulerOption, WorkersOption, chosen_engine, started_engine
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.research.experiments import Engine, Results
    from duelist.research.experiments.forecast import Forecast


def run(
    experiment: Annotated[Path, typer.Argument(help="The TOML file that declares the experiment.", show_default=False)],
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="The results folder; default: results/NAME.")
    ] = None,
    engine: EngineOption = ENGINE,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and the expected time only.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Recompute all results if the code has changed since.")
    ] = False,
) -> None:
    """Run an experiment declared in a TOML file. Run the same command again to resume."""
    from duelist.research.experiments import Experiment, run_experiment
    from duelist.research.experiments.forecast import forecast

    with report_errors():
        if not experiment.exists():
            raise InvalidInput(f"There is no file {experiment}.", "Give the TOML file of an experiment.")
        declared = Experiment.from_toml(experiment)
        folder = folder or Path("results") / declared.name
        if dry_run:
            _show_plan(
                forecast(declared, folder, recompute), chosen_engine(engine, workers, scheduler), scheduler is not None
            )
            return
        with started_engine(engine, workers, scheduler) as started, progress_bars_or_lines() as report:
            results = run_experiment(declared, folder, started, recompute=recompute, progress=report)
        _show_end(results)
    if results.failures:
        raise typer.Exit(1)


def _show_plan(expected: Forecast, engine: Engine, remote: bool) -> None:
    rows = [(line.environment, line.policy, line.cells, line.finished) for line in expected.lines]
    say_table(("environment", "policy", "cells", "finished"), rows, "Plan")
    say(f"{expected.finished} of {expected.cells} cells are finished, {expected.cells - expected.finished} are left")
    if expected.finished == expected.cells:
        return
    # Only an external scheduler knows its number of workers.
    with engine if remote else nullcontext():
        say(expected.sentence(engine))


def _show_end(results: Results) -> None:
    say(
        f"{results.finished} of {results.planned} cells are in {results.folder}; see them with `duelist report {results.folder}`"
    )
    for failed in results.failures[:20]:
        settings = failed["settings"]
        log(
            f"failed: {settings['policy']} {settings['settings']} in {settings['environment']}, seed {settings['seed']}, "
            f"runs from {settings['first_run']}: {failed['error']}"
        )
    if results.failures:
        log(
            f"{len(results.failures)} cells failed; tracebacks are in {results.folder / 'failed'}; "
            "run the same command to try them again"
        )
