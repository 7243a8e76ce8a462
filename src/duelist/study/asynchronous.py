"""A study for servers that run on an event loop: the same verbs, awaited.

    study = AsyncStudy(load_study("captions"))
    duel = await study.ask(rater="ana")
    vote = await study.tell(duel, "first", rater="ana")
    board = await study.read(Study.leaderboard, top=10)

Databases are spoken to by threads, so that the loop never waits: one for what writes, since writers of a study wait for each other
anyway, and they have their turns in the order in which they were awaited; a few for what reads, which may take long. They are the
study's own: the loop's common threads stay free for others.
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
Given = ParamSpec("Given")
Result = TypeVar("Result")


class AsyncStudy:
    """A study whose verbs are awaited.

    If whoever awaits is cancelled, what was begun is still done, as it is with a connection that is lost: ask or tell again, which
    returns what is there already.
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
        """A duel for this rater, as `Study.ask`."""
        return await self.write(Study.ask, rater, candidates, context, in_progress)

    async def tell(self, duel: StudyDuel | int, outcome: Outcome | str, rater: str, **more: Any) -> Vote:
        """A rater's answer, as `Study.tell`; durable when this returns."""
        return await self.write(Study.tell, duel, outcome, rater, **more)

    async def undo(self, duel: StudyDuel | int, rater: str, criterion: str | None = None) -> Vote:
        """Take back a rater's vote, as `Study.undo`."""
        return await self.write(Study.undo, duel, rater, criterion)

    async def write(
        self, verb: Callable[Concatenate[Study, Given], Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Any verb of a study that changes it, as `write(Study.retire, ["a"])`, after those that were awaited before."""
        return await self._run(self._writer, partial(verb, self.study, *given, **named))

    async def read(
        self, verb: Callable[Concatenate[Study, Given], Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Any verb of a study that only reads, as `read(Study.leaderboard)`; nobody who asks or tells waits for it."""
        return await self._run(self._readers, partial(verb, self.study, *given, **named))

    @staticmethod
    async def _run(threads: ThreadPoolExecutor, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    async def close(self) -> None:
        """Finish what was begun, and give back threads and what the storage holds open."""
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self.study.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
