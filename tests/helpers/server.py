"""A server as people run it: `duelist serve` in a separate process, on a free port of this machine."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 60.0


@dataclass
class Running:
    """A server that runs."""

    address: str
    token: str
    process: subprocess.Popen[str]
    log: Path

    def client(self, token: str | None = None, **more: Any) -> httpx.Client:
        """For programs: with the admin's token, or another."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=PATIENCE, **more)

    def stranger(self) -> httpx.Client:
        """A client without a token."""
        return httpx.Client(base_url=f"{self.address}/api/v1", timeout=PATIENCE)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        close(self.process)

    def stop(self) -> int:
        """Stop it as systemd does; its exit status."""
        self.process.terminate()
        status = self.process.wait(PATIENCE)
        close(self.process)
        return status


def close(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()


def start(storage: str, log: Path, *options: str, port: int = 0) -> Running:
    """A server that answers."""
    token = f"test_{secrets.token_urlsafe(24)}"
    environment = {**os.environ, "DUELIST_ADMIN_TOKEN": token, "DUELIST_STORAGE": storage}
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "duelist.cli", "serve", "--port", str(port), *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("Serving http"):
        process.kill()
        process.wait()
        close(process)
        raise AssertionError(f"the server did not start: {line}{log.read_text()}")
    running = Running(line.split()[1].rstrip("."), token, process, log)
    wait_for(running.address)
    return running


def wait_for(address: str) -> None:
    """Until it answers."""
    give_up = time.monotonic() + PATIENCE
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        while True:
            try:
                if client.get("/api/v1/health").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if time.monotonic() > give_up:
                raise AssertionError(f"{address} does not answer")
            time.sleep(0.02)


@contextmanager
def running(storage: str, folder: Path, *options: str) -> Iterator[Running]:
    """A server for as long as the block lasts."""
    server = start(storage, folder / "server.log", *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
