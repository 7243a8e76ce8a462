"""Forecast how long an experiment will take: from finished cells, and from short trials.

A trial plays two runs of a policy in an environment for a sixteenth and an eighth of the horizon. It assumes that the
time keeps growing as it did between the two, and that rounds do not get cheaper. Trials stop after some seconds; cells
without a trial are assumed to cost the average of those with one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from duelist.research.experiments.cells import Cell, Failure, play_or_fail
from duelist.research.experiments.definition import Experiment
from duelist.research.experiments.engines import Engine, ThisProcess
from duelist.research.experiments.plan import FILE, ExperimentPlan
from duelist.research.experiments.store import Store
from duelist.simulation.simulate import usable_cores

TRIAL_SECONDS: Final = 10.0
_TRIAL_RUNS: Final = 2
_SHORTEST: Final = 16
_BYTES_PER_ROW: Final = 40
"""Five sums of eight bytes; compression makes up for the other columns."""

_UNITS: Final = (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 259_200))
"""Seconds of trials per policy and environment."""

Pair = tuple[str, str]


class PolicyForecast(NamedTuple):
    """A policy in an environment: its cells, how many are finished, and the seconds of one core for the rest."""

    policy: str
    environment: str
    cells: int
    finished: int
    seconds: float


class Forecast(NamedTuple):
    """The cells left to play, and the seconds of one core for them."""

    lines: tuple[PolicyForecast, ...]
    megabytes: float

    @property
    def cells(self) -> int:
        """The number of cells of the experiment."""
        return sum(line.cells for line in self.lines)

    @property
    def finished(self) -> int:
        """The number of cells that are finished."""
        return sum(line.finished for line in self.lines)

    @property
    def seconds(self) -> float:
        """Seconds of one core for all that is left."""
        return sum(line.seconds for line in self.lines)

    def sentence(self, engine: Engine) -> str:
        """Return a sentence: how long it will take on a started engine, and how much disk space."""
        cores = usable_cores() if isinstance(engine, ThisProcess) else engine.workers
        work = f"{spoken_time(self.seconds)} of work for one core"
        room = f"about {self.megabytes:.0f} MB" if self.megabytes >= 1 else "under 1 MB"
        if not cores:
            return f"{work}; {engine.about}: without workers it waits; {room} of results"
        return f"{spoken_time(self.seconds / cores)} on {engine.about} ({work}), {room} of results"


def forecast(
    experiment: Experiment, folder: Path, recompute: bool = False, trial_seconds: float = TRIAL_SECONDS
) -> Forecast:
    """Return the cells that an experiment still has to play; plays short trials and stores nothing."""
    store = Store(folder)
    plan = ExperimentPlan.of(experiment)
    plan.check_code(folder, recompute)
    planned: dict[Pair, list[Cell]] = {}
    measured: dict[Pair, list[float]] = {}
    rows = 0
    for entry in plan.entries():
        pair = (entry.planned.policy, entry.planned.environment)
        planned.setdefault(pair, [])
        if (folder / FILE).exists() and store.has(entry.cell):
            measured.setdefault(pair, []).append(store.record(entry.planned.key)["made"]["seconds"] / entry.cell.runs)
        else:
            planned[pair].append(entry.cell)
            rows += entry.cell.runs * min(entry.cell.points, entry.cell.horizon)
    a_run = _seconds_a_run({pair: cells[0] for pair, cells in planned.items() if cells}, measured, trial_seconds)
    lines = [
        PolicyForecast(
            *pair, len(cells) + len(done), len(done), sum(cell.runs for cell in cells) * a_run.get(pair, 0.0)
        )
        for pair, cells in planned.items()
        for done in [measured.get(pair, [])]
    ]
    return Forecast(tuple(lines), rows * _BYTES_PER_ROW / 1e6)


def _seconds_a_run(
    wanted: Mapping[Pair, Cell], measured: Mapping[Pair, list[float]], budget: float
) -> dict[Pair, float]:
    """Return the seconds of one core per run, for each policy in each environment."""
    found = {pair: sum(measured[pair]) / len(measured[pair]) for pair in wanted if pair in measured}
    untried = [pair for pair in wanted if pair not in found]
    started = time.perf_counter()
    # Every n-th, so that trials are spread over all policies and environments.
    step = max(1, round(math.sqrt(len(untried))))
    order = [pair for first in range(step) for pair in untried[first::step]]
    tried: dict[Pair, float] = {}
    for pair in order:
        if tried and time.perf_counter() - started > budget:
            break
        tried[pair] = _trial(wanted[pair])
    every = [*found.values(), *tried.values()]
    rest = sum(every) / len(every) if every else 0.0
    return {pair: found.get(pair, tried.get(pair, rest)) for pair in wanted}


def _trial(cell: Cell) -> float:
    """Return the seconds per run of the full horizon, from two short ones; 0 if the trial fails, as the cell would."""
    short = min(cell.horizon, max(_SHORTEST, cell.horizon // 16))
    long = min(cell.horizon, 2 * short)
    runs = min(_TRIAL_RUNS, cell.runs)
    times = []
    for horizon in (short, long):
        trial = Cell(cell.policy, cell.environment, horizon, runs, cell.seed, points=2)
        played = play_or_fail(trial, threads=1)
        if isinstance(played, Failure):
            return 0.0
        times.append(played.seconds / runs)
    if long == cell.horizon:
        return times[1]
    # Between 1 and 2: rounds do not get cheaper, and the first trial includes import time.
    growth = min(2.0, max(1.0, math.log2(times[1] / times[0])))
    return times[1] * float(cell.horizon / long) ** growth


def spoken_time(seconds: float) -> str:
    """Return a duration as text.

    >>> spoken_time(0.3), spoken_time(90), spoken_time(4000), spoken_time(200_000)
    ('under a second', 'about 90 s', 'about 67 min', 'about 56 h')
    """
    if seconds < 1:
        return "under a second"
    for unit, size, most in _UNITS:
        if seconds < most:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds / 86400:.0f} days"
