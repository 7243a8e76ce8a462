"""What owners do from the shell, with the same words as in Python; errors name the shell's options."""

import json

from rich.console import Console

from duelist.cli import console
from tests.cli.study.test_study import shell, study, vote  # noqa: F401  (fixtures)


def test_open_pause_end_and_away(study):  # noqa: F811
    first = json.loads(study("study", "ask", "captions", "-r", "ana", "--json"))
    assert "is paused; votes on 1 pending pair still count" in study("study", "pause", "captions")
    said = study("study", "ask", "captions", "-r", "ben", code=2)
    assert "'captions' is paused and asks nothing. Open it again with `duelist study open captions`." in said
    study("study", "tell", "captions", first["id"], "first", "-r", "ana")
    assert "paused" in study("study", "list")
    study("study", "end", "captions")
    assert "ended" in study("study", "status", "captions")
    study("study", "archive", "captions")
    assert "captions" not in study("study", "list")
    assert "archived" in study("study", "list", "--all")
    assert "archived and cannot be changed" in study("study", "block", "captions", "ana", code=2)
    study("study", "open", "captions")
    assert "'captions' is now 'other'" in study("study", "rename", "captions", "other")
    vote_again = study("study", "ask", "other", "-r", "ana")
    assert "pair" in vote_again


def test_limits(study):  # noqa: F811
    assert study("study", "limit", "captions") == "no limit in total, no limit per pair, no limit per rater\n"
    assert study("study", "limit", "captions", "--total", "2", "--per-rater", 1).startswith(
        "2 in total, no limit per pair, 1"
    )
    vote(study)
    said = study("study", "ask", "captions", "-r", "ana", code=2)
    assert "`duelist study limit captions --per-rater N`; --per-rater none removes it." in said
    study("study", "limit", "captions", "--per-rater", "none")
    vote(study)
    assert "`duelist study limit captions --total N`" in study("study", "ask", "captions", "-r", "ana", code=2)
    assert "--per-pair is 'few'. Give a number of votes, or none" in study(
        "study", "limit", "captions", "--per-pair", "few", code=2
    )
    assert "lease_seconds=5" in study("study", "change", "captions", "lease_seconds=5", "gold_share=0.2")
    assert "no setting 'colour'" in study("study", "change", "captions", "colour=5", code=2)
    assert "setting is 'colour'. Give KEY=VALUE." in study("study", "change", "captions", "colour", code=2)


def test_raters(study):  # noqa: F811
    vote(study, rater="ben")
    assert "'ben' is blocked; their votes are excluded" in study("study", "block", "captions", "ben", "--exclude-votes")
    assert "Reinstate them with `duelist study reinstate captions ben`." in study(
        "study", "ask", "captions", "-r", "ben", code=2
    )
    assert "their votes count" in study("study", "reinstate", "captions", "ben")
    assert "votes still count" in study("study", "block", "captions", "ben")
    assert (
        study("study", "describe", "captions", "ben", "age=31", "from=Köln")
        == 'ben: {"age": 31, "from": "Köln"} blocked\n'
    )
    assert '{"age": 31}' in study("study", "describe", "captions", "ben", "from=null")
    assert "Repeat with --yes" in study("study", "erase", "captions", "ben", code=2)
    assert "'ben' is now 'erased 1', with 1 vote;" in study("study", "erase", "captions", "ben", "--yes")
    assert "has no rater 'ben'" in study("study", "erase", "captions", "ben", "--yes")


def test_gold_and_why(study):  # noqa: F811
    study("study", "change", "captions", "gold_share=1")
    assert study("study", "gold", "captions", "a0", "a1", "second") == "a0 “text 0” against a1 “text 1”: second\n"
    duel = vote(study)
    assert duel["kind"] == "gold"
    assert "It is a gold pair" in study("study", "explain", "captions", duel["id"])
    assert "Give FIRST SECOND OUTCOME, or --remove" in study("study", "gold", "captions", "a0", code=2)
    assert "'z' is not in this study. Add it with `duelist study add-items`" in study(
        "study", "gold", "captions", "a0", "z", "tie", code=2
    )
    assert study("study", "gold", "captions", "--remove", "a0", "a1") == ""
    assert study("study", "gold", "captions") == ""
    duel = vote(study)
    assert "LocalPairUCB chose it" in study("study", "explain", "captions", duel["id"])


