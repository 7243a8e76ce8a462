"""Every endpoint with missing, unknown and foreign tokens, and with cookies that lack a CSRF token."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest

from tests.helpers.server import Running
from tests.server.conftest import checked, refused, token_of

S = "/api/v1/studies/{study}"
OPEN = {
    ("POST", "/api/v1/session"),
    ("DELETE", "/api/v1/session"),
    ("POST", f"{S}/register"),
    ("POST", f"{S}/entry"),
    ("GET", "/api/v1/health"),
}
"""Endpoints that need no token."""
ANY = {
    ("GET", "/api/v1/session"),
    ("GET", "/api/v1/choices"),
    ("GET", "/api/v1/languages/{language}"),
    ("GET", f"{S}/media/{{key}}"),
}
RATING = {
    ("GET", f"{S}/me"),
    ("GET", f"{S}/live/{{duel}}"),
    *(
        ("POST", f"{S}/{verb}")
        for verb in ("arrive", "ask", "votes", "undo", "release", "live", "consent", "answers", "practised")
    ),
}
LOOKING = {
    ("GET", "/api/v1/studies"),
    ("GET", S),
    *(("GET", f"{S}/{what}") for what in (
        "leaderboard", "leaderboard-by-category", "can-stop", "recommend", "progress", "win-matrix", "win-chances", "history",
        "calibration", "goodness-of-fit", "regret", "raters",
        "queue", "log", "duels/{duel}/explanation", "contexts", "export/{form}", "arms", "arms/labels", "gold", "events",
    )),
}  # fmt: skip
OWNING = {
    ("PATCH", S),
    ("GET", f"{S}/archive"),
    ("GET", f"{S}/audit"),
    ("GET", f"{S}/tokens"),
    ("DELETE", f"{S}/tokens/{{token}}"),
    *(("POST", f"{S}/{what}") for what in (
        "arms", "arms/retire", "arms/activate", "files", "import", "raters/block", "raters/reinstate", "raters/describe",
        "raters/erase", "gold", "gold/remove", "tokens", "links",
    )),
}  # fmt: skip
LOOKING_AT_ALL = {("GET", "/metrics")}
OWNING_ALL = {
    ("POST", "/api/v1/studies"),
    ("DELETE", S),
    ("POST", "/api/v1/studies/restore"),
    ("POST", f"{S}/copy"),
    ("GET", "/api/v1/backup"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/tokens"),
    ("POST", "/api/v1/tokens"),
    ("DELETE", "/api/v1/tokens/{token}"),
    ("POST", "/api/v1/files/preview"),
    ("POST", "/api/v1/files/create"),
    ("POST", "/api/v1/plan"),
}
EVERYTHING = [ANY, RATING, LOOKING, OWNING, LOOKING_AT_ALL, OWNING_ALL]


class Keys(NamedTuple):
    """Tokens of every scope: for this study, another one, and all studies."""

    own: dict[str, str]
    other: dict[str, str]
    everywhere: dict[str, str]


@pytest.fixture
def keys(admin: httpx.Client, make: Callable[..., str], study: str) -> Keys:
    other = make()

    def tokens(path: str | None) -> dict[str, str]:
        scopes = ["admin", "reader", "rater"] if path else ["admin", "reader"]
        return {s: token_of(admin, path, s, **({"rater": "ana"} if s == "rater" else {})) for s in scopes}

    return Keys(tokens(study), tokens(other), tokens(None))


@pytest.fixture
def operations(server: Running) -> list[tuple[str, str]]:
    paths = httpx.get(f"{server.address}/api/v1/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def test_the_scope_table_covers_every_endpoint_once(operations: list[tuple[str, str]]) -> None:
    named = list(itertools.chain(OPEN, *EVERYTHING))
    assert sorted(named) == sorted(operations)
    assert len(named) == len(set(named))


def allowed(keys: Keys, operation: tuple[str, str]) -> set[str]:
    """Return the tokens that an endpoint accepts, by the tables above."""
    own, everywhere = keys.own, keys.everywhere
    owners = {own["admin"], everywhere["admin"]}
    lookers = {*owners, own["reader"], everywhere["reader"]}
    others = {keys.other["admin"], keys.other["reader"]}
    if operation in ANY:
        anywhere = "{study}" not in operation[1]
        return lookers | {own["rater"]} | ({*others, keys.other["rater"]} if anywhere else set())
    if operation in RATING:
        return owners | {own["rater"]}
    if operation in LOOKING:  # the list of studies shows each its own
        return lookers | (others if operation[1] == "/api/v1/studies" else set())
    if operation in OWNING:
        return owners
    return {everywhere["admin"], everywhere["reader"]} if operation in LOOKING_AT_ALL else {everywhere["admin"]}


def send(client: httpx.Client, operation: tuple[str, str], study: str, headers: dict[str, str]) -> httpx.Response:
    """Send an incomplete request, which changes nothing when it is allowed."""
    method, path = operation
    filled = path.format(
        study=study.rsplit("/", 1)[1], key="none.png", duel=10**9, form="none", language="en", token="none"
    )
    query = {"confirm": "no"} if operation == ("DELETE", "/api/v1/studies/{study}") else {}
    with client.stream(method, filled, headers=headers, params=query, content=b"") as answer:
        if answer.headers.get("content-type", "").startswith("application/json"):
            answer.read()
        return answer


def each_token(keys: Keys) -> Iterator[tuple[str, str]]:
    for where, tokens in keys._asdict().items():
        for scope, token in tokens.items():
            yield f"{scope}, {where}", token


def test_every_endpoint_enforces_its_scopes(
    server: Running, keys: Keys, study: str, operations: list[tuple[str, str]]
) -> None:
    """Try no token, an unknown one and each of eight tokens on every endpoint."""
    tried = 0
    with httpx.Client(base_url=server.address, timeout=60) as client:
        for operation in (each for each in operations if each not in OPEN):
            for headers in ({}, {"Authorization": "Bearer duelist_nobody"}, {"Authorization": "Basic YTpi"}):
                answer = send(client, operation, study, headers)
                assert answer.status_code == 401, f"{operation} {headers}: {answer.status_code}"
                assert set(answer.json()) == {"error"}
                tried += 1
            takes = allowed(keys, operation)
            for who, token in each_token(keys):
                answer = send(client, operation, study, {"Authorization": f"Bearer {token}"})
                assert (answer.status_code not in (401, 403)) == (token in takes), (
                    f"{operation} with {who}: {answer.status_code}"
                )
                assert answer.status_code < 500, f"{operation} with {who}: {answer.status_code}"
                tried += 1
    assert tried == 11 * (len(operations) - len(OPEN))


def test_a_cookie_without_csrf_token_changes_nothing(
    server: Running, keys: Keys, study: str, operations: list[tuple[str, str]]
) -> None:
    """Other sites can make a browser send the cookie, but not the header."""
    with httpx.Client(base_url=server.address, timeout=60) as client:
        session = checked(client.post("/api/v1/session", json={"token": keys.everywhere["admin"]}))
        unsafe = [each for each in operations if each[0] != "GET" and each not in OPEN]
        for operation in unsafe:
            refused(send(client, operation, study, {}), 403, "csrf")
            refused(send(client, operation, study, {"X-Duelist-CSRF": "0" * 64}), 403, "csrf")
        proved = {"X-Duelist-CSRF": session["csrf"]}
        checked(client.patch(f"/api/v1{study}", json={"state": "paused"}, headers=proved))
    assert len(unsafe) > 20


def test_a_rater_cannot_act_for_another(server: Running, keys: Keys, study: str) -> None:
    with server.client(keys.own["rater"]) as ana:
        checked(ana.post(f"{study}/ask", json={"rater": "ana"}))
        for verb, body in (
            ("ask", {}),
            ("votes", {"duel": 1, "outcome": "tie"}),
            ("undo", {"duel": 1}),
            ("release", {"duel": 1}),
        ):
            refused(ana.post(f"{study}/{verb}", json={"rater": "ben", **body}), 403, "not_allowed")
        refused(ana.get(f"{study}/me", params={"rater": "ben"}), 403, "not_allowed")


def test_a_revoked_token_is_rejected(server: Running, admin: httpx.Client, study: str) -> None:
    made = checked(admin.post(f"{study}/tokens", json={"scope": "reader", "label": "for the wall"}), 201)
    with server.client(made["token"]) as reader:
        checked(reader.get(study))
        checked(admin.delete(f"{study}/tokens/{made['id']}"), 204)
        refused(reader.get(study), 401, "token_unknown")
    (listed,) = checked(admin.get(f"{study}/tokens"))["tokens"]
    assert (listed["revoked"], listed["label"]) == (True, "for the wall")
    assert "token" not in listed


def test_an_expired_token_is_rejected(server: Running, admin: httpx.Client, study: str) -> None:
    made = checked(admin.post(f"{study}/tokens", json={"scope": "reader", "days": 1e-9}), 201)
    with server.client(made["token"]) as reader:
        refused(reader.get(study), 401, "token_unknown")


def test_erasing_a_rater_revokes_their_tokens(server: Running, admin: httpx.Client, study: str) -> None:
    with server.client(token_of(admin, study, "rater", rater="carl")) as carl:
        duel = checked(carl.post(f"{study}/ask", json={}))["id"]
        checked(carl.post(f"{study}/votes", json={"duel": duel, "outcome": "tie"}))
        refused(admin.post(f"{study}/raters/erase", json={"rater": "carl", "confirm": "karl"}), 409, "confirm")
        assert checked(admin.post(f"{study}/raters/erase", json={"rater": "carl", "confirm": "carl"}))["votes"] == 1
        refused(carl.post(f"{study}/ask", json={}), 401, "token_unknown")
    assert checked(admin.get(f"{study}/tokens"))["tokens"] == []


def test_secrets_are_neither_stored_nor_logged(server: Running, admin: httpx.Client, study: str, storage: str) -> None:
    link = checked(admin.post(f"{study}/links", json={"raters": ["dora"]}), 201)["links"][0]["url"]
    address, _, secret = link.partition("#")
    assert address == f"{server.address}/rate{study.removeprefix('/studies')}"
    with server.stranger() as browser:
        checked(browser.post("/session", json={"token": secret}))
        checked(browser.get("/session", params={"study": study.rsplit("/", 1)[1]}))
    kept = b"".join(path.read_bytes() for path in server.log.parent.glob("studies.db*") if path.is_file())
    for place in (kept, server.log.read_bytes()):
        assert secret.encode() not in place
        assert server.token.encode() not in place
    assert b'"event": "request"' in server.log.read_bytes()
