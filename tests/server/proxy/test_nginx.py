"""Two server processes on PostgreSQL behind nginx with the shipped configuration."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from duelist.server.hidden_names import HiddenNumbers
from duelist.study.administration.tokens import Scope, create_token
from tests.helpers import postgres
from tests.helpers.busy_server import free_port, make, rater_tokens
from tests.helpers.server import Running, start

SHIPPED = Path(__file__).parents[3] / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
HOST = "rate.example.org"
OPTIONS = ("--log-level", "warning", "--rate-limit", "10000", "--host-name", HOST)


@dataclass
class Site:
    """Two processes behind a proxy."""

    address: str
    trust: ssl.SSLContext
    servers: list[Running]

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Host": HOST} | ({"Authorization": f"Bearer {token}"} if token else {})
        return httpx.Client(base_url=self.address, headers=headers, verify=self.trust, timeout=60)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for the host in the configuration."""
    key, chain = folder / "site.key", folder / "site.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST},IP:127.0.0.1", "-keyout", key, "-out", chain],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, chain


@contextmanager
def proxy(folder: Path, servers: list[Running]) -> Iterator[tuple[str, Path]]:
    """nginx with the shipped configuration; only ports and certificate paths are replaced."""
    key, chain = certificate(folder)
    port = free_port()
    text = SHIPPED.read_text()
    changes = {
        "127.0.0.1:8765": servers[0].address.removeprefix("http://"),
        "127.0.0.1:8766": servers[1].address.removeprefix("http://"),
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{free_port()}",
        f"/etc/ssl/{HOST}.pem": str(chain),
        f"/etc/ssl/{HOST}.key": str(key),
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    temporary = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"{'user root;' if os.getuid() == 0 else ''} daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\ninclude {folder}/site.conf; }}\n"
    )
    process = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield f"https://127.0.0.1:{port}", chain
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "nginx has stopped"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("nginx does not answer")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres.own_server() as server, postgres.database(server) as url:
        yield url


@pytest.fixture
def site(database: str, tmp_path: Path) -> Iterator[Site]:
    servers = [start(database, tmp_path / f"{k}.log", *OPTIONS) for k in range(2)]
    try:
        with proxy(tmp_path, servers) as (address, chain):
            yield Site(address, ssl.create_default_context(cafile=str(chain)), servers)
    finally:
        for server in servers:
            if server.process.poll() is None:
                server.stop()


@pytest.fixture(scope="module")
def study(database: str):
    return make(database, 50, 8)


def test_pages_and_api_are_reachable(site: Site):
    with site.client() as anybody:
        assert anybody.get("/api/v1/health").status_code == 200
        page = anybody.get("/signin")
        assert page.status_code == 200
        assert "<main" in page.text
        assert anybody.get("/api/v1/studies").status_code == 401


@pytest.fixture(scope="module")
def admin(study) -> str:
    """An admin token of both processes."""
    return create_token(study._storage, Scope.ADMIN).secret


def test_large_uploads_pass_the_proxy(site: Site, admin: str):
    with site.client(admin) as owner:
        lines = "".join(f"arm {k},{'x' * 1000}\n" for k in range(20_000))  # 20 MB: nginx by itself takes one
        answer = owner.post("/api/v1/files/preview", files={"file": ("arms.csv", f"id,text\n{lines}")})
        assert answer.is_success, answer.text


def test_events_are_not_buffered(site: Site, study, admin: str):
    (token,) = rater_tokens(study, ["ana"]).values()
    with site.client(admin) as owner, site.client(token) as ana:
        came = threading.Event()

        def listen() -> None:
            with owner.stream("GET", f"/api/v1/studies/{study.id}/events") as answer:
                for line in answer.iter_lines():
                    if line.startswith("data:") and told.is_set():
                        came.set()
                        return

        told = threading.Event()
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        time.sleep(1.0)
        told.set()
        duel = ana.post(f"/api/v1/studies/{study.id}/ask", json={}).json()
        assert ana.post(f"/api/v1/studies/{study.id}/votes", json={"duel": duel["id"], "outcome": "first"}).is_success
        assert came.wait(30)


def test_killing_a_process_loses_no_vote(site: Site, study):
    """The proxy repeats failed requests at the other process."""
    names = [f"rater {k}" for k in range(6)]
    tokens = rater_tokens(study, names)
    before = len(study.votes())
    told: list[tuple[int, str, str]] = []
    refused: list[str] = []
    over = threading.Event()

    def rate(name: str, token: str) -> None:
        with site.client(token) as client:
            while not over.is_set():
                duel = client.post(f"/api/v1/studies/{study.id}/ask", json={})
                if not duel.is_success:
                    refused.append(f"ask {duel.status_code} {duel.text[:200]}")
                    continue
                vote = {"duel": duel.json()["id"], "outcome": "second"}
                answer = client.post(f"/api/v1/studies/{study.id}/votes", json=vote)
                (told if answer.is_success else refused).append((vote["duel"], name, answer.text[:200]))

    threads = [threading.Thread(target=rate, args=each) for each in tokens.items()]
    for thread in threads:
        thread.start()
    time.sleep(2.0)
    site.servers[0].kill()
    time.sleep(3.0)
    over.set()
    for thread in threads:
        thread.join()
    assert refused == []
    log = study.votes()[before:]
    numbers = HiddenNumbers(study._storage.secret())
    shown = [(numbers.hide(study.id, vote.duel_id), vote.rater) for vote in log]
    assert sorted(shown) == sorted((duel, name) for duel, name, _ in told)
