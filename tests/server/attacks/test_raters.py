"""Raters who want to choose pairs, hold them, flood the log, or know what they are not to know."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import httpx
import numpy as np
import pytest

from duelist.server.hidden_names import HiddenNames
from duelist.study.voting.tell import MAX_CHANGES, MAX_PENDING
from tests.helpers.server import Running
from tests.server.conftest import checked, opened, refused, token_of


@pytest.fixture
def eve(server: Running, admin: httpx.Client, make: Callable[..., str]) -> Iterator[tuple[httpx.Client, str]]:
    """A rater of a study with gold, repeated and random pairs and a limit."""
    study = make(30, gold_share=0.4, random_share=0.3, repeat_pairs=0.2, answers=["tie"], max_votes_per_rater=14)
    for k in range(0, 30, 2):
        checked(admin.post(f"{study}/gold", json={"first": f"a{k}", "second": f"a{k + 1}", "outcome": "first"}))
    with server.client(token_of(admin, study, "rater", rater="eve")) as client:
        yield client, study


@pytest.mark.parametrize("body", [{"candidates": ["a0", "a1"]}, {"candidates": ["nothing"]}, {"context": "x"}])
def test_raters_choose_neither_items_nor_context(eve: tuple[httpx.Client, str], body: dict[str, object]) -> None:
    client, study = eve
    refused(client.post(f"{study}/ask", json=body), 403, "not_allowed")


def test_a_vote_of_a_rater_is_human_and_among_the_answers_that_are_offered(eve: tuple[httpx.Client, str]) -> None:
    client, study = eve
    duel = checked(client.post(f"{study}/ask", json={}))["id"]
    for source in ("import", "model"):
        body = {"duel": duel, "outcome": "first", "source": source}
        refused(client.post(f"{study}/votes", json=body), 403, "not_allowed")
    for outcome in ("skip", "both_bad"):
        refused(client.post(f"{study}/votes", json={"duel": duel, "outcome": outcome}), 422, "invalid_input")
    reason = {"duel": duel, "outcome": "tie", "reason": "x" * 2001}
    assert refused(client.post(f"{study}/votes", json=reason), 422, "invalid_input")["field"] == "reason"
    checked(client.post(f"{study}/votes", json={"duel": duel, "outcome": "tie", "reason": "x" * 2000}))


def test_a_vote_is_changed_only_so_often(eve: tuple[httpx.Client, str], storage: str) -> None:
    client, study = eve
    duel = checked(client.post(f"{study}/ask", json={}))["id"]
    for k in range(MAX_CHANGES + 1):
        body = {"duel": duel, "outcome": ("first", "second")[k % 2], "revise": True}
        checked(client.post(f"{study}/votes", json=body))
    for change in ({"outcome": "tie", "revise": True}, {"outcome": "second", "revise": True}):
        refused(client.post(f"{study}/votes", json={"duel": duel, **change}), 409, "vote_conflict.changes")
    refused(client.post(f"{study}/undo", json={"duel": duel}), 409, "vote_conflict.changes")
    assert len(opened(storage, study).votes()) == MAX_CHANGES + 1


def test_a_rater_cannot_hold_all_pairs(eve: tuple[httpx.Client, str], admin: httpx.Client, storage: str) -> None:
    client, study = eve
    checked(admin.patch(study, json={"settings": {"max_votes_per_rater": None}}))
    voted: list[int] = []
    for _ in range(MAX_PENDING + 8):
        voted.append(checked(client.post(f"{study}/ask", json={}))["id"])
        checked(client.post(f"{study}/votes", json={"duel": voted[-1], "outcome": "tie"}))
    for duel in voted:
        checked(client.post(f"{study}/undo", json={"duel": duel}))
    assert len(opened(storage, study).pending()) == MAX_PENDING


def test_the_limit_does_not_tell_gold_pairs(eve: tuple[httpx.Client, str], storage: str) -> None:
    """It counted neither gold nor repeated pairs: 14 of 14 gold pairs were told apart by asking beside each."""
    client, study = eve
    for _ in range(14):
        assert checked(client.get(f"{study}/me"))["votes"] < 14
        duel = checked(client.post(f"{study}/ask", json={}))["id"]
        checked(client.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
    error = refused(client.post(f"{study}/ask", json={}), 409, "limit_reached")
    assert not any(character.isdigit() for character in error["message"] + error["hint"])
    kinds = {vote.kind for vote in opened(storage, study).votes()}
    assert len(kinds) > 1
    assert checked(client.get(f"{study}/me"))["votes"] == 14


def test_the_last_pair_before_the_limit_is_the_last_whatever_it_is(
    server: Running, admin: httpx.Client, make: Callable[..., str], storage: str
) -> None:
    study = make(12, gold_share=0.5, max_votes_per_rater=1)
    for k in range(0, 12, 2):
        checked(admin.post(f"{study}/gold", json={"first": f"a{k}", "second": f"a{k + 1}", "outcome": "first"}))
    for k in range(12):
        with server.client(token_of(admin, study, "rater", rater=f"rater {k}")) as client:
            duel = checked(client.post(f"{study}/ask", json={}))["id"]
            refused(client.post(f"{study}/ask", json={"in_progress": [duel]}), 409, "limit_reached")
            checked(client.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
            refused(client.post(f"{study}/ask", json={}), 409, "limit_reached")
    assert len({vote.kind for vote in opened(storage, study).votes()}) == 2


def test_a_released_pair_comes_back_whatever_it_is(eve: tuple[httpx.Client, str], admin: httpx.Client) -> None:
    """If only normal pairs came back, releasing a pair would tell its kind."""
    client, study = eve
    checked(admin.patch(study, json={"settings": {"max_votes_per_rater": None, "gold_share": 0.0}}))
    for _ in range(40):
        first = checked(client.post(f"{study}/ask", json={}))
        checked(client.post(f"{study}/release", json={"duel": first["id"]}), 204)
        again = checked(client.post(f"{study}/ask", json={}))
        assert again["id"] == first["id"]
        checked(client.post(f"{study}/votes", json={"duel": again["id"], "outcome": "first"}))
    kinds = {vote["kind"] for vote in checked(admin.get(f"{study}/log"))["votes"]}
    assert kinds == {"normal", "repeat"}


def test_raters_cannot_compute_which_pairs_are_gold(eve: tuple[httpx.Client, str], admin: httpx.Client) -> None:
    """A rater who knows the source, the seed (0 by default) and the numbers of duels and votes computed 23 of 23 gold pairs."""
    client, study = eve
    checked(admin.patch(study, json={"settings": {"max_votes_per_rater": None}}))
    votes, coins = 0, {}
    for number in range(1, 61):
        duel = checked(client.post(f"{study}/ask", json={}))["id"]
        entropy = 0, 0x676F6C64, number - 1, votes, zlib.crc32(b"eve")
        coins[number] = np.random.default_rng(entropy).random()
        vote = checked(client.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}))
        votes = vote["votes"][0]["sequence"]
    log = checked(admin.get(f"{study}/log"))["votes"]
    gold = [vote["duel_id"] for vote in log if vote["kind"] == "gold"]
    assert {vote["duel_id"] for vote in log} == set(coins)
    assert len(gold) >= 8
    assert any(coins[duel] > 0.4 for duel in gold), "all coins are those that the rater has computed"


def test_numbers_of_pairs_tell_raters_nothing(server: Running, admin: httpx.Client, make: Callable[..., str]) -> None:
    """With two raters per pair, a number smaller than the one before said that a pair is no gold pair."""
    study = make(8, raters_per_duel=2)
    clients = [server.client(token_of(admin, study, "rater", rater=name)) for name in ("ana", "ben")]
    numbers: list[list[int]] = [[], []]
    for _ in range(20):
        for client, own in zip(clients, numbers, strict=True):
            duel = checked(client.post(f"{study}/ask", json={}))
            own.append(duel["id"])
            assert checked(client.post(f"{study}/ask", json={}))["id"] == duel["id"]
            other = checked(client.post(f"{study}/ask", json={"in_progress": [duel["id"]]}))["id"]
            assert other != duel["id"]
            checked(client.post(f"{study}/release", json={"duel": other}), 204)
            vote = checked(client.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "first"}))["votes"][0]
            assert vote["duel_id"] == duel["id"]
            assert checked(client.get(f"{study}/me"))["recent"][0]["duel_id"] == duel["id"]
            undone = checked(client.post(f"{study}/undo", json={"duel": duel["id"]}))["votes"][0]
            assert undone["duel_id"] == duel["id"]
            checked(client.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "first"}))
    for client in clients:
        client.close()
    stored = {vote["duel_id"] for vote in checked(admin.get(f"{study}/log"))["votes"]}
    assert max(stored) < 100 < min(number for own in numbers for number in own)
    assert set(numbers[0]) & set(numbers[1]), "they share pairs"
    assert all(own != sorted(own) for own in numbers)


def test_errors_tell_raters_neither_numbers_nor_names(eve: tuple[httpx.Client, str], admin: httpx.Client) -> None:
    client, study = eve
    other = checked(admin.post(f"{study}/ask", json={"rater": "ben"}))["id"]
    texts = [client.post(f"{study}/votes", json={"duel": duel, "outcome": "first"}) for duel in (other, 2**40)]
    assert len({answer.json()["error"]["message"] for answer in texts}) == 1
    checked(admin.patch(study, json={"name": "Which is sold by Acme?", "state": "paused"}))
    error = refused(client.post(f"{study}/ask", json={}), 409, "study_not_open")
    assert "Acme" not in error["message"]


def test_names_of_files_and_contexts_are_hidden_from_raters(
    server: Running, admin: httpx.Client, make: Callable[..., str]
) -> None:
    """The address of a file was its name, such as gpt-4/cat.png."""
    study, other = make(0), make(0)
    arms = [{"id": name, "payload": {"image": "deep/dog.png", "alt": ""}, "context": "sold by Acme"} for name in "ab"]
    checked(admin.post(f"{study}/arms", json={"arms": arms}))
    with server.client(token_of(admin, study, "rater", rater="eve")) as client:
        answer = client.post(f"{study}/ask", json={})
        assert not any(word in answer.text for word in ("deep", "dog", "Acme"))
        source = checked(answer)["first"]["content"][0]["src"].removeprefix("/api/v1")
        assert client.get(source).content == b"\x89PNG dog"
        place = source.rindex("~") + 8
        changed = source[:place] + ("A" if source[place] != "A" else "B") + source[place + 1 :]
        for path in (f"{study}/media/deep/dog.png", changed, f"{study}/media/~.png"):
            refused(client.get(path), 404, "unknown_arm")
    with server.client(token_of(admin, other, "rater", rater="eve")) as client:
        refused(client.get(f"{other}/media/{source.rpartition('/')[2]}"), 404, "unknown_arm")


def test_the_length_of_a_media_address_does_not_tell_whose_picture_it_is() -> None:
    """An encrypted name was as long as the name: `gpt-4/1.png` and `llama-2-70b/1.png` differed by 8 characters."""
    names = HiddenNames(b"secret")
    files = ["gpt-4/1.png", "llama-2-70b/1.png", f"{'a' * 100}/é.png"]
    hidden = [names.hide(7, file) for file in files]
    assert len({len(each) for each in hidden}) == 1
    assert [names.reveal(7, each) for each in hidden] == files
