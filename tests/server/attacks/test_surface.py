"""What strangers and files can do: sign-ins, names, sizes, values that no study can hold, and what the server says of itself."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest

from duelist.core.errors import ConnectionLost
from duelist.server.errors import error_response
from tests.helpers.server import Running, running
from tests.server.attacks.conftest import wait_until
from tests.server.conftest import checked, refused, token_of


def test_failed_sign_ins_do_not_lock_out_others_at_the_same_address(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path) as server, server.stranger() as classroom:
        statuses = [classroom.post("/session", json={"token": f"wrong {k}"}).status_code for k in range(30)]
        assert set(statuses) == {401, 429}
        assert statuses[-1] == 429
        checked(classroom.post("/session", json={"token": server.token}))


def test_errors_of_the_database_name_neither_user_nor_host() -> None:
    reason = (
        'connection to server at "10.0.0.5", port 5432 failed: FATAL: password authentication failed for user "duelist"'
    )
    status, body = error_response(
        ConnectionLost(f"Storage postgresql+psycopg://duelist@10.0.0.5/s is lost ({reason}).", "x")
    )
    assert status == 503
    assert body["error"]["code"] == "connection_lost"
    assert not any(word in str(body) for word in ("postgresql", "duelist", "10.0.0.5"))


def test_health_names_no_file_to_strangers(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path) as server, server.stranger() as stranger:
        with sqlite3.connect(tmp_path / "s.db") as database:
            database.execute("DROP TABLE duelist_studies")
        wait_until(lambda: stranger.get("/health").status_code == 503)  # the server checks its health once per second
        answer = stranger.get("/health")
        assert answer.status_code == 503
        assert str(tmp_path) not in answer.text
        assert "sqlite" not in answer.text


def test_cookies_are_secure_if_the_proxy_says_https(server: Running) -> None:
    with server.stranger() as browser:
        for proto, is_secure in (("https", True), ("http", False)):
            answer = browser.post("/session", json={"token": server.token}, headers={"X-Forwarded-Proto": proto})
            assert ("secure" in answer.headers["set-cookie"].lower()) == is_secure


@pytest.mark.parametrize(
    ("on_terminal", "options"), [(False, []), (True, ["--public-url", "https://rate.example.org"])]
)
def test_no_link_is_printed_into_a_log_or_behind_a_proxy(tmp_path: Path, on_terminal: bool, options: list[str]) -> None:
    line = first_lines(tmp_path, on_terminal, *options)
    assert "Sign in with a token" in line
    assert "signin" not in line


def test_a_link_is_printed_on_a_terminal(tmp_path: Path) -> None:
    assert "/signin#duelist_" in first_lines(tmp_path, True)


def first_lines(folder: Path, on_terminal: bool, *options: str) -> str:
    """Return what `duelist serve` prints until it is ready."""
    environment = {**os.environ, "DUELIST_STORAGE": f"sqlite:///{folder / 's.db'}", "COLUMNS": "200"}
    environment.pop("DUELIST_ADMIN_TOKEN", None)
    reader, writer = os.openpty() if on_terminal else os.pipe()
    command = [sys.executable, "-m", "duelist.cli", "serve", "--port", "0", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=writer, stderr=log)
    os.close(writer)
    text = ""
    try:
        while "token create" not in text and "signin#duelist_" not in text:
            text += os.read(reader, 65_536).decode()
    finally:
        process.terminate()
        process.wait()
        os.close(reader)
    return text


def test_the_token_of_a_run_is_listed_and_can_be_revoked(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path) as server, server.client() as admin:
        own = [token for token in checked(admin.get("/tokens"))["tokens"] if token["id"] == "temporary"]
        assert [token["scope"] for token in own] == ["admin"]
        checked(admin.delete("/tokens/temporary"), 204)
        refused(admin.get("/tokens"), 401, "token_unknown")


@pytest.mark.parametrize("settings", [{"criteria": None}, {"answers": None}, {"policy_settings": None}, {"seed": None}])
def test_settings_of_null_are_errors_of_the_client(admin: httpx.Client, study: str, settings: dict[str, Any]) -> None:
    refused(admin.post("/studies", json={"name": "null", "settings": settings}), 422, "invalid_input")
    refused(admin.patch(study, json={"settings": settings}), 422, "invalid_input")


@pytest.mark.parametrize("name", ["side", "length", "nothing", "x" * 900])
def test_covariates_of_a_study_without_votes_are_no_error_of_the_server(
    admin: httpx.Client, study: str, name: str
) -> None:
    assert admin.get(f"{study}/leaderboard", params={"covariates": name}).status_code in (200, 422)


@pytest.mark.parametrize(
    "number", ["0" * 19 + "1" + "9" * 20, "0" * 19 + "1" + "9" * 5000, "9" * 5000, "-1", "\u0661", "1e3"]
)
def test_pages_of_impossible_studies_are_no_error_of_the_server(server: Running, number: str) -> None:
    """Strangers get the page before they sign in; it reads the language of the study."""
    assert httpx.get(f"{server.address}/rate/{number}").status_code == 200


def test_a_tiny_ridge_is_an_error_of_the_client(admin: httpx.Client, study: str) -> None:
    for ridge in ("1e-300", "0", "-1", "nan", "1e7"):
        assert refused(admin.get(f"{study}/leaderboard?ridge={ridge}"), 422, "invalid_input")["field"] == "ridge"
    checked(admin.get(f"{study}/leaderboard?ridge=1e-9"))


@pytest.mark.parametrize("name", ["an\u200ba", " ana", "\uff41na", "a\u00adna", "ana\u2060", "\u202aana\u202c"])
def test_names_that_look_alike_are_one_rater(
    server: Running, admin: httpx.Client, make: Callable[..., str], name: str
) -> None:
    study = make(open_registration=True)
    duel = checked(admin.post(f"{study}/ask", json={"rater": "ana"}))
    assert checked(admin.post(f"{study}/ask", json={"rater": name}))["id"] == duel["id"]
    made = checked(admin.post(f"{study}/tokens", json={"scope": "rater", "rater": name}), 201)
    assert made["rater"] == "ana"
    with server.stranger() as stranger:
        refused(stranger.post(f"{study}/register", json={"name": name}), 409, "name_taken")
    assert checked(admin.post(f"{study}/raters/block", json={"rater": name}))["name"] == "ana"
    refused(admin.post(f"{study}/ask", json={"rater": "ana"}), 409, "rater_blocked")


@pytest.mark.parametrize("name", ["a\u0007b", "a\nb", "\u200b", "  ", "a\x7fb", "\u2028"])
def test_names_without_visible_characters_or_with_control_characters_are_errors(
    admin: httpx.Client, study: str, name: str
) -> None:
    body = {"scope": "rater", "rater": name}
    assert refused(admin.post(f"{study}/tokens", json=body), 422, "invalid_input")["field"] == "rater"


def test_arms_have_at_most_1024_features(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(0)
    for kind, n, status in (("json", 5000, 422), ("csv", 1025, 422), ("json", 1024, 200)):
        if kind == "json":
            arms = [{"id": f"a{k}", "features": [float(k + j) for j in range(n)]} for k in range(3)]
            answer = admin.post(f"{study}/arms", json={"arms": arms})
        else:
            rows = [",".join([f"a{k}", *(str(k + j * 0.5) for j in range(n))]) for k in range(3)]
            table = "\n".join([",".join(["id", *(f"x{j}" for j in range(n))]), *rows])
            answer = admin.post(f"{study}/arms", content=table.encode(), headers={"Content-Type": "text/csv"})
        assert answer.status_code == status, answer.text[:300]


def test_tables_with_very_many_columns_are_errors(admin: httpx.Client) -> None:
    table = "\n".join([",".join(f"c{k}" for k in range(16_000)), ",".join(["1"] * 16_000)])
    rows = "[" + ",".join(f'{{"c{k}": 1}}' for k in range(16_000)) + "]"
    for name, content in (("a.csv", table), ("a.json", rows)):
        error = refused(admin.post("/files/preview", files={"file": (name, content)}), 422, "invalid_input")
        assert "16000 columns" in error["message"]


def test_a_workbook_that_unpacks_to_300_mb_is_an_error(admin: httpx.Client) -> None:
    packed, bomb = io.BytesIO(), io.BytesIO()
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["id", "text"])
    book.save(packed)
    with zipfile.ZipFile(packed) as parts, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as written:
        for name in parts.namelist():
            written.writestr(name, parts.read(name))
        written.writestr("xl/media/large.bin", bytes(300 * 2**20))
    assert len(bomb.getvalue()) < 2**20
    answer = admin.post("/files/preview", files={"file": ("a.xlsx", bomb.getvalue())})
    assert "300 MiB" in refused(answer, 422, "invalid_input")["message"]


def test_exports_hold_no_formulas(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(0)
    arms = [{"id": sign + "1+1", "payload": "x"} for sign in ("=", "+", "-", "@", "'=")]
    checked(admin.post(f"{study}/arms", json={"arms": arms}))
    for _ in range(6):
        duel = checked(admin.post(f"{study}/ask", json={"rater": "=cmd()"}))["id"]
        checked(
            admin.post(f"{study}/votes", json={"duel": duel, "outcome": "first", "rater": "=cmd()", "reason": "@x"})
        )
    exported = admin.get(f"{study}/export/csv")
    cells = [cell for line in exported.text.splitlines() for cell in line.split(",")]
    assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "-", "@"))]
    copy = make(0)
    checked(admin.post(f"{copy}/arms", json={"arms": arms}))
    checked(admin.post(f"{copy}/import?format=csv&filename=votes.csv", content=exported.content))
    told = [
        [(v["first"], v["second"], v["rater"], v["reason"]) for v in checked(admin.get(f"{path}/log"))["votes"]]
        for path in (study, copy)
    ]
    assert told[0] == told[1]
    assert {vote[2] for vote in told[0]} == {"=cmd()"}
    assert token_of(admin, study, "reader")
