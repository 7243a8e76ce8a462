"""A running worker process, the requests that wait for it, and the check that it responds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import sys
import time
from collections import Counter
from typing import Any, Final

from duelist.server.errors import RequestError
from duelist.server.monitoring.logs import log_event
from duelist.server.worker import messages
from duelist.server.worker.messages import Message

MAX_WAITING: Final = 256
"""Requests that may wait for the worker at a time; further ones are rejected."""
MAX_WAITING_PER_STUDY: Final = 128
"""Requests about one study that may wait at a time, so that others can always be made."""
START_SECONDS: Final = 120.0
"""Seconds that a worker has to start: it imports much, on a machine that may be busy."""
HEARTBEAT_SECONDS: Final = 5.0
"""Seconds between two checks that the worker responds."""
DOWN_SECONDS: Final = 15.0
"""Seconds of silence after which the worker counts as down."""
KILL_SECONDS: Final = 30.0
"""Seconds of silence after which the worker is killed, and so restarted."""
_HEARTBEAT: Final = "heartbeat"
_CLOSE_SECONDS: Final = 2.0
_SINGLE_THREADED: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Queries are many small problems in several threads, which multithreaded linear algebra slows down."""


class WorkerConnection:
    """A worker process and the requests that wait for it. It ends once, with all of them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._waiting_by_study = Counter[int | None]()
        self._began: dict[int, float] = {}
        """When the worker began with a request that still waits."""
        self._heard_at = time.monotonic()
        self._has_started = False
        self._ended = asyncio.Event()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._check_heartbeat())]

    @classmethod
    async def open(cls, storage_url: str) -> WorkerConnection:
        """Start a worker process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "duelist.server.worker.process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**_SINGLE_THREADED, **os.environ},
            start_new_session=True,  # Ctrl-C goes to the server, which then closes the worker's input
        )
        connection = cls(process)
        await connection._write({"storage": storage_url})
        return connection

    @property
    def is_alive(self) -> bool:
        """Whether the process runs and its responses are read."""
        return not self._ended.is_set() and self._process.returncode is None

    @property
    def is_responding(self) -> bool:
        """Whether the process is alive and has responded lately, or is starting."""
        limit = DOWN_SECONDS if self._has_started else START_SECONDS
        return self.is_alive and time.monotonic() - self._heard_at < limit

    async def request(self, request: dict[str, Any], seconds: float) -> Message:
        """Send a request and return the response.

        A worker is killed if a request has been running, rather than waiting for others, for half of its time.
        """
        study, is_heartbeat = request.get("study"), request["task"] == _HEARTBEAT
        is_full = len(self._waiting) >= MAX_WAITING or self._waiting_by_study[study] >= MAX_WAITING_PER_STUDY
        if is_full and not is_heartbeat:
            raise RequestError(
                503,
                "busy",
                "The background worker has too many requests to do.",
                "Try again later.",
                headers={"Retry-After": "5"},
            )
        number = next(self._numbers)
        response: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = response
        self._waiting_by_study[study] += 1
        try:
            async with asyncio.timeout(seconds):
                await self._write({"id": number, **request})
                return await response
        except TimeoutError:
            log_event("worker timed out", logging.WARNING, task=request["task"], seconds=seconds)
            if is_heartbeat or time.monotonic() - self._began.get(number, math.inf) > seconds / 2:
                self.kill()
            raise RequestError(
                503, "timeout", f"This took longer than {seconds:.0f} s.", "Try again, or ask for less at a time."
            ) from None
        finally:
            self._waiting.pop(number, None)
            self._began.pop(number, None)
            self._waiting_by_study -= Counter([study])  # without those that have none left

    async def _write(self, head: dict[str, Any]) -> None:
        stream = self._process.stdin
        if stream is None or not self.is_alive:
            raise stopped()
        try:
            stream.write(messages.encode(head))
            await stream.drain()
        except messages.MessageTooLarge as error:
            raise RequestError(413, "too_large", "The request is too large.", "Send less at a time.") from error
        except ConnectionError as error:
            raise stopped() from error

    async def _listen(self) -> None:
        """Hand responses to those who wait; at the end, or at any error, fail them and end the process."""
        try:
            if self._process.stdout is not None:
                while (message := await messages.receive(self._process.stdout)) is not None:
                    self._heard_at = time.monotonic()
                    number = message[0].pop("id")
                    if messages.BEGUN in message[0]:
                        if number in self._waiting:
                            self._began[number] = self._heard_at
                        continue
                    response = self._waiting.pop(number, None)
                    if response is not None and not response.done():
                        response.set_result(message)
        except Exception as error:  # noqa: BLE001  (after any error, waiting callers must be released)
            log_event("reading from the worker failed", logging.ERROR, error=f"{type(error).__name__}: {error}")
        finally:
            self._ended.set()
            self.kill()
            for response in self._waiting.values():
                if not response.done():
                    response.set_exception(stopped())
        await self._process.wait()
        log_event("worker stopped", returncode=self._process.returncode)

    async def _check_heartbeat(self) -> None:
        """Ping the worker regularly, and kill it if it does not reply."""
        with contextlib.suppress(RequestError):
            await self.request({"task": _HEARTBEAT}, START_SECONDS)
        self._has_started = True
        while self.is_alive:
            with contextlib.suppress(RequestError):
                await self.request({"task": _HEARTBEAT}, KILL_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), HEARTBEAT_SECONDS)

    def kill(self) -> None:
        """Kill the process; `_listen` then fails all waiting requests."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                self._process.kill()

    async def close(self) -> None:
        """End the process: close its input, and kill it if it does not end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _CLOSE_SECONDS)
        self.kill()
        await self._process.wait()
        self._ended.set()
        await asyncio.gather(*self._tasks)


def stopped() -> RequestError:
    """Return the error for a request whose worker has stopped."""
    return RequestError(
        503,
        "stopping",
        "The background worker has stopped.",
        "Try again; it is restarted.",
        headers={"Retry-After": "1"},
    )
