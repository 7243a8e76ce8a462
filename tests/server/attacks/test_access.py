"""Cookies that are stolen or kept, access that is revoked, and the log of what owners did."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.helpers.server import Running
from tests.server.conftest import checked, refused, token_of

OWNER = "duelist_owner"


@contextmanager
def signed_in(server: Running, token: str) -> Iterator[httpx.Client]:
    """A browser with a session."""
    with server.stranger() as browser:
        checked(browser.post("/session", json={"token": token}))
        yield browser


def with_cookie(server: Running, value: str) -> httpx.Client:
    """Return a browser that has nothing but an owner's cookie."""
    browser = server.stranger()
    browser.headers["Cookie"] = f"{OWNER}={value}"
    return browser


def age(folder: Path, column: str, seconds: float) -> None:
    """Let time pass for all sessions."""
    with sqlite3.connect(folder / "studies.db") as database:
        database.execute(f"UPDATE duelist_sessions SET {column} = {column} - {round(seconds * 1e6)}")


def test_a_cookie_is_a_session_and_no_token(server: Running, admin: httpx.Client, study: str) -> None:
    token = token_of(admin, study, "reader")
    with signed_in(server, token) as browser:
        cookie = browser.cookies[OWNER]
        assert token not in cookie
        assert cookie not in token
    with with_cookie(server, token) as thief:
        refused(thief.get(f"{study}/leaderboard"), 401, "token_unknown")
    with server.client(cookie) as program:
        refused(program.get(f"{study}/leaderboard"), 401, "token_unknown")


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(
    server: Running, admin: httpx.Client, study: str
) -> None:
    token = token_of(admin, study, "reader")
    with signed_in(server, token) as browser, signed_in(server, token) as other:
        with with_cookie(server, browser.cookies[OWNER]) as thief:
            checked(thief.get(f"{study}/leaderboard"))
            checked(browser.delete("/session"), 204)
            refused(thief.get(f"{study}/leaderboard"), 401, "token_unknown")
        checked(other.get(f"{study}/leaderboard"))
        first = other.cookies[OWNER]
        checked(other.post("/session", json={"token": token}))
        with with_cookie(server, first) as thief:
            refused(thief.get(f"{study}/leaderboard"), 401, "token_unknown")


def test_revoking_a_token_ends_its_sessions(server: Running, admin: httpx.Client, study: str) -> None:
    made = checked(admin.post(f"{study}/tokens", json={"scope": "reader"}), 201)
    with signed_in(server, made["token"]) as browser:
        checked(browser.get(f"{study}/leaderboard"))
        checked(admin.delete(f"{study}/tokens/{made['id']}"), 204)
        refused(browser.get(f"{study}/leaderboard"), 401, "token_unknown")


def test_the_secret_of_a_session_rotates(server: Running, admin: httpx.Client, study: str, folder: Path) -> None:
    with signed_in(server, token_of(admin, study, "reader")) as browser:
        csrf, first = checked(browser.get("/session"))["csrf"], browser.cookies[OWNER]
        age(folder, "rotated_at", 2 * 3600)
        answer = browser.get(f"{study}/leaderboard")
        assert {"httponly", "samesite=strict"} <= set(answer.headers["set-cookie"].lower().split("; "))
        second = browser.cookies[OWNER]
        assert second != first
        assert "set-cookie" not in browser.get(f"{study}/leaderboard").headers
        assert checked(browser.get("/session"))["csrf"] == csrf, "pages that are open go on"
        with with_cookie(server, first) as old, with_cookie(server, second) as new:
            checked(old.get(f"{study}/leaderboard"))  # a request that was on its way
            age(folder, "rotated_at", 61)
            refused(old.get(f"{study}/leaderboard"), 401, "token_unknown")
            checked(new.get(f"{study}/leaderboard"))
            age(folder, "expires_at", 31 * 86_400)
            refused(new.get(f"{study}/leaderboard"), 401, "token_unknown")


@pytest.mark.parametrize("how", ["revoked", "signed out"])
def test_the_event_stream_of_somebody_without_access_ends(
    server: Running, admin: httpx.Client, study: str, how: str
) -> None:
    made = checked(admin.post(f"{study}/tokens", json={"scope": "reader"}), 201)
    with signed_in(server, made["token"]) as browser, browser.stream("GET", f"{study}/events") as events:
        lines = events.iter_lines()
        assert next(lines) == "event: change"
        if how == "revoked":
            checked(admin.delete(f"{study}/tokens/{made['id']}"), 204)
        else:
            with with_cookie(server, browser.cookies[OWNER]) as same:
                checked(same.delete("/session"), 204)
        checked(admin.post(f"{study}/ask", json={"rater": "secret"}))
        rest = list(lines)  # ends, or times out
    assert not any('"pending": 1' in line for line in rest)


