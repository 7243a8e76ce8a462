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

_MAX_HEAD_BYTES: Final = 2**16
_SINGLE_THREADED: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
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
        self._in_process = RequestHandler(storage) if url is None else None
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()
        self._pending_requests: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        self._shared_tasks: dict[str, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}

    async def start(self) -> None:
        """Start the process ahead of the first request."""
        if self._url is not None:
            await self._ensure_process()

    async def run_task(self, task: str, study: int | None, arguments: dict[str, Any]) -> Any:
        """Run a task (see `duelist.server.worker.tasks`) and return its result. Equal requests made at the same time share one run."""
        request = {"study": study, "task": task, "arguments": arguments}
        key = json.dumps(request, sort_keys=True)
        running = self._shared_tasks.get(key)
        if running is None:
            running = asyncio.ensure_future(self._send(request))
            self._shared_tasks[key] = running
            running.add_done_callback(lambda _: self._shared_tasks.pop(key, None))
        response = await self._receive(task, study, asyncio.shield(running))
        return json.loads(response.body or b"null")

    async def run_query(
        self, study: int, query: str, arguments: dict[str, Any], known_revision: str | None = None
    ) -> WorkerResponse:
        """Run a query (see `duelist.server.worker.queries`) on all votes acknowledged before the call."""
        request = {"study": study, "task": query, "arguments": arguments, "known_revision": known_revision}
        response = await self._receive(query, study, self._send(request))
        return (
            WorkerResponse(response.revision, None)
            if response.revision and response.revision == known_revision
            else response
        )

    async def _receive(
        self, task: str, study: int | None, pending: Awaitable[tuple[dict[str, Any], bytes]]
    ) -> WorkerResponse:
        started_at = time.perf_counter()
        head, body = await pending
        self._metrics.worker_seconds.labels(task).observe(time.perf_counter() - started_at)
        if "error" in head:
            raise DuelistError.from_dict(head["error"])
        if "unexpected_error" in head:
            log_event("task failed", logging.ERROR, task=task, study=study, error=head["unexpected_error"])
            raise RuntimeError(head["unexpected_error"])
        return WorkerResponse(head["revision"], body)

    async def _send(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        if self._in_process is not None:
            return await asyncio.to_thread(self._in_process, request)
        process = await self._ensure_process()
        number = next(self._numbers)
        response: asyncio.Future[tuple[dict[str, Any], bytes]] = asyncio.get_running_loop().create_future()
        self._pending_requests[number] = response
        try:
            await _write(process, {"id": number, **request})
            return await response
        finally:
            self._pending_requests.pop(number, None)

    async def _ensure_process(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "duelist.server.worker.process",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_MAX_HEAD_BYTES,
                    env={**_SINGLE_THREADED, **os.environ},
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
                response = self._pending_requests.pop(head.pop("id"), None)
                if response is not None and not response.done():
                    response.set_result((head, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        await process.wait()
        log_event("worker stopped", returncode=process.returncode)
        self._fail_pending()

    def _fail_pending(self) -> None:
        """Fail all waiting requests; the next one starts a new process."""
        for response in self._pending_requests.values():
            if not response.done():
                response.set_exception(
                    RequestError(503, "stopping", "The background worker has stopped.", "Try again; it is restarted.")
                )
        self._pending_requests.clear()

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
