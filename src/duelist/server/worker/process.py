"""The worker process, which the server starts with `python -m duelist.server.worker.process`.

A separate process of low priority keeps long queries from delaying raters. It reads requests from its input and writes responses to
its output, in the format of `duelist.server.worker.messages`. The process ends with its input, and so with the server.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from duelist.core.errors import DuelistError, InvalidInput
from duelist.server.content import replace_surrogates
from duelist.server.monitoring.logs import log_event, log_to_stderr
from duelist.server.worker import messages
from duelist.server.worker.fair_threads import FairThreads
from duelist.server.worker.queries import UNCACHED, run_query
from duelist.server.worker.tasks import TASKS
from duelist.study import Storage, Study, load_study_by_id, open_storage

THREADS: Final = 8
"""Enough that long tasks, and requests waiting for the same query, do not block others."""
_MAX_CACHED: Final = 256
_MAX_CACHED_BYTES: Final = 64 * 2**20
_NICENESS: Final = 10
_OUT_OF_MEMORY: Final = InvalidInput(
    "This needs more memory than the server has.", "Ask for less at a time.", code="too_large"
)


class RequestHandler:
    """Handles requests, and caches results of queries until their study changes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._studies: dict[int, Study] = {}
        self._cache: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._running: dict[tuple[str, str], Future[bytes]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return the head and the body of the response."""
        try:
            revision, body = self._respond(request)
        except DuelistError as error:
            return {"error": error.to_dict()}, b""
        except MemoryError:
            return {"error": _OUT_OF_MEMORY.to_dict()}, b""
        except Exception as error:  # noqa: BLE001  (the error is sent to the client)
            return {"unexpected_error": f"{type(error).__name__}: {error}"}, b""
        return {"revision": revision}, body

    def _respond(self, request: dict[str, Any]) -> tuple[str, bytes]:
        name, arguments = request["task"], request["arguments"]
        if name in TASKS:
            study = None if request["study"] is None else self._study(request["study"])
            return "", _encoded(TASKS[name](self._storage, study, arguments))
        study = self._study(request["study"])
        key = json.dumps([request["study"], name, arguments], sort_keys=True)
        revision = "-".join(map(str, study.revision()))
        if name in UNCACHED:
            return "", _encoded(run_query(study, name, arguments))
        if request.get("known_revision") == revision:
            return revision, b""
        return revision, self._run_once(key, revision, lambda: _encoded(run_query(study, name, arguments)))

    def _run_once(self, key: str, revision: str, run: Callable[[], bytes]) -> bytes:
        """Return the result for this revision or a later one; concurrent equal queries run once."""
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None and cached[0] == revision:
                return cached[1]
            other = self._running.get((key, revision))
            if other is None:
                own = self._running[key, revision] = Future()
        if other is not None:
            return other.result()
        try:
            body = run()
            self._store(key, (revision, body))
            own.set_result(body)
            return body
        except BaseException as error:
            own.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running[key, revision]

    def _study(self, study_id: int) -> Study:
        with self._lock:
            found = self._studies.get(study_id)
        if found is None:
            found = load_study_by_id(study_id, self._storage)
            with self._lock:
                found = self._studies.setdefault(study_id, found)
        return found

    def _store(self, key: str, found: tuple[str, bytes]) -> None:
        with self._lock:
            self._cache[key] = found
            self._cache.move_to_end(key)
            while (
                len(self._cache) > _MAX_CACHED or sum(len(body) for _, body in self._cache.values()) > _MAX_CACHED_BYTES
            ):
                self._cache.popitem(last=False)


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return _encoded(replace_surrogates(value))


def serve(requests: IO[bytes], responses: IO[bytes]) -> None:
    """Respond until the input ends. Its first message has the storage URL, which may contain a password."""
    opening = messages.read(requests)
    if opening is None:
        return
    handler, lock = RequestHandler(open_storage(opening[0]["storage"], create=False)), threading.Lock()

    def send(message: bytes) -> None:
        with lock:
            responses.write(message)
            responses.flush()

    def respond(request: dict[str, Any]) -> None:
        try:
            send(messages.encode({"id": request["id"], messages.BEGUN: True}))
            send(_message(request["id"], *handler(request)))
        except BaseException:  # noqa: BLE001  (without an output it cannot report errors: the server starts another worker)
            os._exit(1)

    threads = FairThreads(THREADS)
    while (message := messages.read(requests)) is not None:
        request, _ = message
        if request["task"] == "heartbeat":
            send(messages.encode({"id": request["id"]}))
        else:
            threads.submit(request["study"], partial(respond, request))


def _message(number: int, head: dict[str, Any], body: bytes) -> bytes:
    """Return the message of a response, or that of an error if it is too large."""
    try:
        return messages.encode({"id": number, **head}, body)
    except messages.MessageTooLarge:
        limit = messages.MAX_BODY_BYTES
        error = InvalidInput(
            f"The result has more than {limit} bytes.",
            "Ask for fewer items with `top`.",
            code="invalid_input.result_size",
        )
        return messages.encode({"id": number, "error": error.to_dict()})


def _limit_memory() -> None:
    """Let this process have half of the machine's memory, and let the kernel end it before the server if memory runs out."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (half if hard == resource.RLIM_INFINITY else min(half, hard), hard))
    with contextlib.suppress(OSError):  # only Linux has it
        Path("/proc/self/oom_score_adj").write_text("1000")


def main() -> None:
    """Run the worker."""
    os.nice(_NICENESS)
    _limit_memory()
    log_to_stderr()
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # the server has gone
    except Exception as error:  # noqa: BLE001  (the log gets one line; the server starts another worker)
        log_event("worker failed", logging.ERROR, error=f"{type(error).__name__}: {error}")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