def actions(client: httpx.Client, path: str = "", **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = checked(client.get(f"{path}/audit", params=query))["actions"]
    return found


def test_what_owners_do_is_in_the_audit_log(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make()
    made = checked(admin.post(f"{study}/tokens", json={"scope": "admin", "label": "Bea"}), 201)
    with server.client(made["token"]) as bea:
        duel = checked(bea.post(f"{study}/ask", json={"rater": "ana"}))["id"]
        checked(bea.post(f"{study}/votes", json={"duel": duel, "outcome": "first", "rater": "ana"}))
        checked(bea.get(f"{study}/leaderboard"))
        refused(bea.post(f"{study}/raters/block", json={}), 422, "invalid_input")
        before = len(actions(admin, study))
        checked(bea.patch(study, json={"settings": {"gold_share": 0.2, "question": "?"}}))
        checked(bea.post(f"{study}/raters/block", json={"rater": "ana", "exclude_votes": True}))
        assert bea.get(f"{study}/export/csv").status_code == 200
        checked(bea.delete(f"{study}/tokens/{made['id']}"), 204)
    newest = actions(admin, study)
    assert len(newest) == before + 4
    assert [(each["action"], each["subject"], each["label"], each["token"]) for each in newest[:4]] == [
        (action, subject, "Bea", made["id"])
        for action, subject in (
            ("DELETE /studies/{study}/tokens/{token}", made["id"]),
            ("GET /studies/{study}/export/{form}", "csv"),
            ("POST /studies/{study}/raters/block", "ana"),
            ("PATCH /studies/{study}", "settings: gold_share, question"),
        )
    ]
    assert newest[0]["address"] == "127.0.0.1"
    assert actions(admin, limit=1)[0]["number"] == newest[0]["number"]
    assert actions(admin, study, before=newest[1]["number"], limit=1) == [newest[2]]


def test_the_audit_log_is_for_admins_and_forgets_erased_raters(
    server: Running, admin: httpx.Client, study: str
) -> None:
    for scope, more in (("reader", {}), ("rater", {"rater": "ana"})):
        with server.client(token_of(admin, study, scope, **more)) as client:
            refused(client.get(f"{study}/audit"), 403, "not_allowed")
    checked(admin.post(f"{study}/ask", json={"rater": "ana"}))
    checked(admin.post(f"{study}/raters/describe", json={"rater": "ana", "attributes": {"age": 3}}))
    assert "ana" in [each["subject"] for each in actions(admin, study)]
    checked(admin.post(f"{study}/raters/erase", json={"rater": "ana", "confirm": "ana"}))
    assert "ana" not in [each["subject"] for each in actions(admin, study)]
    with signed_in(server, token_of(admin, study, "admin", label="Bea")):
        assert (actions(admin)[0]["action"], actions(admin)[0]["label"]) == ("POST /session", "Bea")


def test_a_reader_sees_no_completion_codes(server: Running, admin: httpx.Client, study: str) -> None:
    """A shared link of results has a reader's token: whoever had it could be paid without a vote."""
    recruiting = {
        "participant": "PID",
        "places": 9,
        "completed": {"code": "C1ABC", "redirect": "https://a.example/?cc=C1ABC"},
    }
    checked(admin.patch(study, json={"settings": {"recruiting": recruiting}}))
    with server.client(token_of(admin, study, "reader")) as reader:
        shown = [checked(reader.get(study)), *checked(reader.get("/studies"))["studies"]]
    for each in shown:
        assert "C1ABC" not in str(each)
        assert each["settings"]["recruiting"]["places"] == 9
    assert "C1ABC" in str(checked(admin.get(study)))


def test_a_reader_learns_nothing_of_raters_but_their_votes(server: Running, admin: httpx.Client, study: str) -> None:
    """Answers to the questionnaire, notes, URL parameters and consent; and no results by answer, which would tell them too."""
    question = {"name": "income", "text": "How much?", "kind": "number"}
    checked(admin.patch(study, json={"settings": {"flow": {"questions": [question]}}}))
    for name in ("ana", "ben"):
        with server.client(token_of(admin, study, "rater", rater=name)) as rater:
            checked(rater.post(f"{study}/arrive", json={"parameters": {"wave": "secret 1"}}), 204)
            checked(rater.post(f"{study}/answers", json={"answers": {"income": 48131}}), 204)
            if name == "ana":
                duel = checked(rater.post(f"{study}/ask", json={}))["id"]
                checked(rater.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
        checked(admin.post(f"{study}/raters/describe", json={"rater": name, "attributes": {"note": "secret 2"}}))
    checked(admin.post(f"{study}/raters/block", json={"rater": "ben"}))
    paths = [f"{study}/raters", f"{study}/log", *(f"{study}/export/{form}" for form in ("csv", "jsonl"))]
    secrets = ("48131", "secret 1", "secret 2")
    with server.client(token_of(admin, study, "reader")) as reader:
        for path in paths:
            shown = reader.get(path)
            assert shown.status_code == 200
            assert "ana" in shown.text
            assert not [each for each in secrets if each in shown.text], path
        for query in ("raters", "leaderboard", "win-matrix", "can-stop"):
            for condition in (
                "income > 40000",
                "nothing = 1",
            ):  # the error of the second names the attributes there are
                refused(reader.get(f"{study}/{query}", params={"where": condition}), 403, "not_allowed")
    owned = admin.get(f"{study}/raters").text
    assert [owned.count(each) for each in secrets] == [2, 1, 2]
    assert "48131" in admin.get(f"{study}/export/csv").text
    assert checked(admin.get(f"{study}/leaderboard", params={"where": "income > 40000"}))["votes"] == 1
