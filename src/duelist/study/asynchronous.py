"""A study for servers that run on an event loop: the same methods, awaited.

    study = AsyncStudy(load_study("captions"))
    duel = await study.ask(rater="ana")
    vote = await study.tell(duel, "first", rater="ana")
    board = await study.leaderboard(top=10)

Threads call the database, so that the loop never waits: many for writes, so that those that wait at the same time share a commit
(`duelist.study.storage.group_commit`), and a few for reads, which may take long. They belong to the study; the loop's default
executor stays free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, overload

from duelist.study.imports import ItemPlan, VotePlan
from duelist.study.imports.apply import ItemImportReport
from duelist.study.imports.votes.plan import VoteImportReport
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.group_commit import MAX_CALLS
from duelist.study.study import Study

READERS: Final = 2
WRITERS: Final = 2 * MAX_CALLS
"""Threads that write: enough for the calls of one transaction, and for those that wait for the next."""
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _writes(
    method: Callable[Concatenate[Study, Arguments], Result],
) -> Callable[Concatenate[AsyncStudy, Arguments], Coroutine[Any, Any, Result]]:
    """Return the awaited form of a method that changes the study."""

    @wraps(method)
    async def awaited(self: AsyncStudy, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return await self.write(method, *args, **kwargs)

    return awaited


def _reads(
    method: Callable[Concatenate[Study, Arguments], Result],
) -> Callable[Concatenate[AsyncStudy, Arguments], Coroutine[Any, Any, Result]]:
    """Return the awaited form of a method that only reads."""

    @wraps(method)
    async def awaited(self: AsyncStudy, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return await self.read(method, *args, **kwargs)

    return awaited


class AsyncStudy:
    """A study with the methods of `Study` as coroutines, with the same arguments and results.

    Cancelling an await does not cancel the call. Ask or tell again, as after a
    lost connection, and you get the recorded result.

    >>> import asyncio, duelist as dl
    >>> async def main():
    ...     async with dl.AsyncStudy(dl.create_study("tea", storage="memory")) as study:
    ...         await study.add_arms(["green", "black"])
    ...         await study.tell(await study.ask(rater="ana"), "first", rater="ana")
    ...         return (await study.leaderboard()).votes
    >>> asyncio.run(main())
    1
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="duelist-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="duelist-reader")

    async def write(
        self, method: Callable[Concatenate[Study, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Call a function that changes the study, as in `write(my_function, "a")`."""
        return await self._run(self._writers, partial(method, self.study, *args, **kwargs))

    async def read(
        self, method: Callable[Concatenate[Study, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Call a function that only reads, as in `read(my_function)`; writes do not wait for it."""
        return await self._run(self._readers, partial(method, self.study, *args, **kwargs))

    @staticmethod
    async def _run(threads: ThreadPoolExecutor, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    async def close(self) -> None:
        """Finish running calls and free threads and connections."""
        for threads in (self._writers, self._readers):
            await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self.study.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def id(self) -> int:
        """The number of the study in its storage."""
        return self.study.id

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.study.name

    @property
    def settings(self) -> StudySettings:
        """The settings of the study."""
        return self.study.settings

    async def state(self) -> StudyState:
        """Return the state of the study; see `Study.state`."""
        return await self.read(lambda study: study.state)

    @overload
    async def apply(self, plan: ItemPlan) -> ItemImportReport: ...

    @overload
    async def apply(self, plan: VotePlan) -> VoteImportReport: ...

    async def apply(self, plan: ItemPlan | VotePlan) -> ItemImportReport | VoteImportReport:
        """Carry out a plan in one transaction; see `Study.apply`."""
        if isinstance(plan, ItemPlan):
            return await self.write(lambda study: study.apply(plan))
        return await self.write(lambda study: study.apply(plan))

    activate = _writes(Study.activate)
    add_arms = _writes(Study.add_arms)
    add_gold = _writes(Study.add_gold)
    add_media = _writes(Study.add_media)
    add_votes = _writes(Study.add_votes)
    archive = _writes(Study.archive)
    ask = _writes(Study.ask)
    block = _writes(Study.block)
    change = _writes(Study.change)
    describe_rater = _writes(Study.describe_rater)
    end = _writes(Study.end)
    enter = _writes(Study.enter)
    entry = _writes(Study.entry)
    erase_rater = _writes(Study.erase_rater)
    import_votes = _writes(Study.import_votes)
    limit = _writes(Study.limit)
    open = _writes(Study.open)
    pause = _writes(Study.pause)
    reinstate = _writes(Study.reinstate)
    release = _writes(Study.release)
    remove_gold = _writes(Study.remove_gold)
    rename = _writes(Study.rename)
    retire = _writes(Study.retire)
    set_context = _writes(Study.set_context)
    tell = _writes(Study.tell)
    tell_all = _writes(Study.tell_all)
    tell_batch = _writes(Study.tell_batch)
    undo = _writes(Study.undo)
    update_features = _writes(Study.update_features)

    arms = _reads(Study.arms)
    calibration = _reads(Study.calibration)
    can_stop = _reads(Study.can_stop)
    context_payload = _reads(Study.context_payload)
    contexts = _reads(Study.contexts)
    answer = _writes(Study.answer)
    check_steps = _reads(Study.check_steps)
    consent = _writes(Study.consent)
    departure = _reads(Study.departure)
    finish_practice = _writes(Study.finish_practice)
    next_step = _reads(Study.next_step)
    explain = _reads(Study.explain)
    export = _reads(Study.export)
    features = _reads(Study.features)
    gold = _reads(Study.gold)
    has_rater = _reads(Study.has_rater)
    history = _reads(Study.history)
    leaderboard = _reads(Study.leaderboard)
    leaderboard_by_category = _reads(Study.leaderboard_by_category)
    log = _reads(Study.log)
    media = _reads(Study.media)
    pending = _reads(Study.pending)
    plot_calibration = _reads(Study.plot_calibration)
    plot_history = _reads(Study.plot_history)
    plot_leaderboard = _reads(Study.plot_leaderboard)
    plot_raters = _reads(Study.plot_raters)
    plot_win_matrix = _reads(Study.plot_win_matrix)
    policy = _reads(Study.policy)
    progress = _reads(Study.progress)
    queue = _reads(Study.queue)
    rater = _reads(Study.rater)
    rater_progress = _reads(Study.rater_progress)
    rater_records = _reads(Study.rater_records)
    raters = _reads(Study.raters)
    recommend = _reads(Study.recommend)
    regret = _reads(Study.regret)
    goodness_of_fit = _reads(Study.goodness_of_fit)
    revision = _reads(Study.revision)
    save = _reads(Study.save)
    scorer = _reads(Study.scorer)
    systems = _reads(Study.systems)
    votes = _reads(Study.votes)
    win_chances = _reads(Study.win_chances)
    win_matrix = _reads(Study.win_matrix)
