"""Recruiting: URL parameters, places, drop-outs, endings, and what outsiders cannot do."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from duelist.core.errors import InvalidInput, LimitReached, ParticipationEnded, RaterExists, StudyFull, StudyNotOpen
from duelist.study import (
    Departure,
    Ending,
    Recruiting,
    Study,
    StudySettings,
    create_study,
    recruiting_for,
    restore_study,
)
from duelist.study.formats import read
from duelist.study.participation.recruiting import checked_parameters, checked_recruiting
from tests.study.conftest import filled

MINUTE = 60.0


class Clock:
    """Seconds since 1970 that a test sets."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def make(clock: Clock, recruiting: Any, **settings: Any) -> Study:
    """Create an open study of six arms with this clock."""
    made = create_study("s", "memory", open_registration=True, recruiting=recruiting, **settings)
    made.add_arms([f"a{k}" for k in range(6)])
    return Study(made._storage, made._storage.list_studies()[0], clock)


def vote(study: Study, rater: str, n: int = 1) -> None:
    for _ in range(n):
        study.tell(study.ask(rater), "first", rater)


# -- settings ----------------------------------------------------------------------------


def test_a_service_sends_an_id_and_gets_the_code_back() -> None:
    found = recruiting_for("prolific", completed="C1", screened_out="S2", places=3)
    assert found.participant == "PROLIFIC_PID"
    assert found.completed.address({}) == "https://app.prolific.com/submissions/complete?cc=C1"
    assert found.screened_out.address({}) == "https://app.prolific.com/submissions/complete?cc=S2"
    assert StudySettings(policy="VACDB", recruiting=found).recruiting.places == 3


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/",
        "javascript:alert(1)",
        "//example.com",
        "https://",
        "https://{ID}.example.com/?x=1",
        "https://example.com/{ID}",
        "https://me@example.com/",
        "https://example.com\\@evil.com/",
        "https://example.com/ x",
        "https://exa\nmple.com/",
        "https://éxample.com/",
        'https://example.com/?"><script>',
        "https://example.com:99999/",
        "https://example.com/" + "x" * 2000,
        7,
    ],
)
def test_only_fixed_https_addresses_are_redirects(address: Any) -> None:
    with pytest.raises(InvalidInput):
        checked_recruiting({"completed": {"redirect": address}})


def test_a_participant_fills_in_values_of_the_query_only() -> None:
    """Whatever a parameter contains, host, path and other values of the query stay the owner's."""
    ending = Ending("A&B", "https://pay.example.com/done?cc={code}&id={id}#{missing}")
    assert ending.address({"id": "x&admin=1#/../?@evil.com"}) == (
        "https://pay.example.com/done?cc=A%26B&id=x%26admin%3D1%23%2F..%2F%3F%40evil.com#"
    )
    assert ending.address({"id": "1", "code": "forged"}) == "https://pay.example.com/done?cc=A%26B&id=1#"


@pytest.mark.parametrize(
    "host",
    ["lab.example.org", "https://*.example.org", "https://a.org; script-src *", "http://a.org", "*", "https://a.org/x"],
)
def test_only_named_sites_may_embed(host: str) -> None:
    with pytest.raises(InvalidInput, match="embed_in"):
        checked_recruiting({"embed_in": [host]})


@pytest.mark.parametrize(
    "given",
    [
        {"places": 0},
        {"places": 1.5},
        {"idle_minutes": -1},
        {"idle_minutes": float("nan")},
        {"participant": ""},
        {"participant": "a\nb"},
        {"ask_name": "yes"},
        {"unknown": 1},
        {"completed": {"code": "x" * 201}},
        {"completed": {"other": "x"}},
        "prolific",
    ],
)
def test_wrong_settings_name_their_field(given: Any) -> None:
    with pytest.raises(InvalidInput) as error:
        checked_recruiting(given)
    assert error.value.field is not None
    assert error.value.field.startswith("recruiting")


# -- entering ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {f"p{k}": "x" for k in range(21)},
        {"x" * 101: "y"},
        {"x": "y" * 501},
        {"": "y"},
        {"x": "a\x00b"},
        {"x": "\ud800"},
        {"x": 3},
        ["x"],
    ],
)
def test_parameters_are_few_and_short(parameters: Any) -> None:
    with pytest.raises(InvalidInput):
        checked_parameters(parameters)


