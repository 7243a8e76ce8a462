"""Arms that are sent to a study: a table that is refused in the middle says what is there already, one that is taken what looks wrong."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from duelist.server.routes.arms import BATCH_SIZE
from tests.helpers.server import Running
from tests.server.conftest import checked, opened, refused


def test_a_table_with_an_error_adds_nothing(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(2)
    before = checked(admin.get(study))["arms"]
    rows = [f"arm {k},text {k}" for k in range(BATCH_SIZE + 5)]
    rows[-1] = "a0,another text than arm a0 has"
    table = "\n".join(["id,text", *rows])
    answer = admin.post(f"{study}/arms", content=table.encode(), headers={"content-type": "text/csv"})
    error = refused(answer, 422, "invalid_input")
    assert "'a0'" in error["message"]
    assert checked(admin.get(study))["arms"] == before


def test_a_second_table_without_ids_goes_on_counting(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(2)
    tables = ["text\none\ntwo\n", "text\ntwo\nthree\n", "text\ntwo\nthree\n"]
    answers = [
        checked(admin.post(f"{study}/arms", content=table.encode(), headers={"content-type": "text/csv"}))
        for table in tables
    ]
    assert [(each["added"], each["existing"]) for each in answers] == [(2, 0), (1, 1), (0, 2)]
    assert "generated_ids" in codes(answers[0])


def codes(answer: dict[str, Any]) -> list[str]:
    return [note["code"] for note in answer["notes"]]


CHEAP = [f"c{k},text {k},{k}" for k in range(40)]


def csv(*rows: str, columns: str = "id,text,price") -> bytes:
    return "\n".join([columns, *rows]).encode()


def send(admin: httpx.Client, study: str, way: str, table: bytes) -> dict[str, Any]:
    if way == "arms":
        return checked(admin.post(f"{study}/arms", content=table, headers={"content-type": "text/csv"}))
    return checked(admin.post(f"{study}/files", files={"file": ("arms.csv", table)}))


@pytest.mark.parametrize("way", ["arms", "files"])
def test_whoever_sends_a_table_is_told_what_looks_wrong_in_it(
    admin: httpx.Client, make: Callable[..., str], way: str
) -> None:
    study = make(0)
    assert send(admin, study, way, csv(*CHEAP))["notes"] == []
    dear = send(admin, study, way, csv("d1,dear,99999", "d2,cheap,7"))
    assert (dear["added"], dear["existing"]) == (2, 0)
    (note,) = dear["notes"]
    assert "99999 in arm d1" in note["message"], "among all arms of the study: the table itself has but two"


@pytest.mark.parametrize("way", ["arms", "files"])
def test_whoever_sends_a_table_is_told_what_is_left_out_of_it(
    admin: httpx.Client, make: Callable[..., str], way: str
) -> None:
    rows = [f"{row},{k}" for k, row in enumerate(CHEAP)]
    rows[3] = rows[3].rpartition(",")[0] + ","
    answer = send(admin, make(0), way, csv(*rows, columns="id,text,price,size"))
    assert answer["added"] == len(rows)
    assert "size" in str(answer["notes"])


def test_how_the_arms_of_a_long_table_are_numbered_is_said_once(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(0)
    rows = [f"text {k}" for k in range(2 * BATCH_SIZE + 1)]
    first = send(admin, study, "arms", csv(*rows, columns="text"))
    assert first["added"] == len(rows)
    assert "generated_ids" in codes(first)
    again = send(admin, study, "arms", csv(*rows, "one more", columns="text"))
    assert (again["added"], again["existing"]) == (1, len(rows))
    (note,) = [note for note in again["notes"] if note["code"] == "some_items_exist"]
    assert note["details"] == {"count": len(rows), "first": len(rows) + 1}


def test_two_tables_at_once_without_ids_lose_no_arm(server: Running, make: Callable[..., str], storage: str) -> None:
    study = make(0)
    tables = [csv(*(f"{side} {k}" for k in range(3 * BATCH_SIZE)), columns="text") for side in ("left", "right")]

    def upload(table: bytes) -> dict[str, Any]:
        with server.client() as client:
            return send(client, study, "arms", table)

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(upload, tables))
    assert [answer["added"] for answer in answers] == [3 * BATCH_SIZE] * 2
    assert len({arm.payload for arm in opened(storage, study).arms()}) == 6 * BATCH_SIZE


def test_of_arms_that_are_no_table_there_is_nothing_to_note(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(0)
    lines, kind = b'{"id": "a"}\n{"id": "b"}\n', {"content-type": "application/x-ndjson"}
    assert checked(admin.post(f"{study}/arms", content=lines, headers=kind)) == {"added": 2, "existing": 0, "notes": []}
    body = {"arms": [{"id": "a"}]}
    assert checked(admin.post(f"{study}/arms", json=body)) == {"added": 0, "existing": 1, "notes": []}


def test_labels_show_texts_and_pictures(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(1)
    arms = [{"id": "photo", "payload": {"image": "deep/dog.png", "alt": "A dog"}}, {"id": "bare"}]
    checked(admin.post(f"{study}/arms", json={"arms": arms}))
    number = study.rsplit("/", 1)[1]
    assert checked(admin.get(f"{study}/arms/labels"))["labels"] == {
        "a0": ["a0 “text 0”", None],
        "photo": ["photo “A dog”", f"/api/v1/studies/{number}/media/deep/dog.png"],
        "bare": ["bare", None],
    }
    decision = checked(admin.get(f"{study}/recommend", params={"labels": True}))
    assert decision["best"] == "a0 “text 0”"
