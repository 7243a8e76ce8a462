"""A cell: the unit of an experiment that is played, stored and looked up.

A cell is one policy in one environment, for a number of runs and rounds. Its key is a hash of everything its numbers
depend on: policy, environment, size, seed, and code. A cell can be sent to another process as plain data
(`PackedCell`), where `play_packed` plays it; that needs only the package.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import time
import traceback
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from duelist.core.errors import EngineLost
from duelist.policies import BUILTIN_POLICIES, Policy, policy_class, policy_name
from duelist.policies.engine import code_stamp
from duelist.simulation.environments import Environment
from duelist.simulation.run_log import CURVE_POINTS, Curves, DuelLog, curves_of
from duelist.simulation.simulate import simulate

_PACKAGE: Final = Path(__file__).parents[2]
_LABEL: Final = "policy"


@dataclass(frozen=True)
class Cell:
    """One policy in one environment: a number of runs of a number of rounds.

    Runs are numbered from `first_run`. Regret is recorded at `points` rounds per run; with keep="duels", every duel
    is recorded as well.
    """

    policy: Policy
    environment: Environment
    horizon: int
    runs: int
    seed: int
    first_run: int = 0
    points: int = CURVE_POINTS
    keep: str = "curves"

    def describe(self) -> dict[str, Any]:
        """Return everything the numbers depend on, except the code, as plain data."""
        return {
            "policy": _spoken_name(type(self.policy)),
            "settings": policy_settings(self.policy),
            "environment": self.environment.describe(),
            "horizon": self.horizon,
            "runs": self.runs,
            "first_run": self.first_run,
            "seed": self.seed,
            "points": self.points,
            "keep": self.keep,
        }

    @property
    def key(self) -> str:
        """Return the hash of the description and of the code."""
        stamps = [stamp(), *_foreign_stamps(self.policy), *_foreign_stamps(self.environment)]
        text = json.dumps([self.describe(), stamps], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def pack(self) -> PackedCell:
        """Return the cell as data for another process, which must be able to import its policy by name."""
        params = {k: v for k, v in self.policy.params.items() if k != "random_state"}
        rest = (self.environment, self.horizon, self.runs, self.seed, self.first_run, self.points, self.keep)
        return PackedCell(policy_name(type(self.policy)), params, rest, stamp())


class PackedCell(NamedTuple):
    """A cell as data for another process, with the stamp of the code that must play it."""

    policy: str
    params: dict[str, Any]
    rest: tuple[Any, ...]
    stamp: str


class Played(NamedTuple):
    """The result of a cell, and where and how long it was played."""

    curves: Curves
    log: DuelLog | None
    seconds: float
    where: str


class Failure(NamedTuple):
    """Why a cell has no result: one line, and the full traceback."""

    error: str
    story: str
    where: str


def policy_settings(policy: Policy) -> dict[str, Any]:
    """Return settings as plain data, without `random_state`, which a simulation sets per run."""
    return {name: plain(value) for name, value in policy.params.items() if name != "random_state"}


def plain(value: Any) -> Any:
    """Return a setting as a value that JSON can hold."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else getattr(value, "name", repr(value))


def play(cell: Cell, threads: int | None = None) -> Played:
    """Play the cell."""
    started = time.perf_counter()
    runs = range(cell.first_run, cell.first_run + cell.runs)
    done = simulate(
        {_LABEL: cell.policy},
        cell.environment,
        cell.horizon,
        runs,
        cell.seed,
        keep=cell.keep,
        points=cell.points,
        threads=threads,
    )
    kept = done.kept(_LABEL)
    log = kept if isinstance(kept, DuelLog) else None
    curves = curves_of(kept, cell.environment, cell.points) if isinstance(kept, DuelLog) else kept
    return Played(curves, log, time.perf_counter() - started, f"{platform.node()}:{os.getpid()}")


def play_or_fail(cell: Cell, threads: int | None = None) -> Played | Failure:
    """Play the cell, or return the failure, so that one failing cell does not stop the others."""
    try:
        return play(cell, threads)
    except Exception as error:  # noqa: BLE001  (a custom policy or environment may raise anything)
        return failure(error)


def play_packed(packed: PackedCell) -> Played | Failure:
    """Play a cell in a worker, with one thread, since there is one worker per core."""
    mine = stamp()
    where = f"{platform.node()}:{os.getpid()}"
    if packed.stamp != mine:
        raise EngineLost(
            f"The worker {where} has another duelist (code {mine}) than this one (code {packed.stamp}), "
            "and would compute other cells.",
            "Install the same release on all workers.",
        )
    try:
        policy = policy_class(packed.policy)(**packed.params)
    except Exception as error:  # noqa: BLE001  (a custom module may be missing on the worker, or fail to import there)
        return failure(error)
    return play_or_fail(Cell(policy, *packed.rest), threads=1)


def failure(error: BaseException) -> Failure:
    """Return an error as data that any process can read."""
    line = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return Failure(line, "".join(traceback.format_exception(error)), f"{platform.node()}:{os.getpid()}")


# -- the code that results depend on -----------------------------------------------------


@cache
def stamp() -> str:
    """Return a hash of the engine, the policies, the environments and the simulation loop."""
    worlds = [
        *sorted(_PACKAGE.glob("simulation/environments/*.py")),
        *(_PACKAGE / "simulation" / f"{n}.py" for n in ("simulate", "run_log", "regret")),
    ]
    files = [(file.name, zlib.crc32(file.read_bytes())) for file in worlds]
    return hashlib.sha256(json.dumps([code_stamp(), files]).encode()).hexdigest()[:16]


def _spoken_name(cls: type[Policy]) -> str:
    return cls.__name__ if BUILTIN_POLICIES.get(cls.__name__) is cls else f"{cls.__module__}:{cls.__qualname__}"


def _foreign_stamps(part: Policy | Environment) -> Iterator[tuple[str, int]]:
    """Return checksums of the files that define custom classes, including wrapped environments."""
    for cls in type(part).__mro__:
        if not _is_known(cls):
            file = _source_file(cls)
            yield cls.__qualname__, 0 if file is None else zlib.crc32(file.read_bytes())
    if isinstance(part, Environment):
        for value in vars(part).values():
            if isinstance(value, Environment):
                yield from _foreign_stamps(value)


def _is_known(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("duelist", "abc", "builtins", "typing")


def _source_file(cls: type) -> Path | None:
    """Return the file that defines a class, or None if it was defined interactively."""
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None
    return Path(file) if file is not None and Path(file).is_file() else None
