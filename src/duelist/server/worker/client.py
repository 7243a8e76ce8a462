"""Client of the background worker, which it starts, and restarts if it has died.

Studies in memory have no process: a thread does the work.
"""

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
"""Queries are many small problems in several threads, which multithreaded linear algebra slows down."""


class WorkerResponse(NamedTuple):
    """The JSON of a result and the revision of its study; the body is None if the caller has that revision."""

    revision: str
    body: bytes | None


class WorkerClient:
    """Runs queries and long tasks on the studies of one storage."""

    def __init__(self, storage: Storage, url: str | None, metrics: Metrics) -> None:
        self._url = url
        self._metrics = metrics
        self._here = RequestHandler(storage) if url is None else None
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        self._asked: dict[str, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}

    async def start(self) -> None:
        """Start the process ahead of the first request."""
        if self._url is not None:
            await self._running()

    async def run_task(self, task: str, study: int | None, arguments: dict[str, Any]) -> Any:
        """Run a task (see `duelist.server.worker.tasks`) and return its result. Equal requests made at the same time share one run."""
        request = {"study": study, "task": task, "arguments": arguments}
        key = json.dumps(request, sort_keys=True)
        asked = self._asked.get(key)
        if asked is None:
            asked = asyncio.ensure_future(self._ask(request))
            self._asked[key] = asked
            asked.add_done_callback(lambda _: self._asked.pop(key, None))
        answer = await self._answered(task, study, asyncio.shield(asked))
        return json.loads(answer.body or b"null")

    async def run_query(
        self, study: int, query: str, arguments: dict[str, Any], known_revision: str | None = None
    ) -> WorkerResponse:
        """Run a query (see `duelist.server.worker.queries`) on all votes acknowledged before the call."""
        request = {"study": study, "task": query, "arguments": arguments, "known_revision": known_revision}
        answer = await self._answered(query, study, self._ask(request))
        return (
            WorkerResponse(answer.revision, None) if answer.revision and answer.revision == known_revision else answer
        )

    async def _answered(
        self, task: str, study: int | None, coming: Awaitable[tuple[dict[str, Any], bytes]]
    ) -> WorkerResponse:
        begun = time.perf_counter()
        head, body = await coming
        self._metrics.worker_seconds.labels(task).observe(time.perf_counter() - begun)
        if "error" in head:
            raise DuelistError.from_dict(head["error"])
        if "failed" in head:
            log_event("task failed", logging.ERROR, task=task, study=study, error=head["failed"])
            raise RuntimeError(head["failed"])
        return WorkerResponse(head["revision"], body)

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
                    start_new_session=True,  # Ctrl-C goes to the server, which then closes the worker's input
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
        log_event("worker stopped", returncode=process.returncode)
        self._fail()

    def _fail(self) -> None:
        """Fail all waiting requests; the next one starts a new process."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(
                    RequestError(503, "stopping", "The background worker has stopped.", "Try again; it is restarted.")
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
            with contextlib.suppress(ProcessLookupError):  # it has just ended
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
            503, "stopping", "The background worker has stopped.", "Try again; it is restarted."
        ) from error
