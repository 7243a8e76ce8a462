"""Files of items in the shell: `study create NAME FILE` and `study add-items` read them alike."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.core.errors import InvalidInput
from duelist.study import create_study, load_study
from duelist.study.imports import Note, plan_items
from tests.helpers.policy_state import policy_of

HOLE = "id;text;price;length\na;one;1,5;3\nb;two;;4\nc;three;2,5;5\n"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUELIST_STORAGE", f"sqlite:///{tmp_path / 'studies.db'}")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words, code=0):
        result = CliRunner().invoke(app, ["study", *words])
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    return run


def both_ways(shell, tmp_path, text, *options):
    """Return the study created from a file, and one that was created first and then given the file."""
    Path("arms.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    shell("create", "made", "arms.csv", *options)
    shell("create", "given")
    shell("add-items", "given", "arms.csv", *options)
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    return load_study("made", url), load_study("given", url)


def described(study):
    return [(arm.id, arm.payload, arm.context) for arm in study.arms()]


def standardised(columns):
    columns = np.asarray(columns, float)
    return (columns - columns.mean(0)) / columns.std(0)


@pytest.mark.parametrize(
    ("text", "arms", "features"),
    [
        ("id,payload,x,y\na,one,1,2\nb,two,3,5\nc,,4,4\n", [("a", "one", None), ("b", "two", None), ("c", "", None)],
         [[1, 2], [3, 5], [4, 4]]),
        ("name;text;length\na;eins;1,5\nb;zwei;2\nc;drei;-1\n", [("a", "eins", None), ("b", "zwei", None), ("c", "drei", None)],
         [[1.5], [2.0], [-1.0]]),
        (HOLE, [("a", "one", None), ("b", "two", None), ("c", "three", None)], [[3], [4], [5]]),
        ("\ufeffid,context,prompt,answer,words\na,q,Why?,So.,2\nb,q,,Thus.,3\n", [("a", "So.", "q"), ("b", "Thus.", "q")],
         [[2], [3]]),
        ("1,0,2\n0,1,3\n1,1,5\n", [("1", None, None), ("2", None, None), ("3", None, None)],
         [[1, 0, 2], [0, 1, 3], [1, 1, 5]]),
        ("1,5;2\n3;4,5\n", [("1", None, None), ("2", None, None)], [[1.5, 2.0], [3.0, 4.5]]),
        ("0.5\n1.5\n4\n", [("1", None, None), ("2", None, None), ("3", None, None)], [[0.5], [1.5], [4.0]]),
    ],
)  # fmt: skip
def test_create_and_add_arms_read_a_table_alike(shell, tmp_path, text, arms, features):
    made, given = both_ways(shell, tmp_path, text)
    assert described(made) == described(given) == arms
    assert given.features() == pytest.approx(np.array(features, np.float32))
    assert made.features() == pytest.approx(standardised(features), abs=1e-6)


@pytest.mark.parametrize("missing", ["", "NA", "n/a", "-", " "])
def test_a_numeric_column_with_a_missing_value_is_not_the_payload(tmp_path, missing):
    (tmp_path / "arms.csv").write_text(f"id,x,y\na,1000000,1\nb,{missing},2\nc,3000000,3\n")
    plan = plan_items(tmp_path / "arms.csv")
    assert {column.name: column.role for column in plan.columns} == {"id": "id", "x": "other", "y": "feature"}
    assert [item.payload for item in plan.items] == [None, None, None]
    (note,) = [str(note) for note in plan.notes if note.code == "unusable_column"]
    what = f"{missing!r}, which is not a number" if missing.strip() else "empty"
    assert note.startswith(f"arms.csv, line 3: 'x' is {what}. A feature needs a number for every item")
    assert note.endswith("ignored; fill it in to use it.")


def test_a_typo_in_a_numeric_column_is_named(tmp_path):
    (tmp_path / "arms.csv").write_text("id,x\na,1\nb,l2\nc,3\nd,\n")
    (note,) = map(str, plan_items(tmp_path / "arms.csv").notes)
    assert note.startswith("arms.csv, line 3: 'x' is 'l2', which is not a number, and 1 more cell has no number")
    assert note.endswith("ignored; correct it to use it.")


def test_both_commands_show_how_columns_are_used(shell):
    Path("arms.csv").write_text(HOLE)
    shell("create", "given")
    for said in (shell("create", "made", "arms.csv"), shell("add-items", "given", "arms.csv")):
        for column, role in (("id", "id"), ("text", "payload"), ("price", "other"), ("length", "feature")):
            assert f"│ {column} │ {role} │" in said
        assert "line 3: 'price' is empty" in said
    assert "given, with 1 feature per item: 3 items added" in said


def test_chosen_feature_columns_need_a_number_for_every_item(tmp_path):
    (tmp_path / "arms.csv").write_text(HOLE)
    features = {"kind": "columns", "columns": ["price", "length"]}
    with pytest.raises(
        InvalidInput, match=r"^arms.csv, line 3: 'price' is empty\. A feature needs a number for every item"
    ):
        create_study("s", "memory", items=plan_items(tmp_path / "arms.csv", features=features))


def test_later_items_need_the_features_of_the_first(shell, tmp_path):
    made, given = both_ways(shell, tmp_path, "id,x,y\na,1,2\nb,3,5\n")
    Path("more.csv").write_text("id,y,x\nc,7,\nd,8,1\n")
    assert "line 2: 'x' is empty. A feature needs a number for every item" in shell(
        "add-items", "made", "more.csv", code=2
    )
    Path("narrow.csv").write_text("id,y\nc,7\n")
    said = shell("add-items", "made", "narrow.csv", code=2)
    assert (
        "Features are made of the column 'x', and the file has no numbers there. Its columns of numbers are: y" in said
    )
    assert "line 2: 'x' is empty. A feature needs a number for every item" in shell(
        "add-items", "given", "more.csv", code=2
    )
    assert len(made.arms()) == len(given.arms()) == 2
    Path("none.csv").write_text("id,payload\nc,three\n")
    shell("create", "bare")
    shell("add-items", "bare", "none.csv")
    said = shell("add-items", "bare", "arms.csv")
    assert "bare, with no features per item: 2 items added" in said
    assert "Not among the features of this study, and ignored: x, y." in said
    Path("wide.csv").write_text("id,x,y,z\nc,7,1,2\n")
    said = shell("add-items", "made", "wide.csv")
    assert "made, with 2 features per item: 1 item added" in said
    assert "Not among the features of this study, and ignored: z." in said
    shell("create", "empty")
    assert "ignored" not in shell("add-items", "empty", "arms.csv")


def test_a_column_that_is_not_among_the_features_is_not_called_one(shell, tmp_path):
    both_ways(shell, tmp_path, "id,x\na,1\nb,3\n")
    Path("wide.csv").write_text("id,x,wifi\nc,7,yes\nd,8,no\n")
    for name in ("made", "given"):
        said = shell("add-items", name, "wide.csv")
        assert "│ x │ feature │" in said
        assert "│ wifi │ other │" in said
        assert "read as 1 and 0" not in said
        assert "Not among the features of this study, and ignored: wifi." in said
    assert "│ wifi │ feature │" in shell("create", "wide", "wide.csv")


def test_an_item_with_other_features_is_rejected_in_words_of_the_shell(shell):
    Path("one.csv").write_text("id,x\nAstor,1\nRitz,3\n")
    shell("create", "hotels", "one.csv")
    Path("two.csv").write_text("id,x\nAstor,2\n")
    said = shell("add-items", "hotels", "two.csv", code=2)
    assert "'Astor' is in this study already, with other features. Give this one another id, or change" in said
    assert "the stored features in Python: `study.update_features(...)`" in said


def test_columns_of_later_files_are_found_by_their_names(shell, tmp_path):
    """The same number of columns does not make them the same columns."""
    Path("one.csv").write_text("id,price,stars\na,900,4.5\nb,120,3\n")
    Path("two.csv").write_text("id,stars,price\nc,4,450\nd,5,80\n")
    Path("three.csv").write_text("id,year,pages\ne,1999,300\nf,2001,200\n")
    shell("create", "offers", "--goal", "best")
    for name in ("one.csv", "two.csv", "two.csv"):
        shell("add-items", "offers", name)
    study = load_study("offers", f"sqlite:///{tmp_path / 'studies.db'}")
    assert study.features().tolist() == [[900, 4.5], [120, 3], [450, 4], [80, 5]]
    refused = shell("add-items", "offers", "three.csv", code=2)
    assert (
        "made of the column 'price', and the file has no numbers there. Its columns of numbers are: year, pages"
        in refused
    )
    assert len(study.arms()) == 4


def test_columns_of_a_file_are_not_mixed_with_features_that_the_study_made(tmp_path):
    study = create_study("layered", "memory", policy="VACDB")
    study.add_arms(["a", "b", "c"])
    dim = study.features().shape[1]
    header = ",".join(f"x{k}" for k in range(dim))
    (tmp_path / "more.csv").write_text(f"id,{header}\nd,{','.join(map(str, range(dim)))}\n")
    assert study.apply(plan_items(tmp_path / "more.csv")).added == 1
    assert np.array_equal(study.features()[:, :4], np.eye(4))
    mine = create_study("mine", "memory")
    mine.add_arms(["a", "b"], np.eye(2))
    (tmp_path / "more.csv").write_text("id,x,y\nd,2,3\n")
    assert mine.apply(plan_items(tmp_path / "more.csv")).added == 1
    assert mine.features().tolist() == [[1, 0], [0, 1], [2, 3]]


def test_items_with_numeric_columns_have_arm_effects(tmp_path):
    (tmp_path / "arms.csv").write_text("id,year\na,1999\nb,1999\nc,2001\n")
    items = plan_items(tmp_path / "arms.csv")
    study = create_study("with effects", "memory", goal="best", items=items)
    assert study.settings.arm_effects
    for k in range(30):
        duel = study.ask(f"rater {k}")
        study.tell(duel, "first" if duel.first.id < duel.second.id else "second", rater=f"rater {k}")
    board = {each.arm: each.utility for each in study.leaderboard().standings}
    assert board["a"] > board["b"], "of one year, and yet told apart"
    assert not create_study("layered", "memory", "VACDB", items=items).settings.arm_effects
    assert not create_study("plain", "memory", items=items, arm_effects=False).settings.arm_effects


def test_arm_effects_are_an_option_with_a_file(shell, tmp_path):
    Path("arms.jsonl").write_text('{"id": "a", "features": [1]}\n{"id": "b", "features": [2]}\n')
    shell("create", "terms", "arms.jsonl", "--arm-effects")
    assert load_study("terms", f"sqlite:///{tmp_path / 'studies.db'}").settings.arm_effects


def test_numbers_in_json_are_features_as_in_a_table(tmp_path):
    (tmp_path / "arms.jsonl").write_text('{"id": "a", "elo": 1000}\n{"id": "b", "elo": 1200}\n')
    (tmp_path / "arms.json").write_text('[{"id": "a", "elo": 1000}, {"id": "b", "elo": 1200}]')
    (tmp_path / "arms.csv").write_text("id,elo\na,1000\nb,1200\n")
    studies = [
        create_study(name, "memory", items=plan_items(tmp_path / name))
        for name in ("arms.jsonl", "arms.json", "arms.csv")
    ]
    assert [study.features().shape for study in studies] == [(2, 1)] * 3
    assert studies[0].features().tolist() == studies[1].features().tolist() == studies[2].features().tolist()


def test_a_list_of_features_in_json_is_preferred_to_other_numbers(tmp_path):
    (tmp_path / "arms.jsonl").write_text(
        '{"id": "a", "elo": 1, "features": [5]}\n{"id": "b", "elo": 2, "features": [6]}\n'
    )
    study = create_study("s", "memory", items=plan_items(tmp_path / "arms.jsonl"))
    assert study.features().tolist() == [[5.0], [6.0]]


def test_lists_of_features_in_a_cell_are_read(tmp_path):
    (tmp_path / "arms.csv").write_text('id,features\na,"[1, 2.5]"\nb,"[3, 4]"\n')
    study = create_study("s", "memory", items=plan_items(tmp_path / "arms.csv"))
    assert study.features().tolist() == [[1.0, 2.5], [3.0, 4.0]]


def test_a_first_line_that_may_be_an_item_is_mentioned(tmp_path):
    (tmp_path / "arms.csv").write_text("a,1,2\nb,3,4\n")
    assert Note("uncertain_header", {"columns": ["a", "1", "2"]}) in plan_items(tmp_path / "arms.csv").notes


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "", "has no items"),
        ("a.jsonl", "{", "line 1 is not JSON"),
        ("a.jsonl", '{"id": 1, "features": "x"}', "features are 'x', which is not a list"),
        ("a.jsonl", '{"id": 1, "features": ["x"]}', "a feature is 'x'"),
        (
            "a.jsonl",
            '{"id": 1, "features": [1]}\n{"id": 2, "features": [1, 2]}',
            "Some items have 1 features and others 2",
        ),
        ("a.json", '["a", ' + "[" * 100_000, "a.json is not JSON"),
        ("a.csv", ",,\n,,\n", r"a.csv is empty\. Give a header, and one row per item"),
        ("a.csv", 'id,features\na,"[1, 2"\n', "features are"),
        ("a.csv", "id,x\na,1,2\n", "line 2 has 3 cells"),
        ("a.csv", "id,x,x\na,1,2\n", "the column 'x' twice"),
    ],
)
def test_a_bad_file_of_items_is_named(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=said):
        plan_items(tmp_path / name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_messy_spreadsheet_works_for_every_goal(shell, tmp_path, encoding):
    """Semicolons, decimal commas, a byte-order mark, an empty cell, two items of one name: all items are kept, with notes."""
    text = "Name;Überschrift;Preis;Länge\r\nä;Grüße;1,5;10\r\nb;Hallo;;20\r\nb;Servus;2;30\r\n;Moin;3;40\r\n"
    Path("arms.csv").write_bytes(text.encode(encoding))
    for goal in ("best", "rank", "learn", "serve"):
        said = shell("create", goal, "arms.csv", "--goal", goal)
        assert "The id 'b' occurs 2 times" in said or "No column names the items" in said
        study = load_study(goal, f"sqlite:///{tmp_path / 'studies.db'}")
        assert [arm.payload for arm in study.arms()] == ["Grüße", "Hallo", "Servus", "Moin"]
        assert len({arm.id for arm in study.arms()}) == 4
        duel = json.loads(CliRunner().invoke(app, ["study", "ask", goal, "-r", "ana", "--json"]).output)
        shell("tell", goal, str(duel["id"]), "tie", "-r", "ana")
        shell("status", goal)


def test_top_is_an_option_of_the_shell(shell, tmp_path):
    Path("arms.csv").write_text("id,text\na,one\nb,two\nc,three\nd,four\n")
    shell("create", "with arms", "arms.csv", "--goal", "rank", "--top", "2")
    shell("create", "empty", "--goal", "rank", "--top", "2")
    shell("add-items", "empty", "arms.csv")
    for name in ("with arms", "empty"):
        shell("ask", name, "-r", "ana")
        shell("tell", name, "1", "first", "-r", "ana")
        assert policy_of(load_study(name, f"sqlite:///{tmp_path / 'studies.db'}")).top == 2
        assert "the order of the top 2 may still change" in shell("can-stop", name, code=1)
        assert "the order of all arms may still change" in shell("can-stop", name, "--top", "9", code=1)
    assert "top is 2, but BestArmPair does not rank places" in shell(
        "create", "no", "--goal", "best", "--top", "2", code=2
    )


def test_outliers_are_named_by_their_ids_in_the_study(shell, tmp_path):
    """The third row of a file without ids is arm 6 of the study, and a file without new items adds no note."""
    Path("one.csv").write_text("price,weight\n1.1,2\n3.3,4\n5.5,6\n7,7\n9,1\n")
    Path("two.csv").write_text("price,weight\n1.1,2\n3.3,4\n99999,6\n-1,7\n")
    shell("create", "s", "one.csv", "--goal", "best", "--features", "columns")
    said = shell("add-items", "s", "two.csv")
    assert "99999 in arm 6" in said
    assert "in arm 3" not in said
    assert "an outlier" not in shell("add-items", "s", "two.csv")
