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


# -- recruiting --------------------------------------------------------------------------

PROLIFIC = {
    "participant": "PROLIFIC_PID",
    "places": 2,
    "completed": {"code": "C1", "redirect": "https://p.example/?cc={code}"},
}


def test_a_participant_enters_with_an_id_and_gets_the_code(server: Running, make: Callable[..., str]) -> None:
    """From the address of a recruiting service to the completion code; the same id comes back, another name does not."""
    study = make(open_registration=True, recruiting=PROLIFIC, max_votes_per_rater=1)
    given = {"parameters": {"PROLIFIC_PID": "p1", "STUDY_ID": "s1"}}
    with server.stranger() as browser:
        assert checked(browser.post(f"{study}/entry", json={}))["needs_participant"]
        refused(browser.post(f"{study}/register", json={"name": "ana"}), 422, "participant_missing")
        assert checked(browser.post(f"{study}/entry", json=given))["may_enter"]
        session = checked(browser.post(f"{study}/register", json={**given, "name": "ignored"}))
        assert session["rater"] == "p1"
        browser.headers["X-Duelist-CSRF"] = session["csrf"]
        assert checked(browser.get(f"{study}/me"))["departure"] is None
        duel = checked(browser.post(f"{study}/ask", json={}))
        checked(browser.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "first"}))
        refused(browser.post(f"{study}/ask", json={}), 409, "limit_reached")
        found = checked(browser.get(f"{study}/me"))["departure"]
        assert found == {"kind": "completed", "code": "C1", "redirect": "https://p.example/?cc=C1"}
    with server.stranger() as other_browser:
        assert checked(other_browser.post(f"{study}/register", json=given))["rater"] == "p1"


def test_places_run_out(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    full = {"code": "FULL", "redirect": "https://p.example/?id={PROLIFIC_PID}"}
    study = make(open_registration=True, recruiting={**PROLIFIC, "full": full})
    with server.stranger() as browser:
        for name in ("p1", "p2"):
            checked(browser.post(f"{study}/register", json={"parameters": {"PROLIFIC_PID": name}}))
        late = {"parameters": {"PROLIFIC_PID": "p 3"}}
        error = refused(browser.post(f"{study}/register", json=late), 409, "study_full")
        assert "study" not in error["message"]  # strangers do not learn names
        found = checked(browser.post(f"{study}/entry", json=late))["departure"]
        assert found == {"kind": "full", "code": "FULL", "redirect": "https://p.example/?id=p%203"}
        checked(admin.patch(study, json={"settings": {"recruiting": {**PROLIFIC, "places": 3}}}))
        checked(browser.post(f"{study}/register", json=late))


def test_strangers_learn_nothing_of_a_study_by_invitation(server: Running, make: Callable[..., str]) -> None:
    study = make(recruiting={**PROLIFIC, "places": 1, "full": {"code": "SECRET"}})
    with server.stranger() as browser:
        found = checked(browser.post(f"{study}/entry", json={"parameters": {"PROLIFIC_PID": "p1"}}))
        assert found == {
            "may_enter": False,
            "is_open_to_anyone": False,
            "needs_participant": False,
            "asks_name": False,
            "departure": None,
        }


def test_parameters_of_an_invitation_are_stored(
    admin: httpx.Client, ana: httpx.Client, study: str, server: Running
) -> None:
    checked(ana.post(f"{study}/arrive", json={"parameters": {"wave": "2"}}), 204)
    checked(ana.post(f"{study}/arrive", json={"parameters": {"wave": "3"}}), 204)
    assert checked(admin.get(f"{study}/raters"))["others"][0]["parameters"] == {"wave": "2"}
    refused(ana.post(f"{study}/arrive", json={"parameters": {f"p{k}": "" for k in range(21)}}), 422, "invalid_input")
    refused(ana.post(f"{study}/arrive", json={"parameters": {"a": "x" * 501}}), 422, "invalid_input")
    with server.stranger() as browser:
        refused(browser.post(f"{study}/arrive", json={"parameters": {"wave": "2"}}), 401, "not_signed_in")


def test_only_named_sites_embed_the_rater_page(tmp_path: Path) -> None:
    """The page of one study may be framed by its owner's sites, with a cookie that browsers keep there; nothing else changes."""
    with (
        running(f"sqlite:///{tmp_path / 's.db'}", tmp_path, "--public-url", "https://rate.example.org") as server,
        server.client() as admin,
    ):
        settings = {"open_registration": True, "recruiting": {"embed_in": ["https://lab.example.org"]}}
        framed = checked(admin.post("/studies", json={"name": "framed", "settings": settings}), 201)["id"]
        plain = checked(admin.post("/studies", json={"name": "plain", "settings": {"open_registration": True}}), 201)[
            "id"
        ]
        policies = {
            path: httpx.get(server.address + path).headers["content-security-policy"]
            for path in (f"/rate/{framed}", f"/rate/{plain}", f"/study/{framed}", "/rate/999", "/rate/x", "/signin")
        }
        assert "frame-ancestors https://lab.example.org;" in policies.pop(f"/rate/{framed}")
        assert all("frame-ancestors 'none'" in policy for policy in policies.values())
        with server.stranger() as browser:
            cookies = {
                study: browser.post(f"/studies/{study}/register", json={}).headers["set-cookie"].lower()
                for study in (framed, plain)
            }
            owner = browser.post("/session", json={"token": server.token}).headers["set-cookie"].lower()
        assert all(part in cookies[framed] for part in ("samesite=none", "secure", "partitioned", "httponly"))
        assert all("samesite=strict" in each and "partitioned" not in each for each in (cookies[plain], owner))