def test_archive_restore_copy_and_backup(study):  # noqa: F811
    vote(study)
    assert "study 'captions', 1 vote" in study("study", "save", "captions", "one.duelist")
    assert "'captions' already" in study("study", "restore", "one.duelist", code=2)
    assert "study 'two' with 5 items and 1 vote" in study("study", "restore", "one.duelist", "--name", "two")
    assert "Add --to-storage or --to-name." in study("study", "copy", "two", code=2)
    assert "'three' with 1 vote is a copy of 'two'" in study("study", "copy", "two", "--to-name", "three")
    study("study", "copy", "two", "--to-storage", "sqlite:///elsewhere.db")
    assert "two" in study("study", "list", "--storage", "sqlite:///elsewhere.db")
    assert "backup.db: 3 studies" in study("study", "backup", "backup.db")
    assert "three" in study("study", "list", "-s", "sqlite:///backup.db")
    assert "damaged or not a study archive" in study("study", "restore", "arms.jsonl", code=2)


def test_goals_and_criteria(shell):  # noqa: F811
    shell("study", "create", "captions", "--goal", "rank", "--criterion", "clear", "--criterion", "short")
    shell("study", "add-items", "captions", "arms.jsonl")
    duel = json.loads(shell("study", "ask", "captions", "-r", "ana", "--json"))
    said = shell("study", "tell", "captions", duel["id"], "first", "-r", "ana", code=2)
    assert "asks about clear, short. Name the one that the vote is on with --criterion." in said
    words = ("tell", "captions", duel["id"], "first", "-r", "ana", "--criterion", "clear", "--reason", "short words")
    shell("study", *words)
    assert "go on: the order of" in shell("study", "can-stop", "captions", code=1)
    assert "others are not ruled out" in shell("study", "can-stop", "captions", "--goal", "best", code=1)
    roughly = ("--goal", "best", "--tolerance", "0.499", "--unit", "chance")
    assert "to within 0.499 in the chance to win" in shell("study", "can-stop", "captions", *roughly)
    assert "goal is 'win'. Choose one of best, rank" in shell("study", "create", "x", "--goal", "win", code=2)
    shell("study", "undo", "captions", duel["id"], "-r", "ana", "--criterion", "clear")


def test_names_pass_through_errors_as_they_are(study):  # noqa: F811
    name = "None of these; 2024"
    study("study", "rename", "captions", name)
    study("study", "pause", name)
    said = study("study", "ask", name, "-r", "ana", code=2)
    assert f"Study '{name}' is paused" in said
    assert f"Open it again with `duelist study open '{name}'`." in said
    study("study", "open", name)
    study("study", "limit", name, "--per-rater", 1)
    duel = json.loads(study("study", "ask", name, "-r", "`open`; True", "--json"))
    study("study", "tell", name, duel["id"], "first", "-r", "`open`; True")
    said = study("study", "ask", name, "-r", "`open`; True", code=2)
    assert "Rater '`open`; True' has 1 votes, and the limit is 1." in said
    assert f"`duelist study limit '{name}' --per-rater N`" in said


def test_arms_are_retired_and_come_back(study):  # noqa: F811
    assert "4 of 5 items" in study("study", "retire", "captions", "a0", "a1", "a2", "a3")
    said = study("study", "ask", "captions", "-r", "ana", code=2)
    assert "Add items with `duelist study add-items`, or bring retired ones back with `duelist study activate`." in said
    assert "3 of 5 items" in study("study", "activate", "captions", "a0")
    vote(study)


def test_raters_lists_the_blocked(study):  # noqa: F811
    vote(study)
    study("study", "block", "captions", "ana")
    shown = study("study", "raters", "captions")
    assert "blocked, gets no more pairs: 'ana'" in shown
    assert "excluded" not in shown.splitlines()[-1]
    study("study", "block", "captions", "ana", "--exclude-votes")
    assert "votes are excluded: 'ana'" in study("study", "raters", "captions")


def test_a_narrow_terminal_shows_token_ids_whole(study, monkeypatch):  # noqa: F811
    made = json.loads(study("token", "create", "reader", "--label", "a dashboard in the corridor", "--json"))
    monkeypatch.setattr(console, "out", Console(width=60))
    assert made["id"] in study("token", "list")
