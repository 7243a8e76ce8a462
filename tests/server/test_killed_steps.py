"""Consent, answers and automatic exclusion that the server has acknowledged survive its death."""

from __future__ import annotations

from pathlib import Path

from duelist.study import load_study
from tests.helpers.server import close, start
from tests.server.conftest import checked, token_of

FLOW = {
    "consent": {"text": "Agree?", "version": "1"},
    "questions": [{"name": "age", "text": "How old?", "kind": "number"}],
    "exclusion": {"one_side": 0.9, "after": 5},
}


def test_acknowledged_steps_survive_kill(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 's.db'}"
    server = start(storage, tmp_path / "log")
    with server.client() as admin:
        number = checked(admin.post("/studies", json={"name": "killed", "settings": {"flow": FLOW}}), 201)["id"]
        path = f"/studies/{number}"
        checked(admin.post(f"{path}/arms", json={"arms": [{"id": f"a{k}"} for k in range(6)]}))
        tokens = {rater: token_of(admin, path, "rater", rater=rater) for rater in ("ana", "ben")}
    for rater, age in (("ana", 31), ("ben", 44)):
        with server.client(tokens[rater]) as client:
            checked(client.post(f"{path}/consent", json={"version": "1"}), 204)
            checked(client.post(f"{path}/answers", json={"answers": {"age": age}}), 204)
            for _ in range(5 if rater == "ana" else 1):
                duel = checked(client.post(f"{path}/ask", json={}))["id"]
                checked(client.post(f"{path}/votes", json={"duel": duel, "outcome": "first"}))
    server.kill()
    close(server.process)
    with load_study("killed", storage) as study:
        ana, ben = study.rater("ana"), study.rater("ben")
        assert (ana.consent_version, ana.attributes, ana.excluded_by) == ("1", {"age": 31}, "side")
        assert (ben.consent_version, ben.attributes, ben.excluded_by) == ("1", {"age": 44}, None)
        assert len(study) == 6
