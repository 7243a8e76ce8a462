"""The options that say where cells are played, for every command that plays some."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from duelist.cli.console import err
from duelist.cli.defaults import ENGINES
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.research.experiments import Engine

EngineOption = Annotated[str, typer.Option("--engine", help=f"Where to play: {ENGINES}.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", "-w", help="Processes to start here; default: one for each core.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="Play on the Dask cluster of this scheduler: its address, or the file it wrote."),
]


def chosen_engine(engine: str, workers: int | None, scheduler: str | None) -> Engine:
    """The engine that the options name, not begun."""
    from duelist.research.experiments.engines import ENGINES as KNOWN
    from duelist.research.experiments.engines import Cluster

    if scheduler is not None:
        if workers is not None:
            raise InvalidInput(
                f"--workers {workers} starts processes here, and --scheduler has its own.", "Give one of them."
            )
        return Cluster(scheduler)
    if engine not in KNOWN:
        raise InvalidInput(f"--engine is {engine!r}.", f"Choose one of {ENGINES}.")
    if engine == "process" and workers is not None:
        raise InvalidInput(
            f"--workers is {workers}, and this process is one.", "Add --engine processes or --engine dask."
        )
    return KNOWN[engine](workers)


@contextmanager
def begun_engine(engine: str, workers: int | None, scheduler: str | None) -> Iterator[Engine]:
    """The engine that the options name; where it is another than this process, it says where."""
    # What Dask logs of lost connections, with tracebacks, we say in a line where it matters.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with chosen_engine(engine, workers, scheduler) as begun:
        if engine != "process" or scheduler is not None:
            err.print(f"playing on {begun.about}", highlight=False, markup=False, soft_wrap=True)
        yield begun
