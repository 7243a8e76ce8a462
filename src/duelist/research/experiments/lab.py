"""The lab: run experiments that are programs, such as the paper's.

An experiment that chooses what to play next from earlier results (tuning, and everything tuned) cannot be declared as
a grid. It requests cells from a lab, which plays and stores them like those of a declared experiment
(`play_missing`): a stored cell is read back, so that interrupted work resumes and unchanged work is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.core.errors import EngineLost, InvalidInput
from duelist.research.experiments.cells import Cell
from duelist.research.experiments.engines import Engine, ThisProcess
from duelist.research.experiments.execution import Progress, play_missing
from duelist.research.experiments.store import Store
from duelist.simulation.run_log import Curves

__all__ = ["Cell", "Lab", "Progress", "Result"]


@dataclass(frozen=True)
class Result:
    """The part of a cell's result that programs use."""

    rounds: NDArray[np.int64]
    """Rounds at which the curves are recorded."""
    mean: Floats
    """Mean cumulative average regret at those rounds."""
    sd: Floats
    final: Floats
    """Average regret of each run at the horizon."""
    weak: Floats
    strong: Floats
    variance: Floats
    """Sum of the outcome variances sigma_t^2 per run, over all rounds."""
    learned_variance: Floats
    """Sum of sigma_t^2 per run, over rounds whose outcome was learned (in layered policies: exploration)."""
    layer_counts: NDArray[np.int64]
    """Rounds in which each layer learned, (runs, layers); column 0 counts rounds without learning."""
    late: Floats
    """Average regret of each run in about the last tenth of the rounds."""

    @property
    def layer_share(self) -> Floats:
        """Return the share of rounds in which each layer learned."""
        return np.asarray(self.layer_counts.sum(axis=0) / self.layer_counts.sum())

    @classmethod
    def of(cls, curves: Curves) -> Result:
        """Return the part of a played cell that programs use."""
        regret = curves.average
        return cls(
            rounds=curves.rounds,
            mean=regret.mean(axis=0),
            sd=regret.std(axis=0, ddof=1) if len(regret) > 1 else np.zeros(len(curves.rounds)),
            final=regret[:, -1],
            weak=curves.weak[:, -1],
            strong=curves.strong[:, -1],
            variance=curves.variance[:, -1],
            learned_variance=curves.learned_variance[:, -1],
            layer_counts=curves.layers,
            late=regret[:, -1] - regret[:, int(np.searchsorted(curves.rounds, 0.9 * curves.rounds[-1]))],
        )


class Lab:
    """Plays cells and keeps their results in a folder.

    `engine` plays the cells and must be started already; the default is this process.
    """

    def __init__(self, folder: Path, progress: Progress | None = None, engine: Engine | None = None) -> None:
        self.folder = folder
        self._progress = progress
        self._engine = engine or ThisProcess()
        self._store = Store(folder)
        self.played = 0
        self.reused = 0

    def run(self, label: str, cells: Iterable[Cell]) -> list[Result]:
        """Return the results of cells, in order; `label` names the progress bar."""
        wanted = list(cells)
        tally = play_missing(wanted, self._store, self._engine, self._progress, label)
        self.played += tally.played
        self.reused += tally.there
        return [self._result(cell) for cell in wanted]

    def report(self, label: str, done: int, total: int) -> None:
        """Advance the progress bar of that label."""
        if self._progress is not None:
            self._progress(label, done, total)

    def _result(self, cell: Cell) -> Result:
        curves = self._store.read(cell.key)
        if curves is None:
            raise self._failure_of(cell)
        return Result.of(curves)

    def _failure_of(self, cell: Cell) -> Exception:
        for failed in self._store.failures():
            if failed["key"] == cell.key:
                return InvalidInput(
                    f"{cell.policy!r} in {cell.environment!r} failed: {failed['error']}.",
                    "Correct the policy or the environment, and run again.",
                )
        return EngineLost(f"{self._store.path(cell.key)} cannot be read back.", "Run the same again.")
