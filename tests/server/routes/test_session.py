"""Sessions of browsers, registration, limits and security headers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.helpers.server import Running, running, start
from tests.server.conftest import checked, refused, token_of


def number_of(study: str) -> int:
    return int(study.rsplit("/", 1)[1])


def test_owner_and_rater_sessions_coexist(server: Running, admin: httpx.Client, study: str) -> None:
    rater = token_of(admin, study, "rater", rater="ana")
    with server.stranger() as browser:
        owner = checked(browser.post("/session", json={"token": server.token}))
        rating = checked(browser.post("/session", json={"token": rater}))
        assert (owner["scope"], owner["study"], rating["scope"], rating["rater"]) == ("admin", None, "rater", "ana")
        assert checked(browser.get("/session"))["scope"] == "admin"
        again = checked(browser.get("/session", params={"study": number_of(study)}))
        assert again == rating, "after a reload the page knows who it is, and the value to send"
        duel = checked(browser.post(f"{study}/ask", json={}, headers={"X-Duelist-CSRF": rating["csrf"]}))
        assert set(duel["first"]) == {"content"}, "a rater's cookie goes before an owner's"
        checked(browser.get(f"{study}/leaderboard"))
        checked(browser.delete("/session"), 204)
        refused(browser.get(f"{study}/leaderboard"), 401, "not_signed_in")
        checked(browser.delete("/session", params={"study": number_of(study)}), 204)
        refused(browser.get(f"{study}/me"), 401, "not_signed_in")


def test_cookies_are_http_only_and_same_site(server: Running) -> None:
    with server.stranger() as browser:
        cookie = browser.post("/session", json={"token": server.token}).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie


def test_cookies_are_secure_behind_https(tmp_path: Path) -> None:
    with (
        running(f"sqlite:///{tmp_path / 's.db'}", tmp_path, "--public-url", "https://rate.example.org") as server,
        server.stranger() as browser,
    ):
        assert "secure" in browser.post("/session", json={"token": server.token}).headers["set-cookie"].lower()
        named = browser.get("/health", headers={"Host": "rate.example.org"})
        assert named.status_code == 200
        refused(browser.get("/health", headers={"Host": "evil.example.org"}), 400, "malformed")


def test_anyone_registers_in_an_open_study(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make()
    with server.stranger() as browser:
        refused(browser.post(f"{study}/register", json={"name": "ana"}), 403, "not_allowed")
        checked(admin.patch(study, json={"settings": {"open_registration": True}}))
        session = checked(browser.post(f"{study}/register", json={"name": "ana"}))
        assert (session["rater"], session["scope"], session["study"]) == ("ana", "rater", number_of(study))
        checked(browser.post(f"{study}/ask", json={}, headers={"X-Duelist-CSRF": session["csrf"]}))
    with server.stranger() as other:
        refused(other.post(f"{study}/register", json={"name": "ana"}), 409, "name_taken")
        assert checked(other.post(f"{study}/register", json={}))["rater"].startswith("rater ")


def test_concurrent_registrations_never_share_a_name(
    server: Running, admin: httpx.Client, make: Callable[..., str]
) -> None:
    study = make()
    checked(admin.patch(study, json={"settings": {"open_registration": True}}))
    together = threading.Barrier(4)

    def register(name: str) -> int:
        with server.stranger() as browser:
            together.wait()
            return browser.post(f"{study}/register", json={"name": name}).status_code

    with ThreadPoolExecutor(4) as people:
        for round_ in range(6):
            answers = sorted(people.map(register, [f"ana {round_}"] * 4))
            assert answers in ([200, 409, 409, 409], [409] * 4)


def test_failed_sign_ins_are_rate_limited(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path) as server, server.stranger() as browser:
        answers = [browser.post("/session", json={"token": f"duelist_{k}"}).status_code for k in range(12)]
        assert answers == [401] * 10 + [429] * 2
        late = browser.post("/session", json={"token": "duelist_late"})
        refused(late, 429, "too_many_requests")
        assert int(late.headers["retry-after"]) > 0
        checked(browser.post("/session", json={"token": server.token}))


def test_requests_are_rate_limited_per_token(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path, "--rate-limit", "2") as server, server.client() as client:
        answers = [client.get("/choices").status_code for _ in range(25)]
        assert answers[:20] == [200] * 20
        assert answers[-1] == 429


def test_every_response_has_security_headers(server: Running, admin: httpx.Client) -> None:
    for path in ("/api/v1/health", "/api/v1/studies", "/signin", "/nothing", "/rate/1"):
        answer = httpx.get(server.address + path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_large_body_is_rejected(server: Running, admin: httpx.Client, study: str) -> None:
    body = {"duel": 1, "outcome": "first", "reason": "x" * 9_000_000}
    refused(admin.post(f"{study}/votes", json=body), 413, "too_large")


def test_invalid_json_is_rejected(admin: httpx.Client, study: str) -> None:
    refused(admin.post(f"{study}/ask", content=b"{", headers={"Content-Type": "application/json"}), 400, "malformed")
    assert refused(admin.post(f"{study}/ask", json={"rater": "a", "x": 1}), 422, "invalid_input")["field"] == "x"
    refused(admin.get("/nothing"), 404, "not_found")
    refused(admin.put(study), 405, "method_not_allowed")


def test_serving_other_machines_requires_an_admin_token(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "duelist.cli", "serve", "--host", "0.0.0.0", "--port", "0"]
    url = f"sqlite:///{tmp_path / 's.db'}"
    done = subprocess.run([*command, "--storage", url], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "duelist token create" in done.stderr
    made = [sys.executable, "-m", "duelist.cli", "token", "create", "--storage", url]
    token = subprocess.run(made, capture_output=True, text=True, check=True, timeout=60).stdout.split()[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DUELIST_ADMIN_TOKEN", raising=False)
        server = start(url, tmp_path / "log", "--host", "0.0.0.0", "--host-name", "*")
    with server.client(token) as client:
        checked(client.get("/studies"))
    server.stop()
