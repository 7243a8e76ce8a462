"""A study for servers that run on an event loop: the same methods, awaited.

    study = AsyncStudy(load_study("captions"))
    duel = await study.ask(rater="ana")
    vote = await study.tell(duel, "first", rater="ana")
    board = await study.read(Study.leaderboard, top=10)

Threads call the database, so that the loop never waits: one for writes, which wait for each other anyway and run in the order in which
they were awaited, and a few for reads, which may take long. They belong to the study; the loop's default executor stays free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from duelist.study.records import Outcome, StudyDuel, Vote
from duelist.study.study import Study

READERS: Final = 2
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class AsyncStudy:
    """A study whose methods are awaited.

    Cancelling an await does not cancel the call. As after a lost connection, ask or tell again, which returns what was recorded.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="duelist-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="duelist-reader")

    async def ask(
        self,
        rater: str,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
    ) -> StudyDuel:
        """Return a duel for this rater; see `Study.ask`."""
        return await self.write(Study.ask, rater, candidates, context, in_progress)

    async def tell(self, duel: StudyDuel | int, outcome: Outcome | str, rater: str, **options: Any) -> Vote:
        """Record a rater's vote; see `Study.tell`."""
        return await self.write(Study.tell, duel, outcome, rater, **options)

    async def undo(self, duel: StudyDuel | int, rater: str, criterion: str | None = None) -> Vote:
        """Undo a rater's vote; see `Study.undo`."""
        return await self.write(Study.undo, duel, rater, criterion)

    async def write(
        self, method: Callable[Concatenate[Study, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Call a method that changes the study, as in `write(Study.retire, ["a"])`, after earlier writes."""
        return await self._run(self._writer, partial(method, self.study, *args, **kwargs))

    async def read(
        self, method: Callable[Concatenate[Study, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Call a method that only reads, as in `read(Study.leaderboard)`; writes do not wait for it."""
        return await self._run(self._readers, partial(method, self.study, *args, **kwargs))

    @staticmethod
    async def _run(threads: ThreadPoolExecutor, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    async def close(self) -> None:
        """Finish running calls and free threads and connections."""
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self.study.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
