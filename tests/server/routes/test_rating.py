"""Rating over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.helpers.server import Running
from tests.server.conftest import checked, opened, refused, token_of


def ask(client: httpx.Client, study: str, **given: object) -> dict[str, Any]:
    return checked(client.post(f"{study}/ask", json=given))


def test_a_vote_over_http_is_in_the_log(ana: httpx.Client, study: str, storage: str) -> None:
    duel = ask(ana, study)
    told = checked(ana.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "second", "reason": "better"}))
    (vote,) = opened(storage, study).votes()
    assert (vote.rater, vote.outcome, vote.reason, vote.duel_id) == ("ana", "second", "better", 1)
    assert told == {
        "votes": [
            {
                "sequence": 1,
                "duel_id": duel["id"],
                "outcome": "second",
                "late": False,
                "revises": None,
                "criterion": None,
            }
        ]
    }


def test_raters_see_neither_ids_nor_kinds_of_pairs(ana: httpx.Client, study: str, admin: httpx.Client) -> None:
    checked(admin.post(f"{study}/gold", json={"first": "a0", "second": "a1", "outcome": "first"}))
    for _ in range(12):
        duel = ask(ana, study)
        assert set(duel) == {"id", "first", "second", "prompt", "context", "rater", "asked_at", "deadline"}
        assert set(duel["first"]) == set(duel["second"]) == {"content"}
        assert duel["first"]["content"][0]["text"].startswith("text ")
        checked(ana.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "skip"}))
    told = checked(admin.post(f"{study}/ask", json={"rater": "eve"}))
    assert {"kind", "chosen_by", "propensity"} <= set(told)
    assert told["first"]["id"].startswith("a")


def test_ask_repeats_a_pending_duel_and_returns_another_beside_it(ana: httpx.Client, study: str) -> None:
    first = ask(ana, study)
    assert ask(ana, study) == first
    second = ask(ana, study, in_progress=[first["id"]])
    assert second["id"] != first["id"]
    assert ask(ana, study, in_progress=[first["id"]]) == second
    assert ask(ana, study) == first, "the older one comes first after a reload"
    checked(ana.post(f"{study}/votes", json={"duel": first["id"], "outcome": "tie"}))
    assert ask(ana, study) == second


def test_votes_are_idempotent_and_changes_need_revise(ana: httpx.Client, study: str, storage: str) -> None:
    duel = ask(ana, study)["id"]
    body = {"duel": duel, "outcome": "first"}
    assert checked(ana.post(f"{study}/votes", json=body)) == checked(ana.post(f"{study}/votes", json=body))
    error = refused(ana.post(f"{study}/votes", json={**body, "outcome": "tie"}), 409, "vote_conflict")
    assert '"revise": true' in error["hint"]
    assert len(opened(storage, study)) == 1
    checked(ana.post(f"{study}/votes", json={**body, "outcome": "tie", "revise": True}))
    assert [vote.outcome for vote in opened(storage, study).votes()] == ["first", "tie"]


def test_names_pass_through_errors_as_they_are(admin: httpx.Client, study: str) -> None:
    name = "None of these; 2024"
    checked(admin.patch(study, json={"name": name, "state": "paused"}))
    error = refused(admin.post(f"{study}/ask", json={"rater": "ana"}), 409, "study_not_open")
    assert f"Study '{name}' is paused" in error["message"]
    assert error["hint"] == "An owner can open it again."


def test_undo_and_release_return_the_duel(ana: httpx.Client, study: str, storage: str) -> None:
    duel = ask(ana, study)["id"]
    checked(ana.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
    undone = checked(ana.post(f"{study}/undo", json={"duel": duel}))["votes"][0]
    assert (undone["outcome"], undone["revises"]) == (None, 1)
    assert ask(ana, study)["id"] == duel
    checked(ana.post(f"{study}/release", json={"duel": duel}), 204)
    checked(ana.post(f"{study}/release", json={"duel": duel}), 204)
    assert opened(storage, study).pending() == []


def test_me_reports_progress(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(question="Which is funnier?", guidelines="# Look\n*twice*", answers=["tie"], ask_reason=True)
    checked(admin.patch(study, json={"settings": {"max_votes_per_rater": 9}}))
    with server.client(token_of(admin, study, "rater", rater="bo")) as bo:
        duels = []
        for outcome in ("first", "second", "tie"):
            duels.append(ask(bo, study)["id"])
            checked(bo.post(f"{study}/votes", json={"duel": duels[-1], "outcome": outcome}))
        checked(bo.post(f"{study}/undo", json={"duel": duels[0]}))
        me = checked(bo.get(f"{study}/me"))
    assert (me["rater"], me["votes"], me["max_votes"], me["state"]) == ("bo", 2, 9, "open")
    assert me["recent"] == [{"duel_id": duels[2], "outcome": "tie"}, {"duel_id": duels[1], "outcome": "second"}]
    assert me["answers"] == ["first", "second", "tie"]
    assert (me["question"], me["guidelines"], me["ask_reason"]) == ("Which is funnier?", "# Look\n*twice*", True)


def test_votes_on_several_criteria_are_sent_together(
    server: Running, admin: httpx.Client, make: Callable[..., str], storage: str
) -> None:
    study = make(criteria=["clear", "short"])
    duel = ask(admin, study, rater="ana")["id"]
    refused(admin.post(f"{study}/votes", json={"duel": duel, "outcome": "tie", "rater": "ana"}), 422, "invalid_input")
    body = {"duel": duel, "outcomes": {"clear": "first", "short": "tie"}, "rater": "ana"}
    checked(admin.post(f"{study}/votes", json=body))
    assert [(v.criterion, v.outcome) for v in opened(storage, study).votes()] == [("clear", "first"), ("short", "tie")]


def test_a_rater_who_has_seen_all_pairs_gets_an_error(ana: httpx.Client, study: str) -> None:
    for _ in range(15):  # all pairs of six arms
        duel = ask(ana, study)["id"]
        checked(ana.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
    refused(ana.post(f"{study}/ask", json={}), 409, "no_pairs_left")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"state": "paused"}, 409, "study_not_open"),
        ({"state": "ended"}, 409, "study_not_open"),
        ({"settings": {"max_votes": 1}}, 409, "limit_reached"),
    ],
)
def test_paused_ended_and_full_studies_ask_nothing(
    ana: httpx.Client, admin: httpx.Client, study: str, change: dict[str, object], status: int, code: str
) -> None:
    duel = ask(ana, study)["id"]
    checked(ana.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
    checked(admin.patch(study, json=change))
    error = refused(ana.post(f"{study}/ask", json={}), status, code)
    assert "`" not in error["message"] + error["hint"], "words of Python's interface"


def test_a_blocked_rater_gets_no_duels_until_reinstated(ana: httpx.Client, admin: httpx.Client, study: str) -> None:
    ask(ana, study)
    checked(admin.post(f"{study}/raters/block", json={"rater": "ana"}))
    refused(ana.post(f"{study}/ask", json={}), 409, "rater_blocked")
    assert checked(ana.get(f"{study}/me"))["blocked"]
    checked(admin.post(f"{study}/raters/reinstate", json={"rater": "ana"}))
    ask(ana, study)


def test_raters_get_different_pairs_at_once(server: Running, admin: httpx.Client, study: str) -> None:
    shown = []
    for name in ("ana", "ben", "cleo"):
        duel = ask(admin, study, rater=name)
        shown.append(frozenset((duel["first"]["id"], duel["second"]["id"])))
    assert len(set(shown)) == 3


def test_media_files_are_served_safely(server: Running, admin: httpx.Client, study: str) -> None:
    picture = admin.get(f"{study}/media/deep/dog.png")
    assert picture.content == b"\x89PNG dog"
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in picture.headers["content-security-policy"]
    part = admin.get(f"{study}/media/deep/dog.png", headers={"Range": "bytes=1-3"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"PNG", "bytes 1-3/8")
    for path in (
        "../secret.png",
        "..%2Fsecret.png",
        "deep/../../secret.png",
        "%2e%2e/secret.png",
        "deep",
        "x.html",
        "none.png",
    ):
        assert admin.get(f"{study}/media/{path}").status_code == 404, path


def test_pairs_come_after_consent_and_questions(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    """A rater who calls the API cannot leave out a step, and learns neither eligible answers nor quotas."""
    question = {"name": "home", "text": "Where?", "kind": "choice", "options": ["a", "b"], "accept": ["a"]}
    study = make(flow={"consent": {"text": "Agree?", "version": "1"}, "questions": [question]})
    with server.client(token_of(admin, study, "rater", rater="ana")) as ana:
        refused(ana.post(f"{study}/ask", json={}), 409, "step_missing")
        me = checked(ana.get(f"{study}/me"))
        assert me["step"] == "consent"
        assert "accept" not in me["flow"]["questions"][0]
        refused(ana.post(f"{study}/consent", json={"version": "2"}), 422, "invalid_input")
        checked(ana.post(f"{study}/consent", json={"version": "1"}), 204)
        refused(ana.post(f"{study}/ask", json={}), 409, "step_missing")
        assert refused(ana.post(f"{study}/answers", json={"answers": {"home": "c"}}), 422, "invalid_input")
        checked(ana.post(f"{study}/answers", json={"answers": {"home": "a"}}), 204)
        checked(ana.post(f"{study}/ask", json={}))
