"""The options that choose the engine of an experiment."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from duelist.cli.console import log
from duelist.cli.defaults import ENGINES
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.research.experiments import Engine

EngineOption = Annotated[str, typer.Option("--engine", help=f"Engine: {ENGINES}.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", "-w", help="Number of local processes; default: one per core.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler", help="Use the Dask cluster of this scheduler, given by its address or its scheduler file."
    ),
]


def chosen_engine(engine: str, workers: int | None, scheduler: str | None) -> Engine:
    """Return the engine that the options name, without starting it."""
    from duelist.research.experiments.engines import ENGINES as KNOWN
    from duelist.research.experiments.engines import Cluster

    if scheduler is not None:
        if workers is not None:
            raise InvalidInput(
                f"--workers is {workers}, but the cluster of --scheduler has its own workers.",
                "Give only one of them.",
            )
        return Cluster(scheduler)
    if engine not in KNOWN:
        raise InvalidInput(f"--engine is {engine!r}.", f"Choose one of {ENGINES}.")
    if engine == "process" and workers is not None:
        raise InvalidInput(
            f"--workers is {workers}, but the engine runs in this process.", "Add --engine processes or --engine dask."
        )
    return KNOWN[engine](workers)


@contextmanager
def started_engine(engine: str, workers: int | None, scheduler: str | None) -> Iterator[Engine]:
    """Start the engine that the options name, and say where it runs unless that is this process."""
    # Dask logs lost connections with tracebacks; the engine reports them in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with chosen_engine(engine, workers, scheduler) as started:
        if engine != "process" or scheduler is not None:
            log(f"running on {started.about}")
        yield started
