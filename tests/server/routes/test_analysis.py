"""Results over HTTP equal those of the library."""

from __future__ import annotations

import base64
import itertools
import json
import math
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from duelist.core.errors import DisconnectedArms, InvalidInput
from duelist.core.serialization import to_plain
from duelist.server.context import MAX_IDLE_STUDIES
from duelist.study import Study, load_study, restore_study
from tests.helpers.archives import Tables, rewrite
from tests.helpers.server import Running
from tests.server.conftest import checked, opened, refused

OUTCOMES = ("first", "second", "tie", "first", "both_bad", "skip", "first")


@pytest.fixture
def voted(admin: httpx.Client, make: Callable[..., str]) -> str:
    """A study with 60 votes of four raters: some revised, one undone, one rater excluded, one gold pair."""
    study = make(8, random_share=0.5, repeat_pairs=3, gold_share=0.2)
    checked(admin.post(f"{study}/gold", json={"first": "a0", "second": "a1", "outcome": "first"}))
    for k in range(60):
        rater = f"r{k % 4}"
        duel = checked(admin.post(f"{study}/ask", json={"rater": rater}))["id"]
        body = {"duel": duel, "rater": rater, "outcome": OUTCOMES[k % 7], "response_seconds": 1.0 + k % 3}
        checked(admin.post(f"{study}/votes", json=body))
        if k == 20:
            checked(admin.post(f"{study}/undo", json={"duel": duel, "rater": rater}))
        if k == 30:
            checked(admin.post(f"{study}/votes", json={**body, "outcome": "second", "revise": True}))
    checked(admin.post(f"{study}/raters/block", json={"rater": "r3", "exclude_votes": True}))
    return study


