"""Sends tasks to the back office, or, where studies are in memory, to a thread; another process is started when one has died."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

from duelist.core.errors import DuelistError
from duelist.server.errors import RequestError
from duelist.server.monitoring.logs import log_event
from duelist.server.monitoring.metrics import Metrics
from duelist.server.worker.process import RequestHandler
from duelist.study import Storage

_LINE: Final = 2**16
_ONE_CORE_EACH: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Readings are many small problems in several threads: linear algebra that starts more of its own is slower, not faster."""


class WorkerResponse(NamedTuple):
    """A reading: JSON, and the stamp of the study that it is of; None for the body where the caller has it already."""

    stamp: str
    body: bytes | None


class WorkerClient:
    """Readings and long tasks on the studies of one storage."""

    def __init__(self, storage: Storage, url: str | None, metrics: Metrics) -> None:
        self._url = url
        self._counting = metrics
        self._here = RequestHandler(storage) if url is None else None
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        self._asked: dict[str, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}

    async def start(self) -> None:
        """Have the process ready before anybody asks."""
        if self._url is not None:
            await self._running()

    async def run_task(self, task: str, study: int | None, given: dict[str, Any]) -> Any:
        """Run a task (see `duelist.server.worker.tasks`) and return its result. Equal requests made at the same time share one run."""
        request = {"study": study, "task": task, "given": given}
        key = json.dumps(request, sort_keys=True)
        asked = self._asked.get(key)
        if asked is None:
            asked = asyncio.ensure_future(self._ask(request))
            self._asked[key] = asked
            asked.add_done_callback(lambda _: self._asked.pop(key, None))
        answer = await self._answered(task, study, asyncio.shield(asked))
        return json.loads(answer.body or b"null")

    async def read(self, study: int, reading: str, given: dict[str, Any], have: str | None = None) -> WorkerResponse:
        """A reading of everything that was acknowledged before it was asked for."""
        request = {"study": study, "task": reading, "given": given, "have": have}
        answer = await self._answered(reading, study, self._ask(request))
        return WorkerResponse(answer.stamp, None) if answer.stamp and answer.stamp == have else answer

    async def _answered(
        self, task: str, study: int | None, coming: Awaitable[tuple[dict[str, Any], bytes]]
    ) -> WorkerResponse:
        begun = time.perf_counter()
        head, body = await coming
        self._counting.readings.labels(task).observe(time.perf_counter() - begun)
        if "error" in head:
            raise DuelistError.from_dict(head["error"])
        if "failed" in head:
            log_event("task failed", logging.ERROR, task=task, study=study, error=head["failed"])
            raise RuntimeError(head["failed"])
        return WorkerResponse(head["stamp"], body)

    async def _ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        if self._here is not None:
            return await asyncio.to_thread(self._here, request)
        process = await self._running()
        number = next(self._numbers)
        answer: asyncio.Future[tuple[dict[str, Any], bytes]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await _write(process, {"id": number, **request})
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def _running(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "duelist.server.worker.process",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_LINE,
                    env={**_ONE_CORE_EACH, **os.environ},
                    start_new_session=True,  # a Ctrl-C is for the server, which tells us by closing our input
                )
                await _write(self._process, {"storage": self._url})
                self._listener = asyncio.create_task(self._listen(self._process))
            return self._process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        output = process.stdout
        if output is None:
            return
        try:
            while line := await output.readline():
                head = json.loads(line)
                body = await output.readexactly(head.pop("length"))
                answer = self._waiting.pop(head.pop("id"), None)
                if answer is not None and not answer.done():
                    answer.set_result((head, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        await process.wait()
        log_event("the back office has closed", returncode=process.returncode)
        self._fail()

    def _fail(self) -> None:
        """Nobody answers those who wait; the next who asks starts another process."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(
                    RequestError(503, "stopping", "The back office has closed.", "Ask again; another one is started.")
                )
        self._waiting.clear()

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 2.0)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):  # it has ended this very moment
                process.kill()
            await process.wait()
        if self._listener is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener


async def _write(process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        await process.stdin.drain()
    except ConnectionError as error:
        raise RequestError(
            503, "stopping", "The back office has closed.", "Ask again; another one is started."
        ) from error
