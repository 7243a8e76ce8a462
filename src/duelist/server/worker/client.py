"""Client of the background worker, which it starts, and restarts if it has died.

Studies in memory have no process: a thread does the work.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

from duelist.core.errors import DuelistError
from duelist.server.errors import RequestError
from duelist.server.monitoring.logs import log_event
from duelist.server.monitoring.metrics import Metrics
from duelist.server.worker.connection import WorkerConnection, stopped
from duelist.server.worker.messages import Message
from duelist.server.worker.process import RequestHandler
from duelist.study import Storage

QUERY_SECONDS: Final = 300.0
"""Limit of a query, which includes the wait for others."""
TASK_SECONDS: Final = 3600.0
"""Limit of an import, an export or an archive."""
_RESTART_SECONDS: Final = 1.0
"""Shortest time between two starts, for a worker that dies at once."""


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
        self._connection: WorkerConnection | None = None
        self._started_at = float("-inf")
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._shared_tasks: dict[str, asyncio.Future[Message]] = {}

    async def start(self) -> None:
        """Start the process ahead of the first request."""
        if self._in_process is None:
            await self._open_connection()

    async def is_responding(self) -> bool:
        """Return whether the worker responds; start another one if it has died."""
        if self._in_process is not None:
            return True
        try:
            return (await self._open_connection()).is_responding
        except RequestError:
            return False

    async def run_task(self, task: str, study: int | None, arguments: dict[str, Any]) -> Any:
        """Run a task (see `duelist.server.worker.tasks`) and return its result. Equal requests made at the same time share one run."""
        request = {"study": study, "task": task, "arguments": arguments}
        key = json.dumps(request, sort_keys=True)
        running = self._shared_tasks.get(key)
        if running is None:
            running = asyncio.ensure_future(self._send(request, TASK_SECONDS))
            self._shared_tasks[key] = running
            running.add_done_callback(lambda _: self._shared_tasks.pop(key, None))
        response = await self._receive(task, study, asyncio.shield(running))
        return json.loads(response.body or b"null")

    async def run_query(
        self, study: int, query: str, arguments: dict[str, Any], known_revision: str | None = None
    ) -> WorkerResponse:
        """Run a query (see `duelist.server.worker.queries`) on all votes acknowledged before the call."""
        request = {"study": study, "task": query, "arguments": arguments, "known_revision": known_revision}
        response = await self._receive(query, study, self._send(request, QUERY_SECONDS))
        return (
            WorkerResponse(response.revision, None)
            if response.revision and response.revision == known_revision
            else response
        )

    async def _receive(self, task: str, study: int | None, pending: Awaitable[Message]) -> WorkerResponse:
        started_at = time.perf_counter()
        head, body = await pending
        self._metrics.worker_seconds.labels(task).observe(time.perf_counter() - started_at)
        if "error" in head:
            raise DuelistError.from_dict(head["error"])
        if "unexpected_error" in head:
            log_event("task failed", logging.ERROR, task=task, study=study, error=head["unexpected_error"])
            raise RuntimeError(head["unexpected_error"])
        return WorkerResponse(head["revision"], body)

    async def _send(self, request: dict[str, Any], seconds: float) -> Message:
        if self._in_process is not None:
            return await asyncio.to_thread(self._in_process, request)
        return await (await self._open_connection()).request(request, seconds)

    async def _open_connection(self) -> WorkerConnection:
        async with self._starting:
            if self._connection is None or not self._connection.is_alive:
                if self._url is None or self._is_closed or time.monotonic() - self._started_at < _RESTART_SECONDS:
                    raise stopped()
                self._started_at = time.monotonic()
                self._connection = await WorkerConnection.open(self._url)
            return self._connection

    async def close(self) -> None:
        """End the process."""
        self._is_closed = True
        async with self._starting:
            if self._connection is not None:
                await self._connection.close()
