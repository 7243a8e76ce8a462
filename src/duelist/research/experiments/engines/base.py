"""The interface of engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from duelist.policies import policy_name
from duelist.research.experiments.cells import Cell, Failure, Played

Finished = tuple[Cell, Played | Failure]


def check_sendable(cells: Sequence[Cell]) -> None:
    """Raise for policies that another process cannot import by name, before anything is sent."""
    for cls in {type(cell.policy) for cell in cells}:
        policy_name(cls)


class Engine(ABC):
    """Plays cells somewhere.

    A context manager that starts and stops what it needs, once, even if contexts are nested.
    """

    _depth = 0

    def __enter__(self) -> Self:
        if not self._depth:
            self.begin()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self.end()

    def begin(self) -> None:  # noqa: B027  (optional: an engine may have nothing to start)
        """Start what the engine needs; by default, nothing."""

    def end(self) -> None:  # noqa: B027
        """Stop the engine; by default do nothing."""

    @abstractmethod
    def play(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Play every cell once and yield its result or failure, in the order in which they finish."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of cells that are played at a time."""

    @property
    def about(self) -> str:
        """A description of where it plays."""
        return type(self).__name__
