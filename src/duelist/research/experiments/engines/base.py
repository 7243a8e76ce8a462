"""The one interface of engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from duelist.policies import policy_name
from duelist.research.experiments.cells import Cell, Failure, Played

Finished = tuple[Cell, Played | Failure]


def check_sendable(cells: Sequence[Cell]) -> None:
    """Refuse policies that another process could not find by name, before anything is sent."""
    for cls in {type(cell.policy) for cell in cells}:
        policy_name(cls)


class Engine(ABC):
    """Plays cells somewhere; used as a context, which begins and ends what it needs, once however deep contexts are nested."""

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

    def begin(self) -> None:  # noqa: B027  (an engine that needs nothing begins nothing)
        """Get what it needs; here: nothing."""

    def end(self) -> None:  # noqa: B027
        """Let it go; here: nothing."""

    @abstractmethod
    def play(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Every cell once, with its result or why it has none, in the order in which they are finished."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many cells are played at a time, now."""

    @property
    def about(self) -> str:
        """Where it plays, for people."""
        return type(self).__name__
