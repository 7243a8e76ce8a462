"""`duelist study` as a person types it, on a real SQLite file."""

import json
import os
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from duelist.cli import app
from duelist.study import create_study, load_study

ARMS = [{"id": f"a{k}", "features": [float(k), float(k % 3), 1.0 / (k + 1)], "payload": f"text {k}"} for k in range(5)]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUELIST_STORAGE", f"sqlite:///{tmp_path / 'studies.db'}")
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "arms.jsonl").write_text("\n".join(json.dumps(arm) for arm in ARMS) + "\n")

    def run(*words, code=0):
        result = CliRunner().invoke(app, [str(w) for w in words])
        assert result.exit_code == code, result.output
        return result.output

    return run


@pytest.fixture
def study(shell):
    shell("study", "create", "captions")
    shell("study", "add-items", "captions", "arms.jsonl")
    return shell


def vote(shell, outcome="first", rater="ana"):
    duel = json.loads(shell("study", "ask", "captions", "-r", rater, "--json"))
    shell("study", "tell", "captions", duel["id"], outcome, "-r", rater)
    return duel


def test_a_study_from_beginning_to_end(study):
    duel = vote(study)
    assert duel["first"]["id"] != duel["second"]["id"]
    assert "text" in study("study", "ask", "captions", "-r", "ana")
    assert "1 vote in the log" in study("study", "status", "captions")
    board = json.loads(study("study", "leaderboard", "captions", "--json", "--plot", "out/board.png"))
    assert Path("out/board.png").stat().st_size > 1000
    assert board["votes"] == 1
    assert len(board["standings"]) == 5
    assert "captions" in study("study", "list")
    assert "1 row written" in study("study", "export", "captions", "votes.jsonl")
    study("study", "create", "second", "--policy", "vacdb")
    study("study", "add-items", "second", "arms.jsonl")
    assert "1 vote added" in study("study", "import", "second", "votes.jsonl")
    assert "0 votes added; 1 duplicate skipped" in study("study", "import", "second", "votes.jsonl")
    assert "1 vote added" in study("study", "import", "second", "votes.jsonl", "--keep-duplicates")
    assert "--yes" in study("study", "delete", "captions", code=2)
    study("study", "delete", "captions", "--yes")
    assert "no study 'captions'" in study("study", "status", "captions", code=2)


