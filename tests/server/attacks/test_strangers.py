"""Attacks found by writing a client from the documentation alone: other sites, slow downloads, headers, large content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from duelist.server.content import ContentRenderer
from tests.helpers.server import Running
from tests.server.attacks.conftest import Attacked
from tests.server.conftest import checked, refused, token_of


def resident_bytes(process: int) -> int:
    """Return the memory of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def test_slow_downloads_take_no_memory(attacked: Attacked) -> None:
    """Thirty raters who did not read a video of 60 MB took 1 GB, and others waited 9 s."""
    size, clients = 32 * 2**20, 24
    with attacked.server.client() as admin:
        video = {"file": ("v.mp4", bytes(size))}
        checked(admin.post(f"{attacked.study}/files", files=video))
        arms = checked(admin.get(f"{attacked.study}/arms", params={"search": "v.mp4"}))["arms"]
        source = arms[0]["content"][0]["src"]
        checked(admin.post(f"{attacked.study}/arms/retire", json={"ids": [arms[0]["id"]]}))
    head = f"GET {source} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {attacked.rater}\r\n\r\n"
    whole = httpx.get(
        attacked.server.address + source, headers={"Authorization": f"Bearer {attacked.rater}"}, timeout=60
    )
    assert len(whole.content) == size
    before = resident_bytes(attacked.server.process.pid)
    slow = [attacked.connect() for _ in range(clients)]
    try:
        for connection in slow:
            connection.sendall(head.encode())
        for connection in slow:
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert resident_bytes(attacked.server.process.pid) - before < clients * size / 4
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "null", "http://127.0.0.1.evil.example"]
)
def test_other_sites_cannot_sign_anybody_in(server: Running, admin: httpx.Client, study: str, origin: str) -> None:
    """Neither as the attacker, whose study the visitor would then fill, nor as a new rater."""
    checked(admin.patch(study, json={"settings": {"open_registration": True}}))
    with server.stranger() as browser:
        for path, body in (("/session", {"token": server.token}), (f"{study}/register", {"name": origin})):
            answer = browser.post(path, json=body, headers={"Origin": origin})
            refused(answer, 403, "csrf")
            assert "set-cookie" not in answer.headers
            plain = browser.post(path, content=json.dumps(body), headers={"Content-Type": "text/plain"})
            assert plain.status_code == 422, "a form of another site can send it without asking the server first"
        checked(browser.post("/session", json={"token": server.token}, headers={"Origin": server.address}))


@pytest.mark.parametrize(
    "host", ["evil@127.0.0.1", "evil.example/@127.0.0.1", "127.0.0.1:80@x", "127.0.0.1#", "[", "a b", ""]
)
def test_the_host_header_is_a_name_and_nothing_else(attacked: Attacked, host: str) -> None:
    """Links for raters begin with it where the server has no public address."""
    answer = httpx.get(f"{attacked.server.address}/api/v1/health", headers={"Host": host})
    assert answer.status_code == 400


def test_a_content_type_that_is_not_ascii_is_an_error_of_the_client(attacked: Attacked) -> None:
    headers = {b"Authorization": b"Bearer " + attacked.server.token.encode(), b"Content-Type": b"\xff\xfe/\xe9"}
    url = f"{attacked.server.address}/api/v1"
    for path in ("/files/preview", f"{attacked.study}/arms", "/studies", "/session"):
        answer = httpx.post(url + path, headers=headers, content=b"{}")
        assert answer.status_code in (415, 422), (path, answer.text)


def test_payloads_have_a_limit(admin: httpx.Client, make: Callable[..., str]) -> None:
    """A file of 390 kB became one item of 400 MB, which every rater would have been sent."""
    study = make(0)
    packed = gzip.compress(b'"' + b"x" * 30_000_000 + b'"')
    refused(admin.post(f"{study}/files", files={"file": ("x.jsonl.gz", packed)}), 422, "invalid_input")
    arms = [{"id": "a", "payload": "x" * 5_000_000}]
    refused(admin.post(f"{study}/arms", json={"arms": arms}), 422, "invalid_input")


def test_a_table_of_all_pairs_has_a_limit(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    """4,000 items took two minutes and a gigabyte, for anybody who may read one study."""
    study = make(0)
    for first in (0, 600):
        checked(admin.post(f"{study}/arms", json={"arms": [{"id": f"a{k}"} for k in range(first, first + 600)]}))
    duel = checked(admin.post(f"{study}/ask", json={"rater": "ana"}))["id"]
    checked(admin.post(f"{study}/votes", json={"duel": duel, "rater": "ana", "outcome": "first"}))
    with server.client(token_of(admin, study, "reader")) as reader:
        error = refused(reader.get(f"{study}/win-chances", params={"top": 100_000}), 422, "invalid_input")
        assert error["field"] == "top"
        assert len(checked(reader.get(f"{study}/win-chances", params={"top": 5}))["arms"]) == 5


def test_the_fastest_answers_do_not_tell_what_exists(server: Running, admin: httpx.Client, study: str) -> None:
    """A stranger gets the same answer for studies and tokens that exist and those that do not."""
    with server.stranger() as stranger:
        one, other = stranger.get(study), stranger.get("/studies/123456789")
        assert (one.status_code, one.json()) == (other.status_code, other.json())
        tokens = [
            stranger.get(study, headers={"Authorization": f"Bearer {word}"}) for word in ("x", "duelist_" + "x" * 43)
        ]
        assert tokens[0].json() == tokens[1].json()
    with server.client(token_of(admin, study, "rater", rater="eve")) as eve:
        answers = [eve.get(f"/studies/{number}/me") for number in (1, 123456789)]
        assert answers[0].json() == answers[1].json()
        assert answers[0].status_code == 403


def test_a_classroom_behind_one_address_enters_at_once(
    server: Running, admin: httpx.Client, make: Callable[..., str]
) -> None:
    """Opening the page counted as registering, so half of a class of 50 had to wait."""
    study = make(open_registration=True)
    with server.stranger() as classroom:
        statuses = [classroom.post(f"{study}/entry", json={}).status_code for _ in range(100)]
    assert set(statuses) == {200}


def test_pictures_in_a_text_are_looked_up_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name in Markdown was looked up in the media folder, 300,000 in one item, while raters of all studies waited."""
    renderer = ContentRenderer(1, "markdown")
    asked: list[str] = []
    monkeypatch.setattr(renderer, "address_of", lambda name: asked.append(name))
    (block,) = renderer.render({"markdown": "![](none.png) " * 1000})
    assert block["text"].count("none.png") == 1000
    assert len(asked) == 50
