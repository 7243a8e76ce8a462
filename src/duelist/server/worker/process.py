"""The back office: a process for whatever takes long, readings above all; `python -m duelist.server.worker.process`, started by the server.

It has its own interpreter and a low priority, so that nothing it does, however long it takes, holds up a rater. The server writes requests
to its input, a line of JSON each; an answer is a line of JSON and the bytes it announces. When the input ends, so does the process: it
cannot outlive its server.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, Final

from duelist.core.errors import DuelistError
from duelist.server.content import readable
from duelist.server.worker.readings import BY_THE_CLOCK, make_reading
from duelist.server.worker.tasks import TASKS
from duelist.study import Storage, Study, load_study_by_id, open_storage

THREADS: Final = 8
"""What takes very long, and whoever waits for a reading that another is making, does not keep the rest waiting."""
_KEPT: Final = 256
_KEPT_BYTES: Final = 64 * 2**20
_NICENESS: Final = 10


class RequestHandler:
    """Makes readings, and keeps the last ones as long as nothing has changed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._studies: dict[int, Study] = {}
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._under_way: dict[tuple[str, str], Future[bytes]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The head and the body of an answer."""
        try:
            stamp, body = self._answer(request)
        except DuelistError as error:
            return {"error": error.to_dict()}, b""
        except Exception as error:  # noqa: BLE001  (whoever asked is told, and the process goes on)
            return {"failed": f"{type(error).__name__}: {error}"}, b""
        return {"stamp": stamp}, body

    def _answer(self, request: dict[str, Any]) -> tuple[str, bytes]:
        name, given = request["task"], request["given"]
        if name in TASKS:
            study = None if request["study"] is None else self._study(request["study"])
            return "", _encoded(TASKS[name](self._storage, study, given))
        study = self._study(request["study"])
        key = json.dumps([request["study"], name, given], sort_keys=True)
        stamp = "-".join(map(str, study.revision()))
        if name in BY_THE_CLOCK:
            return "", _encoded(make_reading(study, name, given))
        if request.get("have") == stamp:
            return stamp, b""
        return stamp, self._made_once(key, stamp, lambda: _encoded(make_reading(study, name, given)))

    def _made_once(self, key: str, stamp: str, make: Callable[[], bytes]) -> bytes:
        """A reading of the study as it was at this stamp, or later; made once, however many want it at the same time."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            others = self._under_way.get((key, stamp))
            if others is None:
                mine = self._under_way[key, stamp] = Future()
        if others is not None:
            return others.result()
        try:
            body = make()
            self._keep(key, (stamp, body))
            mine.set_result(body)
            return body
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key, stamp]

    def _study(self, study_id: int) -> Study:
        with self._lock:
            found = self._studies.get(study_id)
        if found is None:
            found = load_study_by_id(study_id, self._storage)
            with self._lock:
                found = self._studies.setdefault(study_id, found)
        return found

    def _keep(self, key: str, found: tuple[str, bytes]) -> None:
        with self._lock:
            self._kept[key] = found
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT or sum(len(body) for _, body in self._kept.values()) > _KEPT_BYTES:
                self._kept.popitem(last=False)


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return _encoded(readable(value))


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the input ends. The first line names the storage, which may have a password in it: not for everybody's eyes."""
    storage = open_storage(json.loads(requests.readline())["storage"], create=False)
    make, lock = RequestHandler(storage), threading.Lock()

    def answer(request: dict[str, Any]) -> None:
        head, body = make(request)
        line = json.dumps({"id": request["id"], "length": len(body), **head}).encode() + b"\n"
        with lock:
            answers.write(line + body)
            answers.flush()

    with ThreadPoolExecutor(THREADS) as threads:
        for line in requests:
            threads.submit(answer, json.loads(line))


def main() -> None:
    """Run as a process of its own."""
    os.nice(_NICENESS)
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # the server is gone; nobody waits for what is under way
    os._exit(0)


if __name__ == "__main__":
    main()
