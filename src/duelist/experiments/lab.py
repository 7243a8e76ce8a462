"""Where experiments are run: cached, resumable, with one progress bar.

An experiment asks its lab for cells: one policy in one environment, so many runs of so many rounds. A
cell is stored under a hash of everything its numbers depend on: policy, environment, size, seed, and
the engine itself. A cell that is stored is read back, so interrupted work goes on where
it stopped and unchanged work is not repeated.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from duelist.arrays import Floats
from duelist.engine import code_stamp
from duelist.environments import Environment
from duelist.files import replacing
from duelist.policies import Policy
from duelist.runs import Runs
from duelist.simulation import simulate

Progress = Callable[[str, int, int], None]

CURVE_POINTS: Final = 201
_PACKAGE: Final = Path(__file__).parents[1]
WORLD_STAMP: Final = tuple(
    (f.name, zlib.crc32(f.read_bytes()))
    for f in [*sorted(_PACKAGE.glob("environments/*.py")), _PACKAGE / "simulation.py"]
)
"""What the stamp of the engine leaves out: the source of the worlds."""
_LAYERS_KEPT: Final = 32


@dataclass(frozen=True)
class Cell:
    """One policy in one environment: what is asked for."""

    policy: Policy
    environment: Environment
    horizon: int
    runs: int
    seed: int

    def describe(self) -> dict[str, Any]:
        """Everything the numbers depend on, as plain data."""
        return {
            "policy": repr(self.policy),
            **self.environment.describe(),
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
        }

    @property
    def key(self) -> str:
        """Hash of the description and of the code."""
        text = json.dumps([self.describe(), code_stamp(), WORLD_STAMP], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Result:
    """What is kept of a cell."""

    rounds: NDArray[np.int64]
    """Rounds at which the curves are given."""
    mean: Floats
    """Mean cumulative average regret at those rounds."""
    sd: Floats
    final: Floats
    """Average regret of each run at the horizon."""
    weak: Floats
    strong: Floats
    variance: Floats
    """Sum of the outcome variances sigma_t^2 of each run, over all rounds."""
    learned_variance: Floats
    """The same over the rounds whose outcome was learned (for layered policies: exploration)."""
    layer_counts: NDArray[np.int64]
    """Rounds in which each layer learned, (runs, layers); position 0: nothing was learned."""

    @property
    def layer_share(self) -> Floats:
        """Share of rounds in which each layer learned."""
        return np.asarray(self.layer_counts.sum(axis=0) / self.layer_counts.sum())

    @classmethod
    def of(cls, runs: Runs, label: str, environment: Environment) -> Result:
        """The part of a simulation that is kept."""
        curves = runs.regret(label)
        at = np.unique(np.linspace(1, runs.horizon, CURVE_POINTS).astype(np.int64))
        layers = runs.layers(label)
        variance = _variances(runs, label, environment)
        return cls(
            rounds=at,
            mean=curves[:, at - 1].mean(axis=0),
            sd=curves[:, at - 1].std(axis=0, ddof=1) if runs.runs > 1 else np.zeros(at.size),
            final=runs.final(label),
            weak=runs.final(label, "weak"),
            strong=runs.final(label, "strong"),
            variance=variance.sum(axis=1),
            learned_variance=(variance * (layers > 0)).sum(axis=1),
            layer_counts=np.stack([np.bincount(run, minlength=_LAYERS_KEPT)[:_LAYERS_KEPT] for run in layers]),
        )


def _variances(runs: Runs, label: str, environment: Environment) -> Floats:
    """p (1 - p) of every round; zero where comparisons have no noise."""
    log, truth = runs.log(label), environment.truth()
    if truth.noiseless:
        return np.zeros(log.first_gap.shape)
    gaps = log.second_gap - log.first_gap
    p = truth.table[log.first, log.second] if truth.table.size else environment.link.mean(gaps)
    return np.asarray(p * (1.0 - p))


class Lab:
    """Runs cells and keeps their results in a folder."""

    def __init__(self, folder: Path, progress: Progress | None = None, threads: int | None = None) -> None:
        self.folder = folder
        self._progress = progress
        self._threads = threads
        self.played = 0
        self.reused = 0

    def run(self, label: str, cells: Iterable[Cell]) -> list[Result]:
        """The results of cells, in order; `label` names the bar."""
        wanted = list(cells)
        results = []
        for done, cell in enumerate(wanted):
            self.report(label, done, len(wanted))
            results.append(self._result(cell))
        self.report(label, len(wanted), len(wanted))
        return results

    def report(self, label: str, done: int, total: int) -> None:
        """Move the bar of that label."""
        if self._progress is not None:
            self._progress(label, done, total)

    def _result(self, cell: Cell) -> Result:
        path = self.folder / f"{cell.key}.npz"
        stored = _read(path)
        if stored is not None:
            self.reused += 1
            return stored
        runs = simulate(
            {"policy": cell.policy}, cell.environment, cell.horizon, cell.runs, cell.seed, threads=self._threads
        )
        result = Result.of(runs, "policy", cell.environment)
        _write(path, result)
        self.played += 1
        return result


def _read(path: Path) -> Result | None:
    """A stored result; None if there is none, or a damaged one that must be made again."""
    try:
        # Opened here: np.load leaves the file open when the archive is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            return Result(**{name: data[name] for name in Result.__dataclass_fields__})
    except (OSError, BadZipFile, zlib.error, KeyError, ValueError, EOFError):
        return None


def _write(path: Path, result: Result) -> None:
    arrays = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    with replacing(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
