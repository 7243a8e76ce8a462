"""Play cells on a Dask cluster: many machines, workers that come and go.

Dask assigns cells to workers, and reassigns the cells of a lost worker. Results travel through this process, which
stores them: workers need the package, but no shared folder.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from duelist.core.arrays import check_integer
from duelist.core.errors import EngineLost
from duelist.core.extras import needs_extra
from duelist.research.experiments.cells import Cell, Failure, Played, failure, play_packed
from duelist.research.experiments.engines.base import Engine, Finished, check_sendable
from duelist.simulation.simulate import usable_cores

_OUT: Final = 1000
"""Cells that the scheduler holds at most; unfetched results fill the workers' memory."""
_LOOK_SECONDS: Final = 0.02
_FIRST_SECONDS: Final = 10.0
"""Seconds to wait for a scheduler that has not answered yet, in case its address is mistyped."""


class Cluster(Engine):
    """Plays on the cluster of a Dask scheduler.

    Parameters
    ----------
    scheduler
        The address of a scheduler, as in "tcp://10.0.0.5:8786"; the file it has written (`dask scheduler
        --scheduler-file`); or a Dask cluster object (dask-jobqueue, dask-kubernetes, ...). None starts a cluster on
        this machine, and stops it with the engine.
    workers
        The number of processes of a cluster on this machine; None: one per core.
    patience
        Seconds to wait for a lost scheduler to come back; unfinished cells are then played again.
    """

    def __init__(self, scheduler: Any = None, *, workers: int | None = None, patience: float = 60.0) -> None:
        self._scheduler = scheduler
        self._asked = None if workers is None else check_integer("workers", workers)
        self._patience = patience
        self._own: Any = None
        self._client: Any = None

    def begin(self) -> None:
        """Connect to the scheduler, or start one."""
        distributed = _import_distributed()
        if self._scheduler is None:
            self._own = self._started(distributed)
        self._connect(min(self._patience, _FIRST_SECONDS))

    def _started(self, distributed: Any) -> Any:
        try:
            return distributed.LocalCluster(
                n_workers=self._asked,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.ERROR,
            )
        except RuntimeError as error:
            raise EngineLost(
                f"No cluster could be started on this machine ({error}).",
                "A program that starts processes does so under `if __name__ == '__main__':`.",
            ) from error

    def end(self) -> None:
        """Disconnect from the scheduler, and stop it if it was started here."""
        self._disconnect()
        if self._own is not None:
            self._own.close()
            self._own = None

    def play(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Play every cell, in the order in which they finish; replay those in progress when the scheduler was lost."""
        check_sendable(cells)
        left = dict(enumerate(cells))
        while left:
            for number, result in self._until_lost(dict(left)):
                yield left.pop(number), result
            if left:
                self._come_back(len(left))

    @property
    def workers(self) -> int:
        """The number of threads of all workers now; before a local cluster starts, the number it will have."""
        if self._client is None:
            return self._asked or usable_cores()
        return sum(self._client.nthreads().values())

    @property
    def about(self) -> str:
        """The scheduler, its workers and its dashboard."""
        if self._client is None:
            return f"a Dask cluster of {self.workers} workers on this machine"
        workers = len(self._client.nthreads())
        so_far = f"{workers} worker{'' if workers == 1 else 's'} so far, more may join"
        return f"Dask at {self._client.scheduler.address}, {so_far}; dashboard: {self._client.dashboard_link}"

    # -- a scheduler that may be lost ---------------------------------------------------------

    def _until_lost(self, waiting: dict[int, Cell]) -> Iterator[tuple[int, Played | Failure]]:
        """Yield results until all are there or the scheduler is lost."""
        distributed = _import_distributed()
        numbers = deque(waiting)
        out: dict[Any, int] = {}
        finished = distributed.as_completed(with_results=True, raise_errors=False, loop=self._client.loop)
        while numbers or out:
            for number in list(itertools.islice(numbers, _OUT - len(out))):
                try:
                    future = self._client.submit(pickle.loads, _sent(waiting[number]), pure=False)
                except (OSError, RuntimeError):  # no connection, or a closed client
                    return
                numbers.popleft()
                out[future] = number
                finished.add(future)
            if not finished.has_ready():
                if self._client.status != "running":
                    return
                time.sleep(_LOOK_SECONDS)
                continue
            future, result = next(finished)
            if future.status not in ("finished", "error"):
                return
            number = out.pop(future)
            yield number, self._check_outcome(future.status, result)

    def _check_outcome(self, status: str, result: Any) -> Played | Failure:
        """Return a cell's result; raise errors of the worker, as opposed to those of the cell."""
        if status == "finished":
            return result
        _, error, _ = result
        if isinstance(error, EngineLost):
            raise error
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == "duelist":
            raise EngineLost(
                f"A worker of {self._client.scheduler.address} has no duelist.",
                "Install the same release on all workers.",
            ) from error
        if type(error).__name__ == "KilledWorker":
            message = f"the workers that played it died, again and again: out of memory, or killed ({error.last_worker.address})"
            return Failure(message, str(error), error.last_worker.address)
        return failure(error)

    def _come_back(self, unfinished: int) -> None:
        if self._own is not None:
            raise EngineLost(
                f"The cluster on this machine is gone, {unfinished} cells are not finished.", "Run the same again."
            )
        self._disconnect()
        try:
            self._connect(self._patience)
        except EngineLost as error:
            raise EngineLost(
                f"The scheduler went away and did not come back within {self._patience:g} s.",
                f"{unfinished} cells are not finished, the others are kept: start it again, and run the same.",
            ) from error

    def _connect(self, patience: float) -> None:
        distributed = _import_distributed()
        target = self._own if self._own is not None else self._scheduler
        deadline = time.monotonic() + patience
        while True:
            left = max(deadline - time.monotonic(), 0.5)
            try:
                self._client = _client(distributed, target, left)
                return
            except ValueError as error:
                raise EngineLost(
                    f"{target!r} is no address of a Dask scheduler ({error}).", "Write tcp://HOST:PORT."
                ) from error
            except OSError as error:
                if time.monotonic() + 0.5 >= deadline:
                    raise EngineLost(
                        f"No Dask scheduler answers at {target} within {patience:g} s.",
                        "Start one with `dask scheduler`, or give its address.",
                    ) from error
                time.sleep(0.2)

    def _disconnect(self) -> None:
        if self._client is not None:
            with suppress(OSError, TimeoutError, RuntimeError):
                self._client.close(timeout=2)
            self._client = None


class _Sent:
    """A cell that is played where it is unpickled.

    Dask unpickles a task before it runs it, in the scheduler and in the worker, and a worker ends if that fails. So a
    task is sent as bytes and a function of the standard library: a worker without duelist reports that and survives,
    and the scheduler does not need the package.
    """

    def __init__(self, cell: Cell) -> None:
        self._packed = cell.pack()

    def __reduce__(self) -> tuple[Any, ...]:
        return play_packed, (self._packed,)


def _sent(cell: Cell) -> bytes:
    from cloudpickle import dumps  # Dask's own pickler also takes classes that were defined in a notebook

    return bytes(dumps(_Sent(cell)))


def _client(distributed: Any, target: Any, seconds: float) -> Any:
    options: dict[str, Any] = {"timeout": seconds, "set_as_default": False}
    if isinstance(target, str) and target.endswith(".json"):
        if not Path(target).exists():  # otherwise Dask would wait for it indefinitely
            raise FileNotFoundError(f"there is no file {target}")
        return distributed.Client(scheduler_file=target, **options)
    return distributed.Client(target, **options)


def _import_distributed() -> Any:
    with needs_extra("cluster", "experiments on a Dask cluster"):
        import distributed
    return distributed
