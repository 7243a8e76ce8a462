"""A server under attack, and what must hold after every attack (`make attack`).

`attacked` is a real server process with a study that has votes, a rater and a reader. After each test the server must
still serve analyses and raters, without an unexpected error in its log.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.helpers.server import Running, running
from tests.server.conftest import checked, token_of


@dataclass
class Attacked:
    """A server, a study on it, and the tokens of its people."""

    server: Running
    study: str
    rater: str
    reader: str
    temporary: Path
    """The folder for temporary files of the server."""

    @property
    def host(self) -> tuple[str, int]:
        parts = urlsplit(self.server.address)
        return str(parts.hostname), int(parts.port or 80)

    def connect(self, timeout: float = 30.0) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(self.host, timeout=timeout)

    def log_lines(self) -> list[str]:
        return self.server.log.read_text().splitlines()

    def metric_lines(self) -> list[str]:
        headers = {"Authorization": f"Bearer {self.server.token}"}
        answer = httpx.get(f"{self.server.address}/metrics", headers=headers, timeout=30)
        assert answer.status_code == 200
        return answer.text.splitlines()

    def temporary_folders(self) -> set[Path]:
        """Return the folders of requests that exist now."""
        return set(self.temporary.glob("duelist-*"))

    def check_health(self) -> None:
        """The server answers a stranger, a reader and a rater."""
        with self.server.stranger() as stranger:
            assert checked(stranger.get("/health"))["status"] == "ok"
        with self.server.client(self.reader) as reader:
            assert checked(reader.get(f"{self.study}/leaderboard"))["n_arms"] > 0
        with self.server.client(self.rater) as rater:
            duel = checked(rater.post(f"{self.study}/ask", json={}))
            checked(rater.post(f"{self.study}/votes", json={"duel": duel["id"], "outcome": "first"}))


def receive_all(connection: socket.socket) -> bytes:
    """Receive until the server closes the connection."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def wait_until(holds: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def attack(folder: Path, *options: str) -> Iterator[Attacked]:
    """Start a server with temporary files of its own, and create a study with a few votes."""
    temporary = folder / "temporary"
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        with running(f"sqlite:///{folder / 's.db'}", folder, "--rate-limit", "10000", *options) as server:
            yield _prepare(server, temporary)


def _prepare(server: Running, temporary: Path) -> Attacked:
    with server.client() as admin:
        study = f"/studies/{checked(admin.post('/studies', json={'name': 'attacked'}), 201)['id']}"
        arms = [{"id": f"a{k}", "payload": f"text {k}"} for k in range(60)]
        checked(admin.post(f"{study}/arms", json={"arms": arms}))
        for k in range(6):
            duel = checked(admin.post(f"{study}/ask", json={"rater": "ben"}))["id"]
            checked(
                admin.post(f"{study}/votes", json={"duel": duel, "outcome": ("first", "tie")[k % 2], "rater": "ben"})
            )
        rater, reader = token_of(admin, study, "rater", rater="ana"), token_of(admin, study, "reader")
    return Attacked(server, study, rater, reader, temporary)


@pytest.fixture(scope="module")
def attacked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attack(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.fixture
def attacked(attacked_server: Attacked) -> Iterator[Attacked]:
    """Check after the attack that the server works and logged no unexpected error."""
    before = len(attacked_server.log_lines())
    yield attacked_server
    attacked_server.check_health()
    check_log(attacked_server.log_lines()[before:])


def check_log(lines: list[str], *expected: str) -> None:
    """Every line is JSON, and none is an error; `expected` are events that an attack may cause."""
    for line in lines:
        assert line.startswith("{"), line
        entry = json.loads(line)
        assert "traceback" not in entry, line
        assert entry["level"] in ("debug", "info", "warning") or entry["event"] in expected, line
