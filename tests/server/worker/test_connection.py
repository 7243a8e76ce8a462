"""The connection to the background worker: messages, limits, and a worker that is stopped, silent or broken."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from duelist.server.errors import RequestError
from duelist.server.monitoring.metrics import Metrics
from duelist.server.worker import client as worker_client
from duelist.server.worker import connection, messages
from duelist.server.worker.client import WorkerClient
from duelist.study import open_storage
from tests.helpers.busy_server import make


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[WorkerClient, int]]:
    """A client with a worker process, and a study."""
    url = f"sqlite:///{folder / 's.db'}"
    study = make(url, n_arms=4, dim=2)
    storage = open_storage(url)
    client = WorkerClient(storage, url, Metrics(storage))
    await client.start()
    try:
        yield client, study.id
    finally:
        await asyncio.wait_for(client.close(), 20)
        storage.close()
        study.close()


async def until_responding(client: WorkerClient) -> None:
    while not await client.is_responding():
        await asyncio.sleep(0.02)


def test_messages_of_any_content_are_read_as_written() -> None:
    sent = [({"id": 1, "text": "line\n" * 50_000}, b"\n" * 70_000), ({"\ud800": [1.5, None]}, b"")]
    stream = io.BytesIO(b"".join(messages.encode(*message) for message in sent))
    assert [messages.read(stream), messages.read(stream), messages.read(stream)] == [*sent, None]


def test_messages_over_the_limits_are_rejected() -> None:
    with pytest.raises(messages.MessageTooLarge):
        messages.encode({"text": "x" * messages.MAX_HEAD_BYTES})
    with pytest.raises(messages.MessageTooLarge):
        messages.read(io.BytesIO(struct.pack(">II", 10, messages.MAX_BODY_BYTES + 1)))


@pytest.mark.parametrize("hurt", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_or_silent_worker_fails_those_who_wait_and_is_restarted(
    hurt: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(worker_client, "_RESTART_SECONDS", 0.0)

    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            await client.run_query(study, "leaderboard", {})
            await until_responding(client)
            first = client._connection
            monkeypatch.setattr(connection, "DOWN_SECONDS", 0.5)
            monkeypatch.setattr(connection, "KILL_SECONDS", 2.0)
            os.kill(first._process.pid, hurt)
            waiting = asyncio.ensure_future(client.run_query(study, "history", {}))
            if hurt == signal.SIGSTOP:
                while await client.is_responding():
                    await asyncio.sleep(0.02)
            with pytest.raises(RequestError) as found:
                await waiting
            assert (found.value.status_code, found.value.body["error"]["code"]) == (503, "stopping")
            monkeypatch.setattr(connection, "KILL_SECONDS", 60.0)
            await until_responding(client)
            assert client._connection is not first
            assert (await client.run_query(study, "leaderboard", {})).body

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_request_over_its_time_limit_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_client, "QUERY_SECONDS", 0.2)

    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            os.kill(client._connection._process.pid, signal.SIGSTOP)
            with pytest.raises(RequestError) as found:
                await client.run_query(study, "leaderboard", {})
            assert found.value.body["error"]["code"] == "timeout"

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_broken_message_of_the_worker_fails_those_who_wait(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            os.kill(client._connection._process.pid, signal.SIGSTOP)
            waiting = asyncio.ensure_future(client.run_query(study, "leaderboard", {}))
            await asyncio.sleep(0)
            client._connection._process.stdout.feed_data(b"\xff" * 8)
            with pytest.raises(RequestError) as found:
                await waiting
            assert found.value.body["error"]["code"] == "stopping"

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_closed_worker_is_not_started_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            await client.close()
            assert not await client.is_responding()
            with pytest.raises(RequestError):
                await client.run_query(study, "leaderboard", {})

    asyncio.run(asyncio.wait_for(run(), 60))


def test_too_many_waiting_requests_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_WAITING", 2)

    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            await client.run_query(study, "leaderboard", {})
            os.kill(client._connection._process.pid, signal.SIGSTOP)
            waiting = [asyncio.ensure_future(client.run_query(study, "raters", {})) for _ in range(2)]
            await asyncio.sleep(0.05)
            with pytest.raises(RequestError) as found:
                await client.run_query(study, "leaderboard", {})
            assert found.value.body["error"]["code"] == "busy"
            client._connection.kill()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_requests_about_one_study_leave_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reader could fill the worker's queue, so that dashboards of all other studies got errors."""
    monkeypatch.setattr(connection, "MAX_WAITING_PER_STUDY", 2)

    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            await client.run_query(study, "leaderboard", {})
            os.kill(client._connection._process.pid, signal.SIGSTOP)
            waiting = [asyncio.ensure_future(client.run_query(study, "raters", {})) for _ in range(2)]
            await asyncio.sleep(0.05)
            with pytest.raises(RequestError) as found:
                await client.run_query(study, "leaderboard", {})
            assert found.value.body["error"]["code"] == "busy"
            waiting.append(asyncio.ensure_future(client.run_query(study + 1, "leaderboard", {})))
            await asyncio.sleep(0.05)
            assert not waiting[-1].done()
            client._connection.kill()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_request_that_waited_for_others_does_not_end_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time limit ended imports of other studies."""

    async def run() -> None:
        async with opened(tmp_path) as (client, study):
            await client.run_query(study, "leaderboard", {})
            first = client._connection
            os.kill(first._process.pid, signal.SIGSTOP)
            monkeypatch.setattr(worker_client, "QUERY_SECONDS", 0.2)
            with pytest.raises(RequestError) as found:
                await client.run_query(study, "raters", {})
            assert found.value.body["error"]["code"] == "timeout"
            assert first.is_alive
            os.kill(first._process.pid, signal.SIGCONT)
            monkeypatch.setattr(worker_client, "QUERY_SECONDS", 60.0)
            await client.run_query(study, "leaderboard", {})
            assert client._connection is first

    asyncio.run(asyncio.wait_for(run(), 60))
