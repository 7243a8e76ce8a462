"""Killed, restarted and stopping servers, and several servers on one study; `make crash-server` runs longer."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from duelist.cli import app
from duelist.server.run import SHUTDOWN_SECONDS
from duelist.study import list_studies, load_study
from tests.helpers import postgres, schemas
from tests.helpers.busy_server import Raters, check, kill, make, rater_tokens
from tests.helpers.evidence import record, recorded
from tests.helpers.server import running, start
from tests.server.conftest import checked

KILLS = int(os.environ.get("DUELIST_SERVER_KILLS", "4"))
KILLS_PER_STUDY = 100


@pytest.fixture(scope="module")
def cluster() -> Iterator[sa.URL]:
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_url(cluster: sa.URL) -> Iterator[str]:
    with postgres.database(cluster) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studies.db'}"
    return request.getfixturevalue("postgres_url")


def test_killing_a_server_neither_loses_nor_doubles_votes(url: str) -> None:
    database = sa.make_url(url).get_backend_name()
    before = sum(line["database"] == database for line in recorded("crash-server"))
    for number, first in enumerate(range(0, KILLS, KILLS_PER_STUDY), start=before):
        report = kill(url, min(KILLS_PER_STUDY, KILLS - first), seed=number)
        print(report, flush=True)  # noqa: T201
        record("crash-server", database=database, **asdict(report))


def test_two_servers_share_a_study(postgres_url: str, tmp_path: Path) -> None:
    study = make(postgres_url, n_arms=40, dim=4, repeat_pairs=0)
    tokens = rater_tokens(study, [f"rater {k}" for k in range(6)])
    (tmp_path / "other").mkdir()
    with running(postgres_url, tmp_path) as one, running(postgres_url, tmp_path / "other") as other:
        raters = Raters([one.address, other.address], study.id, tokens)
        raters.begin()
        while len(raters.acknowledged) < 30:
            time.sleep(0.01)
        with one.client() as here, other.client() as there:
            path = f"/studies/{study.id}"
            checked(here.patch(path, json={"state": "paused"}))
            assert checked(there.get(path))["state"] == "paused"
            asked = there.post(f"{path}/ask", json={"rater": "late"})
            assert asked.json()["error"]["code"] == "study_not_open"
            raters.failures.clear()  # they were told so, too
            checked(there.patch(path, json={"state": "open", "name": "renamed"}))
            assert checked(here.get(path))["name"] == "renamed"
            duel = checked(here.post(f"{path}/ask", json={"rater": "ana"}))
            assert checked(there.post(f"{path}/ask", json={"rater": "ana"}))["id"] == duel["id"]
            body = {"duel": duel["id"], "rater": "ana", "outcome": "first"}
            assert checked(here.post(f"{path}/votes", json=body)) == checked(there.post(f"{path}/votes", json=body))
            raters.end()
            raters.failures = [failure for failure in raters.failures if "study_not_open" not in failure]
            boards = [checked(client.get(f"{path}/leaderboard")) for client in (here, there)]
            assert boards[0]["votes"] == boards[1]["votes"] > 0  # how many of them count is the raters' choice
            assert [row["arm"] for row in boards[0]["standings"]] == [row["arm"] for row in boards[1]["standings"]]
    assert check(load_study("renamed", postgres_url), raters) == len(raters.acknowledged) + 1
    study.close()


def test_a_stopping_server_finishes_running_requests(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = make(url, n_arms=20, dim=3, repeat_pairs=0)
    tokens = rater_tokens(study, ["ana", "ben"])
    server = start(url, tmp_path / "log")
    raters = Raters([server.address], study.id, tokens)
    raters.begin()
    while len(raters.acknowledged) < 10:
        time.sleep(0.01)
    server.stop()
    raters.end()
    check(study, raters)
    assert "Traceback" not in server.log.read_text()


def test_event_streams_do_not_delay_shutdown(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = make(url, n_arms=3, dim=2)
    server = start(url, tmp_path / "log")
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.stream("GET", f"{server.address}/api/v1/studies/{study.id}/events", headers=headers) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: change"
        since = time.monotonic()
        server.stop()
        taken = time.monotonic() - since
        list(lines)  # the stream has an end
    assert taken < SHUTDOWN_SECONDS, f"it took {taken:.1f} s, as if it had waited for a subscriber"


def test_a_server_rejects_an_older_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    make(url, n_arms=3, dim=2).close()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE duelist_version SET version_num = '0000'"))
    engine.dispose()
    with pytest.raises(AssertionError, match="storage upgrade"):
        start(url, tmp_path / "log")


def test_serve_upgrades_the_schema_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    make(url, n_arms=3, dim=2).close()
    schemas.expect_next(tmp_path, monkeypatch)
    served: list[list[str]] = []
    monkeypatch.setattr(
        "duelist.server.serve",
        lambda options, *_, **__: served.append([each.name for each in list_studies(options.storage)]),
    )
    call = ["serve", "--storage", url]
    assert CliRunner().invoke(app, call).exit_code != 0
    done = CliRunner().invoke(app, [*call, "--upgrade"])
    assert (done.exit_code, served) == (0, [["busy"]]), done.output
