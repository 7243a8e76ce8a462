"""Run an experiment: play the missing cells on an engine, and store each as it finishes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from duelist.core.errors import InvalidResults
from duelist.research.experiments.cells import Cell, Failure
from duelist.research.experiments.definition import Experiment
from duelist.research.experiments.engines import Engine, ThisProcess
from duelist.research.experiments.plan import ExperimentPlan
from duelist.research.experiments.results import Results
from duelist.research.experiments.store import Store

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Progress = Callable[[str, int, int], None]
CELLS: Final = "cells"


class CellCounts(NamedTuple):
    """How many cells were stored already, were played, and failed."""

    there: int
    played: int
    failed: int


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    engine: Engine | None = None,
    *,
    recompute: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Play the cells that `folder` does not hold yet, and return all results.

    Parameters
    ----------
    experiment, folder
        What to play, and where to keep it. If interrupted, the same call resumes. Cells in the folder that are no
        longer part of the experiment stay there and are ignored.
    engine
        Where to play; the default is this process.
    recompute
        True plays everything again if the folder's results were made by other code; the old ones stay.
    progress
        Called as progress("cells", finished, planned).
    """
    store = Store(Path(folder))
    plan = ExperimentPlan.of(experiment)
    plan.check_code(store.folder, recompute)
    with _alone_in(store.folder), engine or ThisProcess() as running:
        plan.write(store.folder)
        play_missing([entry.cell for entry in plan.entries()], store, running, progress)
    return Results(store.folder)


def play_missing(
    cells: Sequence[Cell], store: Store, engine: Engine, progress: Progress | None = None, label: str = CELLS
) -> CellCounts:
    """Play the cells that the store does not hold, each once, and store them as they finish."""
    wanted = {cell.key: cell for cell in cells}
    missing = [cell for cell in wanted.values() if not store.has(cell)]
    there = len(wanted) - len(missing)
    done, failed = there, 0
    report = progress or _silent
    report(label, done, len(wanted))
    for cell, result in engine.play(missing):
        if isinstance(result, Failure):
            store.write_failure(cell, result)
            failed += 1
        else:
            store.write(cell, result)
        done += 1
        report(label, done, len(wanted))
    return CellCounts(there, len(missing) - failed, failed)


def _silent(_label: str, _done: int, _total: int) -> None:
    pass


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs; the operating system releases the lock of a killed process."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".running", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InvalidResults(
                    f"Another run is writing to {folder}.", "Wait for it, or give another folder."
                ) from None
        yield
    finally:
        os.close(descriptor)