def test_votes_are_repeated_revised_and_undone(study):
    duel = vote(study)
    tell = ("study", "tell", "captions", duel["id"])
    assert "vote 1 on pair" in study(*tell, "first", "-r", "ana")
    assert "revise" in study(*tell, "second", "-r", "ana", code=2)
    assert ": second" in study(*tell, "second", "-r", "ana", "--revise")
    assert "can vote again" in study("study", "undo", "captions", duel["id"], "-r", "ana")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("study", "create", "captions"), "captions"),
        (("study", "create", "x", "--policy", "nope"), "policy is 'nope'"),
        (("study", "ask", "nothing", "-r", "ana"), "no study 'nothing'"),
        (("study", "tell", "captions", "1", "7", "-r", "ana"), "outcome is '7'"),
        (("study", "tell", "captions", "99", "first", "-r", "ana"), "99"),
        (("study", "add-items", "captions", "missing.jsonl"), "missing.jsonl is not a file"),
        (("study", "export", "captions", "x", "-f", "nope"), "format is 'nope'"),
        (("study", "status", "captions", "-s", "ftp://x"), "The storage 'ftp://x' is of an unknown kind."),
        (("study", "status", "[/x]"), "no study '[/x]'"),
        (("study", "tell", "captions", "1", "[red]", "-r", "ana"), "outcome is '[red]'"),
        (
            ("study", "leaderboard", "captions", "--plot", "board.docx"),
            "--plot is board.docx. Give a name that ends in one of",
        ),
        (("storage", "upgrade", "sqlite:///nowhere.db"), "no file 'nowhere.db'"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_value(study, words, said):
    output = study(*words, code=2)
    assert said in output.replace("\n", " ")
    assert "Traceback" not in output


def test_create_if_missing_and_formats_and_upgrade(study):
    study("study", "create", "captions", "--if-missing")
    assert "label-studio" in study("study", "formats")
    assert "has schema" in study("storage", "upgrade")


def test_names_are_shown_as_they_are(shell):
    shell("study", "create", "[/]")
    assert "[/]" in shell("study", "list")


def test_the_shell_and_the_library_have_one_default(study):
    assert (
        load_study("captions", os.environ["DUELIST_STORAGE"]).settings.policy == create_study("s", None).settings.policy
    )


def test_passwords_are_not_printed(shell, postgres_url):
    url = sa.make_url(postgres_url).set(password="secret").render_as_string(hide_password=False)
    for words in (("study", "create", "captions", "-s", url), ("storage", "upgrade", url)):
        output = shell(*words)
        assert "***" in output
        assert "secret" not in output


def test_arms_that_are_there_are_counted(study):
    assert "captions, with 3 features per item: 0 items added; 5 already in the study" in study(
        "study", "add-items", "captions", "arms.jsonl"
    )


def test_options_of_a_format(study):
    vote(study)
    tasks = [{"data": {"one": "text 1", "two": "text 2", "one_id": "a1", "two_id": "a2", "prompt": "Which?"}, "annotations": [
        {"result": [{"type": "pairwise", "from_name": "c", "to_name": "one,two", "value": {"selected": "left"}}]}]}]  # fmt: skip
    Path("tasks.json").write_text(json.dumps(tasks))
    words = ("study", "import", "captions", "tasks.json", "-f", "label-studio", "-o", "left=one", "-o", "right=two")
    assert "1 vote added" in study(*words)
    assert "2 rows written" in study("study", "export", "captions", "b.csv", "-f", "arena", "-o", "both_bad=both_bad")
    assert "Give KEY=VALUE" in study(*words, "-o", "prompt", code=2)
    assert "label-studio has no option 'side'" in study(*words, "-o", "side=x", code=2)


def test_a_file_s_name_says_what_is_written_and_its_content_what_is_read(study, tmp_path):
    vote(study)
    study("study", "export", "captions", "votes.csv")
    assert (tmp_path / "votes.csv").read_text().startswith("left,right,winner,")
    study("study", "export", "captions", "votes.tsv")
    assert (tmp_path / "votes.tsv").read_text().startswith("left\tright\twinner\t")
    study("study", "export", "captions", "battles.json", "-f", "arena")
    for file, form in (("votes.csv", "csv"), ("votes.tsv", "csv"), ("battles.json", "arena")):
        study("study", "create", form + file)
        study("study", "add-items", form + file, "arms.jsonl")
        assert f"{file}, as {form}: 1 vote added" in study("study", "import", form + file, file)


def test_columns_of_other_names(study, tmp_path):
    (tmp_path / "mine.csv").write_text("left;right;better;who\na0;a1;right;ana\n")
    words = ("study", "import", "captions", "mine.csv", "--column", "winner=better")
    assert "1 vote added" in study(*words, "--column", "rater=who")
    (tmp_path / "arms.csv").write_text("name;x;y;z;context;prompt\nnew;0,5;1;2;q;Why?\nother;1;1;0;q;\n")
    assert "with 3 features per item: 2 items added" in study(
        "study", "add-items", "captions", "arms.csv", "--column", "id=name"
    )
    assert "prompt:\n    Why?" in study("study", "ask", "captions", "-r", "ben", "-c", "q")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("study", "export", "captions", "votes.json"), "The name votes.json does not determine a format"),
        (("study", "export", "captions", "votes.xlsx"), "votes.xlsx cannot be written in the format csv"),
        (
            ("study", "import", "captions", "arms.jsonl"),
            "The format of arms.jsonl is not known: its first row has id, features",
        ),
        (("study", "import", "captions", "arms.jsonl", "--column", "rater"), "--column is 'rater'. Give KEY=VALUE"),
    ],
)
def test_files_that_do_not_say_what_they_are(study, words, said):
    assert said in study(*words, code=2).replace("\n", " ")


def test_analyses_as_text_and_plots(study):
    for outcome, rater in (("first", "ana"), ("tie", "ben"), ("both_bad", "cy")):
        vote(study, outcome, rater)
    assert [line.split()[0] for line in study("study", "raters", "captions").splitlines()[1:4]] == ["ana", "ben", "cy"]
    assert "1 votes for 'both bad' are not shown" in study("study", "win-matrix", "captions")
    assert "log loss" in study("study", "calibration", "captions")
    assert study("study", "history", "captions").startswith("after votes")
    assert "excluded" in study("study", "raters", "captions", "--without", "ben")
    for what in ("leaderboard", "win-matrix", "history", "calibration", "raters"):
        study("study", "plot", "captions", what, f"out/{what}.svg")
        assert Path(f"out/{what}.svg").read_text().startswith("<?xml")
