"""Arms that are sent to a study: a table that is refused in the middle says what is there already."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from duelist.server.routes.arms import AT_ONCE
from tests.server.conftest import checked, refused


def test_a_table_that_is_refused_in_the_middle_says_how_much_of_it_is_there(
    admin: httpx.Client, make: Callable[..., str]
) -> None:
    study = make(2)
    before = checked(admin.get(study))["arms"]
    rows = [f"arm {k},text {k}" for k in range(AT_ONCE + 5)]
    rows[-1] = "a0,another text than arm a0 has"
    table = "\n".join(["id,text", *rows])
    answer = admin.post(f"{study}/arms", content=table.encode(), headers={"content-type": "text/csv"})
    error = refused(answer, 422, "invalid_input")
    assert f"the first {AT_ONCE} arms of the table are added" in f"{error['message']} {error['way_out']}"
    assert checked(admin.get(study))["arms"] == before + AT_ONCE


def test_a_second_table_without_ids_goes_on_counting(admin: httpx.Client, make: Callable[..., str]) -> None:
    study = make(2)
    tables = ["text\none\ntwo\n", "text\ntwo\nthree\n", "text\ntwo\nthree\n"]
    answers = [
        checked(admin.post(f"{study}/arms", content=table.encode(), headers={"content-type": "text/csv"}))
        for table in tables
    ]
    assert [(each["added"], each["there"]) for each in answers] == [(2, 0), (1, 1), (0, 2)]
