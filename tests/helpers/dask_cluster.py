"""A real Dask cluster for tests: a scheduler and workers, each a separate process, which can be killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 60.0
"""How long a test waits for something that should take a second or two."""


def wait_until(true, what: str, seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class DaskCluster:
    """Processes as a person would start them, with `dask scheduler` and `dask worker`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard")
        wait_until(self._answers, "the scheduler")

    def start_worker(self, *options: str) -> subprocess.Popen[bytes]:
        place = str(self._folder / "spill")
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", place, *options]
        worker = self._start("worker", self.address, *words)
        self.workers.append(worker)
        return worker

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def wait_for_workers(self, n: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(n, timeout=SECONDS)

    def __enter__(self) -> "DaskCluster":
        self.start_scheduler()
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, self.scheduler]:
            if process is not None and process.poll() is None:
                self.kill(process)

    def _answers(self) -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", self._port)) == 0

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{what}-{len(self.workers)}-{time.monotonic_ns()}.log"
        # Third-party classes (custom_parts) must be importable on the workers, too.
        path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
        with log.open("wb") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", what, *words],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path},
            )


def cells_in(folder: Path) -> dict[str, bytes]:
    """Every cell of a results folder, by its key."""
    return {path.stem: path.read_bytes() for path in sorted((folder / "cells").rglob("*.parquet"))}


def where_played(folder: Path) -> dict[str, str]:
    """By which process each cell was played."""
    records = (json.loads(path.read_text()) for path in (folder / "cells").rglob("*.json"))
    return {record["key"]: record["made"]["where"] for record in records}