def same(found: Any, wanted: Any, where: str = "") -> None:
    """Assert equality up to rounding, since two processes fit separately."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            same(found[name], value, f"{where}.{name}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for k, value in enumerate(wanted):
            same(found[k], value, f"{where}[{k}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6), where
    else:
        assert found == wanted, where


@pytest.mark.parametrize(
    ("path", "verb"),
    [
        ("leaderboard", Study.leaderboard),
        ("leaderboard?top=3&everyone=true", lambda s: s.leaderboard(top=3, everyone=True)),
        ("leaderboard?without=r0&without=r1", lambda s: s.leaderboard(without=["r0", "r1"])),
        (
            "leaderboard?covariates=side&covariates=length&clusters=false",
            lambda s: s.leaderboard(covariates=["side", "length"], clusters=False),
        ),
        ("progress?delta=0.2", lambda s: s.progress(delta=0.2)),
        ("calibration", Study.calibration),
        ("goodness-of-fit", Study.goodness_of_fit),
        ("raters", Study.raters),
        ("regret", Study.regret),
        ("duels/3/explanation", lambda s: s.explain(3)),
    ],
)
def test_results_equal_those_of_the_library(
    admin: httpx.Client, voted: str, storage: str, path: str, verb: Callable[[Study], Any]
) -> None:
    found = checked(admin.get(f"{voted}/{path}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedArms)
        same(found, to_plain(verb(opened(storage, voted))))


def test_results_of_systems_by_category(admin: httpx.Client, make: Callable[..., str], storage: str) -> None:
    study = make(0)
    answers = [
        {"id": f"{s} / {p}", "payload": f"{s} on {p}", "context": p, "system": s, "category": f"c{p}"}
        for p in "12"
        for s in "ab"
    ]
    checked(admin.post(f"{study}/arms", json={"arms": answers}))
    for outcome in ("first", "second", "first"):
        duel = checked(admin.post(f"{study}/ask", json={"rater": outcome}))
        checked(admin.post(f"{study}/votes", json={"duel": duel["id"], "rater": outcome, "outcome": outcome}))
    found = checked(admin.get(f"{study}/contexts"))
    assert (found["systems"], found["categories"]) == (["a", "b"], ["c1", "c2"])
    with opened(storage, study) as here:
        same(checked(admin.get(f"{study}/leaderboard-by-category")), to_plain(here.leaderboard_by_category()))
        assert checked(admin.get(f"{study}/recommend"))["of"] == here.recommend().of == "system"


def test_compact_results_agree_with_the_library(admin: httpx.Client, voted: str, storage: str) -> None:
    study = opened(storage, voted)
    board = checked(admin.get(f"{voted}/leaderboard"))
    order = [row["arm"] for row in board["standings"]]
    matrix, library = checked(admin.get(f"{voted}/win-matrix")), study.win_matrix()
    assert matrix["arms"] == order
    place = {arm: k for k, arm in enumerate(library.arms)}
    assert (
        sum(sum(cell[2:]) for cell in matrix["cells"])
        == library.wins.sum() + np.triu(library.ties + library.both_bad).sum()
    )
    for i, j, won, lost, tied, bad in matrix["cells"]:
        a, b = place[order[i]], place[order[j]]
        assert (won, lost) == (library.wins[a, b], library.wins[b, a])
        assert (tied, bad) == (library.ties[a, b], library.both_bad[a, b])
    history = checked(admin.get(f"{voted}/history", params={"top": 3}))
    total = np.sum([series["chance"] for series in history["series"]], axis=0) + np.array(history["others"])
    assert total == pytest.approx(np.ones(len(history["votes"])), abs=1e-9)
    assert (len(history["series"]), history["n_arms"]) == (3, 8)
    chances = checked(admin.get(f"{voted}/win-chances", params={"top": 4}))
    win, tie = np.array(chances["win"]), np.array(chances["tie"])
    off = ~np.eye(4, dtype=bool)
    assert (win + win.T + tie)[off] == pytest.approx(1.0)
    roughly = {"tolerance": 0.499, "unit": "chance", "goal": "best"}
    assert "to within 0.499 in the chance to win" in checked(admin.get(f"{voted}/can-stop", params=roughly))["reason"]
    stop = checked(admin.get(f"{voted}/can-stop"))
    assert (stop["done"], stop["reason"]) == (study.can_stop().done, study.can_stop().statement)
    assert checked(admin.get(f"{voted}/recommend"))["best"] == order[0]


@pytest.mark.parametrize("name", ["can-stop", "recommend", "progress"])
def test_tolerances_are_validated_as_in_the_library(
    admin: httpx.Client, voted: str, storage: str, server: Running, name: str
) -> None:
    verb = name.replace("-", "_")
    here = opened(storage, voted)
    there = load_study(f"{server.address}{voted.replace('studies', 'study')}", token=server.token)
    assert getattr(there, verb)(tolerance=1.0) == getattr(here, verb)(tolerance=1.0)
    there.close()
    for wrong in ({"tolerance": 0.5, "unit": "chance"}, {"tolerance": math.inf}):
        said = refused(admin.get(f"{voted}/{name}", params=wrong), 422, "invalid_input")
        with pytest.raises(InvalidInput) as library:
            getattr(here, verb)(**wrong)
        assert f"{said['message']} {said['hint']}" == str(library.value)


def test_the_log_has_pages_and_filters(admin: httpx.Client, voted: str, storage: str) -> None:
    log = opened(storage, voted).votes()
    pages: list[Any] = []
    before: int | None = None
    while True:
        page = checked(admin.get(f"{voted}/log", params={"limit": 17, **({"before": before} if before else {})}))
        pages += page["votes"]
        before = page["next"]
        if before is None:
            break
    assert [row["sequence"] for row in pages] == [vote.sequence for vote in reversed(log)]
    assert page["total"] == len(log)
    for name, value in (("rater", "r1"), ("outcome", "tie"), ("kind", "gold")):
        rows = checked(admin.get(f"{voted}/log", params={name: value, "limit": 1000}))["votes"]
        assert [row["sequence"] for row in rows] == [v.sequence for v in reversed(log) if getattr(v, name) == value]
    rows = checked(admin.get(f"{voted}/log", params={"arm": "a2", "limit": 1000}))["votes"]
    assert len(rows) == sum("a2" in (vote.first, vote.second) for vote in log)


def test_an_unchanged_result_is_not_sent_again(admin: httpx.Client, voted: str) -> None:
    first = admin.get(f"{voted}/leaderboard")
    tag = {"If-None-Match": first.headers["etag"]}
    again = admin.get(f"{voted}/leaderboard", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    duel = checked(admin.post(f"{voted}/ask", json={"rater": "new"}))["id"]
    checked(admin.post(f"{voted}/votes", json={"duel": duel, "rater": "new", "outcome": "first"}))
    later = admin.get(f"{voted}/leaderboard", headers=tag)
    assert (later.status_code, later.headers["etag"] != first.headers["etag"]) == (200, True)


def test_events_report_every_change(admin: httpx.Client, study: str) -> None:
    def change() -> None:
        duel = checked(admin.post(f"{study}/ask", json={"rater": "ana"}))["id"]
        checked(admin.post(f"{study}/votes", json={"duel": duel, "rater": "ana", "outcome": "first"}))

    with admin.stream("GET", f"{study}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in stream.iter_lines() if line.startswith("data: "))
        assert json.loads(next(lines)[6:])["votes"] == 0
        change()
        seen = json.loads(next(lines)[6:])
        while seen["votes"] < 1:
            seen = json.loads(next(lines)[6:])
        assert (seen["votes"], seen["arms"], seen["state"]) == (1, 6, "open")


def test_subscribed_studies_stay_open_while_others_close(
    admin: httpx.Client, study: str, make: Callable[..., str]
) -> None:
    """Idle studies are closed, but not those with subscribers."""
    with admin.stream("GET", f"{study}/events") as stream:
        lines = stream.iter_lines()
        assert json.loads(next(line for line in lines if line.startswith("data: "))[6:])["votes"] == 0
        for _ in range(MAX_IDLE_STUDIES + 1):
            make(n_arms=2)
        duel = checked(admin.post(f"{study}/ask", json={"rater": "ana"}))["id"]
        checked(admin.post(f"{study}/votes", json={"duel": duel, "rater": "ana", "outcome": "first"}))
        heard = itertools.islice((line for line in lines if line), 30)  # on a busy machine with keep-alives between
        assert any(json.loads(line[6:])["votes"] == 1 for line in heard if line.startswith("data: "))


def test_the_queue_lists_pending_duels(admin: httpx.Client, study: str) -> None:
    duel = checked(admin.post(f"{study}/ask", json={"rater": "ana"}))
    queue = checked(admin.get(f"{study}/queue"))
    (out,) = queue["pending"]
    assert (out["duel"], out["rater"], out["first"]) == (duel["id"], "ana", duel["first"]["id"])
    checked(admin.post(f"{study}/release", json={"duel": duel["id"], "rater": "ana"}), 204)
    assert checked(admin.get(f"{study}/queue")) == {"pending": [], "expired": [], "returned": 1, "late": 0}


@pytest.mark.parametrize("form", ["csv", "jsonl", "arena", "trl", "trl-unpaired", "openai", "label-studio", "evalica"])
def test_exports_equal_those_of_the_library(
    admin: httpx.Client, voted: str, storage: str, tmp_path: Path, form: str
) -> None:
    answer = admin.get(f"{voted}/export/{form}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    path = tmp_path / answer.headers["content-disposition"].rpartition(".")[2]
    path = path.with_name(f"votes.{path.name}")
    written = opened(storage, voted).export(path, form)
    assert answer.content == path.read_bytes()
    assert json.loads(answer.headers["x-duelist-export-report"])["rows"] == written.rows
    refused(admin.get(f"{voted}/export/{form}", params={"nonsense": "1"}), 422, "invalid_input")


def test_archives_and_imports_restore_all_votes(admin: httpx.Client, voted: str, storage: str, tmp_path: Path) -> None:
    (tmp_path / "a.duelist").write_bytes(admin.get(f"{voted}/archive").content)
    votes = opened(storage, voted).votes()
    assert restore_study(tmp_path / "a.duelist", "memory").votes() == votes
    body = (tmp_path / "a.duelist").read_bytes()
    refused(admin.post("/studies/restore", content=body), 409, "study_exists")
    made = checked(admin.post("/studies/restore", params={"name": f"again {voted}"}, content=body), 201)
    assert opened(storage, f"/studies/{made['id']}").votes() == votes
    refused(admin.post("/studies/restore", content=body[:-100]), 422, "invalid_archive")
    log = admin.get(f"{voted}/export/jsonl").content
    found = checked(admin.post(f"{voted}/import", params={"filename": "log.jsonl"}, content=log))
    assert found["added"] == 0
    backup = tmp_path / "backup.db"
    backup.write_bytes(admin.get("/backup").content)
    assert opened(f"sqlite:///{backup}", voted).votes() == votes


def test_an_archive_names_no_module(admin: httpx.Client, voted: str, tmp_path: Path) -> None:
    """A module in an archive is not even looked for; `tests.study.test_untrusted_policies` shows that none is imported."""
    (tmp_path / "a.duelist").write_bytes(admin.get(f"{voted}/archive").content)

    def in_snapshots(manifest: dict[str, Any], tables: Tables) -> None:
        for line in tables["snapshots"]:
            snapshot = json.loads(zlib.decompress(base64.b64decode(line[1]))) | {"policy": "evilpol:Evil"}
            line[1] = base64.b64encode(zlib.compress(json.dumps(snapshot).encode())).decode()

    def in_settings(manifest: dict[str, Any], tables: Tables) -> None:
        manifest |= {"name": f"evil {voted}"}
        manifest["settings"] |= {"policy": "evilpol:Evil", "policy_settings": {}}

    body = rewrite(tmp_path / "a.duelist", tmp_path / "bad.duelist", in_snapshots).read_bytes()
    refused(admin.post("/studies/restore", params={"name": f"evil {voted}"}, content=body), 422, "invalid_archive")
    body = rewrite(tmp_path / "a.duelist", tmp_path / "bad.duelist", in_settings).read_bytes()
    refused(admin.post("/studies/restore", content=body), 422, "invalid_input.class_not_registered")
    refused(
        admin.post("/studies", json={"name": "evil", "policy": "evilpol:Evil"}),
        422,
        "invalid_input.class_not_registered",
    )
    assert f"evil {voted}" not in admin.get("/studies").text


def test_metrics_count(admin: httpx.Client, study: str, server: Any) -> None:
    text = admin.get(f"{server.address}/metrics").text
    number = study.rsplit("/", 1)[1]
    assert f'duelist_study_arms{{study="{number}"}} 6.0' in text
    assert "duelist_request_seconds_bucket" in text


def test_a_plan_is_simulated_by_the_worker(admin: httpx.Client) -> None:
    body = {"items": 4, "raters": 5, "votes_per_rater": 6, "effect": 0.8, "tolerance": 0.2, "pay_per_rater": 2.0}
    found = checked(admin.post("/plan", json=body))
    assert found["budget"] == 30
    assert found["most_cost"] == 10.0
    assert found["curve"][-1]["decided"] == found["chance_decided"]
    long = {"items": 400, "goal": "rank", "raters": 1000, "votes_per_rater": 100}
    assert refused(admin.post("/plan", json=long), 422, "invalid_input")["field"] == "raters"