def test_parameters_are_stored_once_and_stay_few() -> None:
    study = make(Clock(), recruiting_for("prolific"))
    study.enter("p1", {"PROLIFIC_PID": "p1", "SESSION_ID": "one"})
    study.enter("p1", {"PROLIFIC_PID": "p1", "SESSION_ID": "two", "more": "x"})
    assert study.rater("p1").parameters == {"PROLIFIC_PID": "p1", "SESSION_ID": "one", "more": "x"}
    for k in range(5):
        study.enter("p1", {"PROLIFIC_PID": "p1", **{f"q{k}.{j}": "x" for j in range(19)}})
    assert len(study.rater("p1").parameters) == 20
    assert study.rater("p1").parameters["SESSION_ID"] == "one"


def test_a_name_is_not_taken_over() -> None:
    """An id that equals the name of somebody who did not enter with it opens nothing."""
    study = make(Clock(), recruiting_for("prolific"))
    vote(study, "ana")
    study.enter("ben", {"tag": "x"}, invited=True)
    for name in ("ana", "ben"):
        with pytest.raises(RaterExists):
            study.enter(name, {"PROLIFIC_PID": name})
    with pytest.raises(InvalidInput):
        study.enter("cleo", {"PROLIFIC_PID": "dan"})
    with pytest.raises(InvalidInput):
        study.enter("cleo", {})
    study.enter("eve", {"PROLIFIC_PID": "eve"})
    study.erase_rater("eve")
    with pytest.raises(RaterExists):
        study.enter("erased 1", {"PROLIFIC_PID": "erased 1"})


def test_nobody_enters_a_study_that_is_not_open() -> None:
    study = make(Clock(), None)
    study.pause()
    with pytest.raises(StudyNotOpen):
        study.enter("ana")
    study.archive()
    with pytest.raises(StudyNotOpen):
        study.enter("ana", {"x": "y"}, invited=True)


# -- places ------------------------------------------------------------------------------


def test_a_drop_out_frees_the_place_and_pairs() -> None:
    clock = Clock()
    study = make(clock, Recruiting(places=2, idle_minutes=30))
    study.enter("ana")
    study.enter("ben")
    duel = study.ask("ben")
    with pytest.raises(StudyFull):
        study.enter("cleo")
    assert study.entry().departure == Departure("full")
    clock.now += 20 * MINUTE
    vote(study, "ana")
    clock.now += 20 * MINUTE  # 40 minutes since ben was asked, 20 since ana voted
    study.enter("cleo")
    assert [study.rater(name).ending for name in ("ana", "ben", "cleo")] == [None, "timed_out", None]
    assert duel.id not in [each.id for each in study.pending()]
    with pytest.raises(ParticipationEnded):
        study.ask("ben")
    assert study.departure("ben") == Departure("timed_out")
    study.block("cleo")
    study.ask("ben")  # the place of cleo is free
    assert study.rater("ben").ending is None


def test_a_drop_out_does_not_come_back_beyond_a_quota() -> None:
    clock = Clock()
    home = {"name": "home", "text": "Where?", "kind": "choice", "options": ["north", "south"], "quotas": {"south": 1}}
    study = make(clock, Recruiting(places=3, idle_minutes=30), flow={"questions": [home]})
    study.enter("ana")
    study.answer("ana", {"home": "south"})
    clock.now += 40 * MINUTE
    study.enter("ben")
    study.answer("ben", {"home": "south"})
    assert [study.rater(name).ending for name in ("ana", "ben")] == ["timed_out", None]
    with pytest.raises(ParticipationEnded):
        study.ask("ana")
    study.block("ben")
    study.ask("ana")
    assert study.departure("ana") is None


def test_those_who_have_finished_keep_their_place_and_invited_raters_take_none() -> None:
    clock = Clock()
    study = make(clock, Recruiting(places=1, idle_minutes=1), max_votes_per_rater=2)
    study.enter("ana")
    study.enter("ben", invited=True)
    vote(study, "ben")
    vote(study, "ana", 2)
    with pytest.raises(LimitReached):
        study.ask("ana")
    assert study.rater("ana").ending == "completed"
    clock.now += 10 * MINUTE
    with pytest.raises(StudyFull):
        study.enter("cleo")
    study.change(recruiting={"places": 2})
    study.enter("cleo")


# -- endings -----------------------------------------------------------------------------


