"""A server in a process of its own, spoken to as programs do, and the study behind it, read from its file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duelist as dl
from duelist.study import Study

TOKEN = "an admin's token for the tests of pages, 0123456789"
START_SECONDS = 30.0


@dataclass
class Server:
    """`duelist serve` on a free port of loopback, with a storage of its own."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def storage(self) -> str:
        return f"sqlite:///{self.folder / 'studies.db'}"

    def call(self, method: str, path: str, body: Any = None, token: str = TOKEN) -> Any:
        """The JSON that the API answers to a program."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def study(self, name: str) -> Study:
        """The study itself, opened beside the server."""
        return dl.load_study(name, self.storage)

    def make(self, name: str, arms: list[dict[str, Any]], goal: str = "best", **settings: Any) -> int:
        """A study with arms; its number."""
        made = self.call("POST", "/studies", {"name": name, "goal": goal, "settings": settings})
        self.call("POST", f"/studies/{made['id']}/arms", {"arms": arms})
        return int(made["id"])

    def link(self, study: int, rater: str) -> str:
        """The address that a rater opens."""
        links = self.call("POST", f"/studies/{study}/links", {"raters": [rater]})["links"]
        address = str(links[0]["url"])
        return address if address.startswith("http") else self.url + address


def start(folder: Path) -> Server:
    """A server that answers, on a port of its own choice: two that start at once cannot choose the same."""
    command = [sys.executable, "-m", "duelist.cli", "serve", "--port", "0"]
    storage = f"sqlite:///{folder / 'studies.db'}"
    environment = {**os.environ, "DUELIST_ADMIN_TOKEN": TOKEN, "DUELIST_STORAGE": storage, "PYTHONUNBUFFERED": "1"}
    log = folder / "server.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, env=environment, stdout=written, stderr=subprocess.STDOUT)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        said = re.search(r"^duelist serves (http://\S+?);", log.read_text(encoding="utf-8"), re.MULTILINE)
        if said is not None:
            server = Server(said[1], folder, process)
            try:
                server.call("GET", "/health")
                return server
            except (urllib.error.URLError, ConnectionError):
                pass
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")


def stop(server: Server) -> None:
    server.process.terminate()
    server.process.wait(timeout=20)
