"""Play cells one after the other in this process, each with all cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from duelist.research.experiments.cells import Cell, play_or_fail
from duelist.research.experiments.engines.base import Engine, Finished


class ThisProcess(Engine):
    """Plays in this process. Native policies use all cores, or `threads`; policies in plain Python use one."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads

    def play(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Play every cell, in the order given."""
        for cell in cells:
            yield cell, play_or_fail(cell, self._threads)

    @property
    def workers(self) -> int:
        """One cell at a time."""
        return 1

    @property
    def about(self) -> str:
        """Where it plays."""
        return "this process"