def test_only_those_who_have_finished_get_the_code() -> None:
    """A pair that is still pending, or no vote at all, is not the end, whatever a rater's page asks for."""
    study = make(Clock(), recruiting_for("prolific", completed="C1"), max_votes_per_rater=2)
    study.enter("p1", {"PROLIFIC_PID": "p1"})
    vote(study, "p1")
    duel = study.ask("p1")
    with pytest.raises(LimitReached):
        study.ask("p1", in_progress=[duel])
    assert study.departure("p1") is None
    study.tell(duel, "first", "p1")
    with pytest.raises(LimitReached):
        study.ask("p1")
    assert study.departure("p1") == Departure("completed", "C1", "https://app.prolific.com/submissions/complete?cc=C1")
    study.limit(total=2)
    study.enter("p2", {"PROLIFIC_PID": "p2"})
    with pytest.raises(LimitReached):
        study.ask("p2")
    assert study.departure("p2") is None


def test_a_blocked_participant_is_screened_out() -> None:
    study = make(Clock(), recruiting_for("prolific", completed="C1", screened_out="S1"))
    study.enter("p1", {"PROLIFIC_PID": "p1"})
    study.block("p1")
    departure = study.departure("p1")
    assert departure is not None
    assert (departure.kind, departure.code) == ("screened_out", "S1")


def test_a_study_without_recruiting_records_nothing() -> None:
    study = make(Clock(), None, max_votes_per_rater=1)
    vote(study, "ana")
    with pytest.raises(LimitReached):
        study.ask("ana")
    assert study.rater_records() == []


# -- files -------------------------------------------------------------------------------


def test_archives_restore_participation_and_erasing_removes_it(tmp_path: Path) -> None:
    study = make(Clock(), recruiting_for("sona", completed={"redirect": "https://x.sona-systems.com/?id={id}"}))
    study.enter("7", {"id": "7", "lang": "de"})
    vote(study, "7")
    restored = restore_study(study.save(tmp_path / "s.duelist"), "memory")
    assert restored.rater("7") == study.rater("7")
    assert restored.settings == study.settings
    study.erase_rater("7")
    assert study.rater("erased 1").parameters == {}
    with zipfile.ZipFile(study.save(tmp_path / "t.duelist")) as archive:
        assert "lang" not in archive.read("raters.jsonl").decode()


def test_exports_have_the_parameters_as_columns(tmp_path: Path) -> None:
    study = make(Clock(), recruiting_for("prolific"))
    study.enter("p1", {"PROLIFIC_PID": "p1", "STUDY_ID": "s9"})
    study.describe_rater("p1", age=31, note="seems tired")
    vote(study, "p1")
    vote(study, "ana")
    study.export(tmp_path / "votes.csv")
    with (tmp_path / "votes.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    names = ("rater_PROLIFIC_PID", "rater_STUDY_ID", "rater_age", "rater_note")
    assert [first.get(name) for name in names] == ["p1", "s9", "31", None]
    assert [second.get(name) for name in names] == ["", "", "", None]


def test_a_browser_that_another_participant_has_used_is_not_theirs() -> None:
    study = make(Clock(), recruiting_for("prolific"))
    study.enter("p1", {"PROLIFIC_PID": "p1"})
    with pytest.raises(RaterExists):
        study.enter("p1", {"PROLIFIC_PID": "p2"}, invited=True)


def test_made_up_parameters_neither_replace_attributes_nor_fill_exports(tmp_path: Path) -> None:
    """Each visitor could add twenty columns to every export, and replace what the owner had noted about them."""
    study = filled(open_registration=True)
    for k in range(5):
        rater = f"rater {k}"
        study.enter(rater, {"group": "expert", "SOURCE": "lab", **{f"made up {k} {j}": "x" for j in range(18)}})
        study.describe_rater(rater, group="novice")
        study.tell(study.ask(rater), "first", rater)
    study.export(tmp_path / "v.jsonl", "jsonl")
    rows = list(read(tmp_path / "v.jsonl", "jsonl"))
    columns = {name for row in rows for name in row.extra}
    assert 40 < len(columns) <= 52
    for row in rows:
        assert (row.extra["rater_group"], row.extra["rater_SOURCE"]) == ("novice", "lab")
        made_up = {**row.extra, **{f"rater_{name}": "x" for name in row.extra.get("rater_other_parameters", {})}}
        assert sum(name.startswith("rater_made up") for name in made_up) == 18
