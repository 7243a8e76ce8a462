"""Play cells in local processes, one core each: for policies in plain Python."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from duelist.core.arrays import check_integer
from duelist.research.experiments.cells import Cell, Failure, Played, play_packed
from duelist.research.experiments.engines.base import Engine, Finished, check_sendable
from duelist.simulation.simulate import usable_cores

_ATTEMPTS: Final = 2
"""How often a cell is retried alone after its process died, before it is reported as the cause."""


class LocalProcesses(Engine):
    """Plays in a number of processes; None: one per core.

    If a process dies, the cells in progress are played again one by one. A cell whose process dies whenever it is
    played alone is reported as failed.
    """

    def __init__(self, processes: int | None = None) -> None:
        self._processes = usable_cores() if processes is None else check_integer("processes", processes)

    def play(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Play every cell, in the order in which they finish."""
        check_sendable(cells)
        waiting = deque(cells)
        while waiting:
            suspects: list[Cell] = []
            yield from self._together(waiting, suspects)
            for cell in suspects:
                yield cell, self._alone(cell)

    def _together(self, waiting: deque[Cell], suspects: list[Cell]) -> Iterator[Finished]:
        """Play cells from `waiting` until none are left or a process dies; those in progress are then `suspects`."""
        out: dict[Future[Played | Failure], Cell] = {}
        with _pool(self._processes) as pool:
            while waiting or out:
                try:
                    while waiting and len(out) < 2 * self._processes:
                        out[pool.submit(play_packed, waiting[0].pack())] = waiting[0]
                        waiting.popleft()
                except BrokenProcessPool:
                    pass  # the cells in progress will report it
                done, _ = wait(out, return_when=FIRST_COMPLETED)
                if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                    yield from ((cell, future.result()) for future, cell in _unbroken(out))
                    broken = {future for future, _ in _unbroken(out)}
                    suspects.extend(cell for future, cell in out.items() if future not in broken)
                    return
                for future in done:
                    yield out.pop(future), future.result()

    def _alone(self, cell: Cell) -> Played | Failure:
        for _ in range(_ATTEMPTS):
            with _pool(1) as pool:
                try:
                    return pool.submit(play_packed, cell.pack()).result()
                except BrokenProcessPool:
                    continue
        message = (
            f"the process that played it died, {_ATTEMPTS} times of {_ATTEMPTS} alone: out of memory, killed, or started by a program "
            "that has no `if __name__ == '__main__':` around what it does"
        )
        return Failure(message, message, "a process on this machine")

    @property
    def workers(self) -> int:
        """The number of processes."""
        return self._processes

    @property
    def about(self) -> str:
        """Where it plays."""
        return f"{self._processes} processes on this machine"


def _unbroken(out: dict[Future[Played | Failure], Cell]) -> Iterable[tuple[Future[Played | Failure], Cell]]:
    return [(f, cell) for f, cell in out.items() if f.done() and not isinstance(f.exception(), BrokenProcessPool)]


def _pool(processes: int) -> ProcessPoolExecutor:
    # Not forked: this process has threads.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Ignore interrupts, and end the worker when its parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
