"""Servers forked from a process that has already imported everything, so that killing a thousand of them is quick.

They are the servers that `duelist serve` runs; only the seconds of importing are missing from their start.
"""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from tests.helpers.server import wait_for

TOKEN: Final = "test_forked_servers_on_loopback_only"
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["duelist.cli", "duelist.server.run", "duelist.study.storage.sqlite", "duelist.study.storage.postgres",
     "psycopg", "uvicorn.lifespan.on", "uvicorn.protocols.http.auto", "tests.helpers.forked_server"]
)  # fmt: skip


@dataclass
class ForkedServer:
    """A server on a given port; it may not answer yet."""

    address: str
    process: ForkServerProcess
    log: Path

    def wait(self) -> None:
        """Wait until it answers."""
        assert self.process.is_alive(), self.log.read_text()[-2000:]
        wait_for(self.address)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def stop(self) -> None:
        """Stop it as systemd does."""
        self.process.terminate()
        self.process.join()


def fork_server(storage: str, log: Path, port: int) -> ForkedServer:
    process = _CONTEXT.Process(target=_serve, args=(storage, str(log), port))
    process.start()
    return ForkedServer(f"http://127.0.0.1:{port}", process, log)


def _serve(storage: str, log: str, port: int) -> None:
    from duelist.cli import app

    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["DUELIST_ADMIN_TOKEN"] = TOKEN
    app(["serve", "--storage", storage, "--port", str(port), "--log-level", "warning", "--rate-limit", "5000"])
