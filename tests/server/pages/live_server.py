"""`duelist serve` in a separate process, with methods to call its API and to open its storage."""

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

from duelist.study import Study
from tests.helpers.local_study import load_local_study

TOKEN = "an admin token for the tests of the pages, 0123456789"
START_SECONDS = 30.0


@dataclass
class Server:
    """A running server on a free port of the loopback interface, with an SQLite storage in `folder`."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def storage(self) -> str:
        return f"sqlite:///{self.folder / 'studies.db'}"

    def call(self, method: str, path: str, body: Any = None, token: str = TOKEN) -> Any:
        """Send a request to the API and return the JSON of its response."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def load_study(self, name: str) -> Study:
        """Open a study directly in the storage, beside the server."""
        return load_local_study(name, self.storage)

    def create_study(self, name: str, arms: list[dict[str, Any]], goal: str = "best", **settings: Any) -> int:
        """Create a study with arms through the API and return its id."""
        made = self.call("POST", "/studies", {"name": name, "goal": goal, "settings": settings})
        self.call("POST", f"/studies/{made['id']}/arms", {"arms": arms})
        return int(made["id"])

    def rater_link(self, study: int, rater: str) -> str:
        """Create a personal link for a rater."""
        links = self.call("POST", f"/studies/{study}/links", {"raters": [rater]})["links"]
        address = str(links[0]["url"])
        return address if address.startswith("http") else self.url + address


def start_server(folder: Path, *options: str) -> Server:
    """Start a server and wait until it responds. It chooses its port, so that two servers never collide."""
    command = [sys.executable, "-m", "duelist.cli", "serve", "--port", "0", *options]
    storage = f"sqlite:///{folder / 'studies.db'}"
    environment = {**os.environ, "DUELIST_ADMIN_TOKEN": TOKEN, "DUELIST_STORAGE": storage, "PYTHONUNBUFFERED": "1"}
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        address = re.search(r"http://127\.0\.0\.1:\d+(?=\D)", log.read_text(encoding="utf-8"))
        if address is not None:
            server = Server(address[0], folder, process)
            try:
                server.call("GET", "/health")
                return server
            except (urllib.error.URLError, ConnectionError):
                pass
        time.sleep(0.1)
    raise RuntimeError(f"The server did not start:\n{log.read_text(encoding='utf-8')}")


def stop_server(server: Server) -> None:
    server.process.terminate()
    server.process.wait(timeout=20)
