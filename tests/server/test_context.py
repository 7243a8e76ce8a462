"""Open studies of a server: kept while in use, closed when idle."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from duelist.core.errors import ConnectionLost, UnknownStudy
from duelist.server import context as context_module
from duelist.server import events
from duelist.server.app import make_app
from duelist.server.context import ServerContext
from duelist.server.events import StudyEvents
from duelist.server.options import ServerOptions
from duelist.server.routes import arms
from duelist.study import AsyncStudy, Study, create_study

FEW = 2
"""Idle studies that stay open."""
N_STUDIES = 3 * FEW


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that few studies, arms and seconds suffice."""
    monkeypatch.setattr(context_module, "MAX_IDLE_STUDIES", FEW)
    monkeypatch.setattr(events, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(arms, "BATCH_SIZE", 10)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of studies as they are opened."""
    found: list[int] = []
    load = vars(context_module)["load_study_by_id"]

    def noted(study_id: int, *how: Any) -> Study:
        found.append(study_id)
        return load(study_id, *how)

    monkeypatch.setattr(context_module, "load_study_by_id", noted)
    return found


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 's.db'}"


@pytest.fixture
def ids(url: str) -> list[int]:
    return [create_study(f"study {k}", url).id for k in range(N_STUDIES)]


@asynccontextmanager
async def listeners(server: ServerContext, ids: list[int]) -> AsyncIterator[dict[int, int]]:
    """Subscribe to each of these studies, wait for the first event, and count events by study."""
    heard = dict.fromkeys(ids, 0)

    async def listen(study_id: int) -> None:
        changes = await server.events(study_id)
        async for _ in changes.subscribe(server.stopping):
            heard[study_id] += 1

    tasks = [asyncio.create_task(listen(study_id)) for study_id in ids]
    try:
        await until(lambda: all(heard.values()) or any(task.done() for task in tasks))
        yield heard
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.005)


async def slowly(n_parts: int) -> AsyncIterator[bytes]:
    """Yield arms more slowly than all studies are polled."""
    for part in range(n_parts):
        yield "".join(json.dumps({"id": f"{part}-{k}"}) + "\n" for k in range(10)).encode()
        await asyncio.sleep(10 * events.POLL_SECONDS)


def test_streams_of_arms_complete_while_many_studies_have_subscribers(url: str, ids: list[int]) -> None:
    app = make_app(ServerOptions(url, temporary_token="t" * 40, rate_limit=1e6))
    server: ServerContext = app.state.server
    headers = {"Authorization": f"Bearer {'t' * 40}", "content-type": "application/x-ndjson"}

    async def upload() -> list[httpx.Response]:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1/api/v1", headers=headers, timeout=60
        )
        async with client, listeners(server, ids[1:]) as heard:
            to = [ids[0], ids[0], ids[1]]
            sent = await asyncio.gather(*(client.post(f"/studies/{one}/arms", content=slowly(5)) for one in to))
            await until(lambda: heard[ids[1]] > 1)
        await server.close()
        return sent

    answers = asyncio.run(upload())
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    added = [answer.json()["added"] for answer in answers]
    assert (added[0] + added[1], added[2]) == (50, 50)


def test_polled_studies_stay_open(url: str, ids: list[int], opened: list[int]) -> None:
    async def listen() -> None:
        server = ServerContext(ServerOptions(url))
        *watched, one, other = ids
        async with listeners(server, watched):
            for _ in range(20):
                await server.require_study(one)
                await server.require_study(other)
                await asyncio.sleep(events.POLL_SECONDS)
        await server.close()

    asyncio.run(listen())
    assert sorted(opened) == sorted(ids), "each once: those that are listened to, and the few that others use"


def test_studies_close_when_their_subscribers_have_left(url: str, ids: list[int]) -> None:
    async def listen_and_leave() -> tuple[int, int]:
        server = ServerContext(ServerOptions(url))
        async with listeners(server, ids):
            assert len(server._events) == len(server._open_studies) == N_STUDIES
        await asyncio.sleep(5 * events.POLL_SECONDS)
        gc.collect()
        await server.require_study(ids[0])
        with pytest.raises(UnknownStudy):
            await server.require_study(max(ids) + 1)
        left = len(server._events), len(server._open_studies)
        await server.close()
        return left

    assert asyncio.run(listen_and_leave()) == (0, FEW)


def test_a_deleted_study_closes_after_its_last_user(url: str, ids: list[int]) -> None:
    async def use() -> None:
        server = ServerContext(ServerOptions(url))
        async with server.study(ids[0]) as study:
            server.forget_study(ids[0])
            assert await study.read(Study.revision)
        await asyncio.gather(*server._closing)
        with pytest.raises(RuntimeError):
            await study.read(Study.revision)
        await server.close()

    asyncio.run(use())


@pytest.mark.parametrize("error", [ConnectionLost("the database does not answer; try again"), RuntimeError("no idea")])
def test_subscribers_get_the_state_after_failed_polls(url: str, ids: list[int], error: Exception) -> None:
    async def listen() -> str:
        server = ServerContext(ServerOptions(url))
        failing = iter([error] * 3)

        def study() -> AbstractAsyncContextManager[AsyncStudy]:
            for each in failing:
                raise each
            return server.study(ids[0])

        async with asyncio.timeout(30):
            told = await anext(StudyEvents(study).subscribe(server.stopping))
        await server.close()
        return told

    assert '"state": "open"' in asyncio.run(listen())
