"""A remote study is used like a local one, with the same results."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import duelist as dl
from duelist.core.errors import (
    ConnectionLost,
    InvalidInput,
    NoPairsLeft,
    NotAllowed,
    UnknownArm,
    UnknownStudy,
    VoteConflict,
)
from duelist.study import RemoteStudy, create_study
from tests.helpers.server import Running
from tests.server.conftest import checked, opened, refused, token_of

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.5]]


def script(study: Any, folder: Path) -> dict[str, Any]:
    """Use most methods of a study and return their results."""
    assert (
        study.add_arms(
            list("abcd"),
            FEATURES,
            payloads=["A", {"text": "B"}, "C", None],
            contexts="p",
            context_payloads={"p": "Why?"},
        )
        == 4
    )
    assert study.add_arms(["a"], [FEATURES[0]], payloads=["A"], contexts="p") == 0
    study.add_gold("a", "b", "first")
    shown = []
    for k in range(10):
        rater = ("ana", "ben")[k % 2]
        duel = study.ask(rater)
        shown.append((duel.id, duel.first, duel.second, duel.kind, duel.chosen_by, duel.prompt, duel.context))
        ahead = study.ask(rater, in_progress=[duel])
        assert ahead.id != duel.id
        study.release(ahead, rater)
        study.tell(duel, ("first", "second", "tie")[k % 3], rater=rater, response_seconds=2.0, reason="so")
    with pytest.raises(VoteConflict) as caught:
        study.tell(1, "both_bad", rater="ana")
    assert caught.value.code == "vote_conflict.contradiction"
    study.tell(1, "both_bad", rater="ana", revise=True)
    study.undo(1, rater="ana")
    with pytest.raises(UnknownArm):
        study.retire(["nobody"])
    with pytest.raises(InvalidInput):
        study.change(lease_seconds=-1)
    study.limit(per_rater=50)
    study.describe_rater("ana", age=31, name="Ana")
    study.block("ben")
    study.reinstate("ben")
    study.rename(f"{study.name}, renamed")
    study.pause()
    export = study.export(folder / "votes.csv", "csv")
    study.save(folder / "study.duelist")
    return {
        "shown": shown,
        "arms": study.arms(),
        "contexts": study.contexts(),
        "votes": [
            (v.sequence, v.duel_id, v.outcome, v.rater, v.first, v.second, v.reason, v.revises, v.kind)
            for v in study.votes()
        ],
        "page": [v.sequence for v in study.log(limit=3, rater="ana").votes],
        "pending": len(study.pending()),
        "board": study.leaderboard(),
        "chances": set(study.win_chances().arms),
        "matrix": {frozenset(study.win_matrix().arms), int(study.win_matrix().wins.sum())},
        "history": study.history().votes.tolist(),
        "calibration": study.calibration(),
        "raters": [(row.rater, row.votes, row.gold) for row in study.raters().rows],
        "progress": study.progress(),
        "recommend": study.recommend(),
        "can_stop": study.can_stop(),
        "why": study.explain(2),
        "gold": study.gold(),
        "export": export,
        "state": study.state,
        "length": len(study),
        "limit": study.settings.max_votes_per_rater,
        "erased": study.erase_rater("ana"),
    }


def test_a_script_gives_the_same_results_locally_and_remotely(server: Running, admin: Any, tmp_path: Path) -> None:
    settings = {"seed": 5, "random_share": 0.3, "gold_share": 0.5}
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here = create_study("same", f"sqlite:///{tmp_path / 'here.db'}", **settings)
    assert admin.post("/studies", json={"name": "same", "settings": settings}).status_code == 201
    there = dl.load_study("same", storage=server.address, token=server.token)
    assert isinstance(there, RemoteStudy)
    with there:
        local, remote = script(here, tmp_path / "here"), script(there, tmp_path / "there")
    assert list(local) == list(remote)
    for name, value in local.items():
        assert remote[name] == value, name
    rows = [(tmp_path / side / "votes.csv").read_text().count("\n") for side in ("here", "there")]
    assert rows[0] == rows[1] > 5


@pytest.mark.parametrize("own", [True, False, None])
@pytest.mark.parametrize("goal", ["best", "serve"])
def test_arm_effects_are_fixed_at_creation(admin: Any, storage: str, own: bool | None, goal: str) -> None:
    name = f"{goal}, arm effects {own}"
    body = {"name": name, "goal": goal, "settings": {"arm_effects": own}}
    made = checked(admin.post("/studies", json=body), 201)
    here = create_study("here", "memory", goal=goal, **({} if own is None else {"arm_effects": own}))
    assert (
        made["settings"]["arm_effects"]
        == here.settings.arm_effects
        == opened(storage, f"/{made['id']}").settings.arm_effects
    )
    error = refused(
        admin.patch(f"/studies/{made['id']}", json={"settings": {"arm_effects": True}}), 422, "invalid_input"
    )
    assert "fixed when a study is created" in error["message"]
    assert checked(admin.post("/studies", json={**body, "load_if_exists": True}), 201)["id"] == made["id"]


def test_a_raters_token_names_the_rater(server: Running, admin: Any, study: str) -> None:
    token = token_of(admin, study, "rater", rater="zoe")
    number = study.rsplit("/", 1)[1]
    for address in (f"{server.address}/study/{number}", server.address):
        with dl.load_study(address, token=token) as rating:
            duel = rating.ask()
            assert duel.first.payload[0]["type"] == "text"
            assert rating.tell(duel, "first").duel_id == duel.id
            with pytest.raises(NotAllowed, match="scope"):
                rating.leaderboard()


def test_remote_errors_are_those_of_the_library(
    server: Running, admin: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownStudy, match="There are"):
        dl.load_study("no such", storage=server.address, token=server.token)
    with pytest.raises(NotAllowed):
        dl.load_study("any", storage=server.address, token="wrong")
    monkeypatch.setattr("duelist.study.remote.http_client._FIRST_WAIT", 0.001)
    with pytest.raises(ConnectionLost, match="idempotent"):
        dl.load_study("any", storage="http://127.0.0.1:9", token="wrong")
    with closing(dl.load_study(f"{server.address}/study/{make(2).rsplit('/', 1)[1]}", token=server.token)) as two:
        two.tell(two.ask("ana"), "first", "ana")
        with pytest.raises(NoPairsLeft):
            two.ask("ana")
