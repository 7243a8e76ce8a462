"""A study on an event loop: nothing blocks it, nothing is lost when whoever waits goes away."""

import asyncio
import inspect
import threading

import pytest

from duelist.core.errors import NothingToAsk, VoteConflict
from duelist.study import AsyncStudy, Study, load_study
from tests.helpers.busy_study import rebuilt
from tests.helpers.local_study import load_local_study
from tests.study.conftest import filled


def test_many_raters_on_one_loop(url: str) -> None:
    study = filled(storage=url, n_arms=12)

    async def play(on_loop: AsyncStudy, rater: str) -> None:
        for outcome in ("first", "second", "tie"):
            duel = await on_loop.ask(rater)
            assert await on_loop.ask(rater) == duel
            await on_loop.tell(duel, outcome, rater, response_seconds=1.5)

    async def everybody() -> int:
        async with AsyncStudy(study) as on_loop:
            await asyncio.gather(*(play(on_loop, f"rater {k}") for k in range(20)))
            return (await on_loop.leaderboard()).votes

    assert asyncio.run(everybody()) == 60
    votes = load_study("study", url).votes()
    assert len({(vote.duel_id, vote.rater) for vote in votes}) == 60
    assert {vote.response_seconds for vote in votes} == {1.5}
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_the_loop_runs_while_the_database_is_busy(sqlite_url: str) -> None:
    """Somebody else writes for half a second: the ask waits, the loop does not."""
    study = filled(storage=sqlite_url)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with load_local_study("study", sqlite_url)._writing():
            held.set()
            over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()

    async def waiting() -> None:
        async with AsyncStudy(study) as on_loop:
            asked = asyncio.ensure_future(on_loop.ask("ana"))
            for _ in range(50):
                await asyncio.sleep(0.01)
            assert not asked.done()  # a loop that was part of the wait would come back only when it is over
            over.set()
            await asked

    try:
        asyncio.run(waiting())
    finally:
        over.set()
        holder.join()


def test_errors_come_to_who_awaits() -> None:
    async def all_of_it() -> None:
        async with AsyncStudy(filled(n_arms=2)) as on_loop:
            duel = await on_loop.ask("ana")
            with pytest.raises(NothingToAsk):
                await on_loop.ask("ben")
            await on_loop.tell(duel, "first", "ana")
            with pytest.raises(VoteConflict):
                await on_loop.tell(duel, "second", "ana")
            assert (await on_loop.undo(duel, "ana")).outcome is None
            await on_loop.retire(["a0"])

    asyncio.run(all_of_it())


def test_who_is_cancelled_finds_what_was_done() -> None:
    study = filled(n_arms=8)

    async def cancelled() -> None:
        async with AsyncStudy(study) as on_loop:
            duel = await on_loop.ask("ana")
            telling = asyncio.ensure_future(on_loop.tell(duel, "first", "ana"))
            await asyncio.sleep(0)
            telling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await telling
            await on_loop.tell(duel, "first", "ana")

    asyncio.run(cancelled())
    assert len(study) == 1


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_every_method_of_a_study_can_be_awaited_with_the_same_arguments() -> None:
    assert public(AsyncStudy) - {"read", "write", "name", "settings"} == public(Study)
    for name in public(Study) - {"id", "state"}:
        awaited, called = getattr(AsyncStudy, name), getattr(Study, name)
        assert inspect.iscoroutinefunction(awaited)
        assert inspect.signature(awaited).parameters == inspect.signature(called).parameters
        assert awaited.__doc__


def test_what_a_study_knows_is_known_on_the_loop() -> None:
    async def look() -> None:
        async with AsyncStudy(filled()) as on_loop:
            assert (on_loop.name, on_loop.id) == (on_loop.study.name, on_loop.study.id)
            assert on_loop.settings == on_loop.study.settings
            assert await on_loop.state() == "open"
            assert [arm.id for arm in await on_loop.arms()][:2] == ["a0", "a1"]

    asyncio.run(look())
