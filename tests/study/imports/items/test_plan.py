"""Plans of odd files: prompts, media files of one name, colliding ids, generated ids, outliers, invalid options."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from duelist.core.errors import InvalidInput, StudyExists
from duelist.study import ItemPlan, create_study, load_study
from duelist.study.imports import Note, plan_items


@pytest.fixture
def plan(tmp_path):
    """Return a function that writes a file and plans its import."""

    def write_and_plan(name, text, **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return plan_items(path, **options)

    return write_and_plan


def messages(notes):
    return [str(note) for note in notes]


def test_items_that_share_a_prompt_share_a_context(plan):
    found = plan("a.csv", "id,prompt,text\na,,x\nb,Why?,y\nc,Why?,z\nd,How?,p\ne,How?,q\n")
    contexts = [item.context for item in found.items]
    assert contexts[0] is None
    assert contexts[1] == contexts[2] != contexts[3] == contexts[4]
    assert set(found.prompts.values()) == {"Why?", "How?"}
    alone = plan("a.csv", "id,prompt,text\na,,x\nb,,y\nc,Why?,z\n")
    assert {item.context for item in alone.items} == {None}, "empty prompts are not shared"


def test_a_later_file_does_not_replace_a_prompt(plan):
    study = create_study("s", "memory")
    assert study.apply(plan("a.csv", "id,context,prompt,text\na,q,Why?,x\nb,q,Why?,y\n")).added == 2
    assert study.apply(plan("a.csv", "id,context,prompt,text\na,q,Why?,x\nc,q,Why?,z\n")).added == 1
    with pytest.raises(InvalidInput, match=r"prompt of context 'q' is 'Why\?', and here it is 'How\?'"):
        study.apply(plan("b.csv", "id,context,prompt,text\nd,q,How?,x\n"))
    assert (study.context_payload("q"), len(study.arms())) == ("Why?", 3)
    study.set_context("q", "How?")
    assert study.apply(plan("b.csv", "id,context,prompt,text\nd,q,How?,x\n")).added == 1


def test_prompts_that_json_changes_are_the_same_when_they_come_again(tmp_path):
    study = create_study("s", f"sqlite:///{tmp_path / 's.db'}")
    for _ in range(2):
        study.add_arms(["a", "b"], contexts="q", context_payloads={"q": ({"role": "user", "content": "Why?"},)})
    assert study.context_payload("q") == [{"role": "user", "content": "Why?"}]


DATES = (
    "2024-03-01T10:00:00",
    "2024-03-02 11:30",
    "2024/03/01",
    "01.03.2024 10:00",
    "10:00:00",
    "2024-03-01T10:00:00Z",
)


@pytest.mark.parametrize("date", DATES)
def test_dates_are_not_payloads(plan, date):
    found = plan("c.csv", f"id,name,price,listed_at,sold_at\n1,Fiat Panda,4990,{date},{date}\n2,VW Golf,9900,{date},\n")
    assert found.options.columns["payload"] == "name"
    assert [item.payload for item in found.items] == ["Fiat Panda", "VW Golf"]


def test_dates_are_payloads_where_there_is_nothing_else(plan):
    assert plan("c.csv", "name,day\nUno,2024-03-01\nDue,2024-03-02\n").options.columns["payload"] is None
    assert plan("c.csv", "id,day\n1,2024-03-01\n2,2024-03-02\n").options.columns["payload"] == "day"


# -- plans are data ----------------------------------------------------------------------


def test_a_plan_survives_json(plan):
    text = "name;text;price;stars\na;# One;1,5;\nb;two;2;3\nc;three;2,5;NA\n"
    for options in ({}, {"features": "none"}, {"columns": {"id": None}}):
        found = plan("a.csv", text, **options)
        again = ItemPlan.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again == found
        studies = [create_study("s", "memory", items=each) for each in (found, again)]
        assert studies[0].arms() == studies[1].arms()
        assert (studies[0].features() == studies[1].features()).all()


def test_a_preview_shows_what_would_be_imported(plan):
    preview = plan("a.csv", "id,text,price\n" + "".join(f"a{k},text {k},{k}\n" for k in range(30))).preview()
    assert json.loads(json.dumps(preview)) == preview
    assert (preview["kind"], preview["rows"], preview["contexts"], preview["encoding"]) == ("table", 30, 0, "utf-8")
    assert preview["items"][0] == {"id": "a0", "payload": "text 0", "context": None, "system": None}
    assert len(preview["items"]) == 20
    assert {each["name"]: each["role"] for each in preview["columns"]} == {
        "id": "id",
        "text": "payload",
        "price": "feature",
    }
    assert [each["kind"] for each in preview["features"] if each["chosen"]] == ["columns"]


def test_a_note_has_a_code_details_and_a_sentence(plan):
    (note,) = plan("a.csv", "text,x\none,q\ntwo,q\n").notes
    assert note == Note("generated_ids")
    assert note.to_dict() == {
        "code": "generated_ids",
        "details": {},
        "message": "No column names the items, so they are numbered.",
    }


def test_options_that_are_given_go_into_the_study(plan):
    items = plan("a.csv", "id,text\na,# One\nb,## Two\n")
    assert create_study("s", "memory", items=items).settings.show_as == "markdown"
    assert create_study("t", "memory", items=items, show_as="code").settings.show_as == "code"


def test_a_study_that_cannot_be_created_with_its_items_is_not_created(plan, tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    create_study("other", url)
    with pytest.raises(InvalidInput, match="features\\[0, 0\\] is"):
        create_study("s", url, items=plan("a.json", '[{"id": "a", "features": [1e300]}, {"id": "b", "features": [1]}]'))
    create_study("s", url, items=plan("a.csv", "id,text\na,b\n"))
    with pytest.raises(StudyExists):
        create_study("s", url, items=plan("a.csv", "id,text\na,b\n"))
    assert len(create_study("s", url, items=plan("a.csv", "id,text\na,b\nc,d\n"), load_if_exists=True).arms()) == 1


# -- outliers ----------------------------------------------------------------------------

PRICES = "id,price\na,10\nb,12\nc,11\nd,14\ne,9\nf,13\n"


def test_outliers_are_named(plan):
    assert plan("a.csv", PRICES).notes == ()
    (note,) = plan("a.csv", PRICES + "g,99999\n").notes
    assert note.code == "outliers"
    assert "The column 'price'" in str(note)
    assert "99999 in arm g" in str(note)
    rows = [{"id": str(k), "features": [k % 5, 1e6 if k == 7 else k]} for k in range(9)]
    (note,) = plan("a.json", json.dumps(rows)).notes
    assert str(note).startswith("Feature 1 ")
    assert "1000000 in arm 7" in str(note)
    assert plan("a.csv", PRICES + "g,99999\n", features="none").notes == ()


def test_outliers_among_all_items_of_a_study_are_named_once(plan):
    study = create_study("s", "memory", items=plan("a.csv", PRICES))
    later = plan("b.csv", "id,price\ng,99999\nh,12\n")
    assert later.notes == ()
    report = study.apply(later)
    assert (report.added, report.existing) == (2, 0)
    (note,) = report.notes
    assert "The column 'price'" in str(note)
    assert "99999 in arm g" in str(note)
    assert study.apply(plan("c.csv", "id,price\ni,12\n")).notes == ()


@pytest.mark.parametrize("from_file", [True, False])
def test_outliers_among_feature_lists_are_named_when_they_are_added(plan, from_file):
    rows: list[dict[str, Any]] = [{"id": str(k), "features": [k, k % 3]} for k in range(8)]
    if from_file:
        study = create_study("s", "memory", items=plan("a.json", json.dumps(rows)))
    else:
        study = create_study("s", "memory")
        study.add_arms([row["id"] for row in rows], [row["features"] for row in rows])
    report = study.apply(plan("b.json", json.dumps([{"id": "z", "features": [1e6, 1]}])))
    assert report.added == 1
    (note,) = messages(report.notes)
    assert note.startswith("Feature 0 ")
    assert "1000000 in arm z" in note


# -- generated ids -----------------------------------------------------------------------


@pytest.mark.parametrize("rows", [["5,first", "7,second", "7,second"], ["first", "second", "second"]])
def test_numbering_continues_in_a_second_file(plan, rows):
    head, first = "price,text\n" if "," in rows[0] else "text\n", "\n".join(rows)
    study = create_study("s", "memory", items=plan("a.csv", head + first))
    assert [arm.id for arm in study.arms()] == ["1", "2", "3"]
    report = study.apply(plan("a.csv", head + first))
    assert (report.added, report.existing) == (0, 3)
    assert Note("all_items_exist") in report.notes
    report = study.apply(plan("b.csv", head + rows[0].replace("first", "third")))
    assert report.added == 1
    assert Note("numbering_continues", {"first": 4}) in report.notes
    report = study.apply(plan("c.csv", head + "\n".join([rows[1], *rows[1:], rows[0]])))
    assert report.added == 1, "three equal rows are three items, and the study has two of them"
    assert Note("some_items_exist", {"count": 3, "first": 5}) in report.notes
    assert [arm.payload for arm in study.arms()] == ["first", "second", "second", "third", "second"]


def test_a_file_without_ids_beside_items_with_ids(plan):
    study = create_study("s", "memory", items=plan("a.csv", "id,text\nx,one\ny,two\n"))
    assert study.apply(plan("b.csv", '"text"\none\nthree\n')).added == 2
    assert [arm.id for arm in study.arms()] == ["x", "y", "1", "2"]


@pytest.mark.parametrize(("prompt", "text"), [("", ""), ("prompt,", "Why?,")])
def test_items_without_content_are_new(plan, prompt, text):
    """Their numbers are not features of this study, and they have no payload by which to recognize them."""
    rows = f"{prompt}price,size\n{text}5,1\n{text}7,2\n{text}9,4\n"
    study = create_study("s", "memory", items=plan("a.csv", rows, features="none"))
    report = study.apply(plan("b.csv", f"{prompt}price,size\n{text}100,50\n{text}200,60\n"))
    assert report.added == 2
    assert Note("unidentifiable_items", {"first": 4}) in report.notes
    assert [arm.id for arm in study.arms()] == ["1", "2", "3", "4", "5"]


PRICED = "price,text\n5,one\n6,two\n7,three\n"


def test_an_item_is_recognized_by_features_that_it_had_before(plan):
    study = create_study("s", "memory", items=plan("a.csv", PRICED))
    study.update_features(["2"], [[9.0]])
    assert study.apply(plan("a.csv", PRICED)).added == 0
    assert study.features(["2"]).tolist() == [[9.0]], "they stay as they were corrected"
    study.add_arms(["4"], study.features(["2"], version=1), payloads=["two"])
    assert study.apply(plan("a.csv", PRICED + "6,two\n")).added == 0, "one has these features, another had them"


def test_a_corrected_price_does_not_make_a_new_item(plan):
    study = create_study("s", "memory", items=plan("a.csv", PRICED))
    with pytest.raises(
        InvalidInput, match=r"^Item '2' is already in this study, with the same content and other features\. Name the"
    ):
        study.apply(plan("a.csv", PRICED.replace("6", "8") + "1,four\n"))
    assert len(study.arms()) == 3
    assert study.apply(plan("b.csv", PRICED + "8,two\n")).added == 1, "the file has both"
    assert study.apply(plan("b.csv", "price,text\n8,\n")).added == 1, "an empty payload identifies nothing"


def test_a_text_is_recognized_whatever_its_features(plan):
    """Features made from a text do not identify an item, so updating them does not make it another one."""
    texts = "text,z\nred car,q\nblue car,q\n"
    study = create_study("s", "memory", items=plan("a.csv", texts, features={"kind": "hashed", "size": 8}))
    study.update_features(["1"], [[1.0] * 8])
    assert study.apply(plan("a.csv", texts + "green car,q\n")).added == 1


def test_a_number_that_is_too_large_is_named_without_a_warning(plan, recwarn):
    study = create_study("s", "memory", items=plan("a.csv", PRICED))
    with pytest.raises(InvalidInput, match=r"features\[0, 0\] is .*e\+300\."):
        study.apply(plan("b.csv", "price,text\n1e300,one\n"))
    assert not recwarn.list


def test_files_without_ids_that_are_applied_at_once_get_different_ids(tmp_path, plan):
    study = create_study("s", f"sqlite:///{tmp_path / 's.db'}", items=plan("a.csv", "text,x\nzero,q\nnone,q\n"))
    plans = [plan(f"{n}.csv", "text,x\n" + "".join(f"file {n} row {k},q\n" for k in range(50))) for n in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda each: load_study("s", study._storage).apply(each).added, plans)) == [50] * 4
    assert {int(arm.id) for arm in study.arms()} == set(range(1, 203))


def test_files_with_columns_that_are_applied_at_once_agree_on_their_features(tmp_path, plan):
    """The first one decides which columns are features; the others find them by their names."""
    study = create_study("s", f"sqlite:///{tmp_path / 's.db'}")
    plans = [
        plan(f"{n}.csv", f"id,{'x,y' if n % 2 else 'y,x'}\n" + "".join(f"{n} {k},{k},{k}\n" for k in range(20)))
        for n in range(4)
    ]
    with ThreadPoolExecutor(4) as threads:
        assert [
            each.added for each in threads.map(lambda each: load_study("s", study._storage).apply(each), plans)
        ] == [20] * 4
    assert sorted((load_study("s", study._storage).settings.feature_recipe or {})["columns"]) == ["x", "y"]


SLOGANS = "colour,text\nred,the first slogan\nred,the second slogan\nblue,the third slogan\n"


def test_a_column_with_unique_cells_is_not_the_id_where_items_are_numbered(plan):
    study = create_study("s", "memory", items=plan("a.csv", SLOGANS))
    later = plan("b.csv", "colour,text\nred,the first slogan\nblue,the fourth slogan\n")
    assert later.options.columns["id"] == "colour"
    report = study.apply(later)
    assert report.added == 1
    assert [arm.payload for arm in study.arms()] == [f"the {n} slogan" for n in ("first", "second", "third", "fourth")]
    assert Note("column_not_id", {"column": "colour"}) in report.notes
    assert [column.role for column in report.columns] == ["other", "payload"]


@pytest.mark.parametrize(("head", "options"), [("colour", {"columns": {"id": "colour"}}), ("name", {}), ("Arm ID", {})])
def test_a_column_that_is_named_as_the_id_is_the_id(plan, head, options):
    study = create_study("s", "memory", items=plan("a.csv", SLOGANS))
    later = plan("b.csv", f"{head},text\nred,the first slogan\ngreen,the fourth slogan\n", **options)
    assert study.apply(later).added == 2
    assert [arm.id for arm in study.arms()] == ["1", "2", "3", "red", "green"]


def test_generated_ids_avoid_ids_of_the_file(plan):
    found = plan("a.csv", "id,text\na (2),x\na,y\na,z\na (3),p\n")
    ids = [item.id for item in found.items]
    assert len(set(ids)) == 4
    assert (ids[0], ids[3]) == ("a (2)", "a (3)"), "ids of the file stay"
    assert len(create_study("s", "memory", items=found).arms()) == 4


# -- texts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts", ["\n" * 16_000, " \n" * 8_000, "|" + " " * 16_000, "- " + "x" * 100_000, "-" * 16_000]
)
def test_long_texts_are_searched_for_markdown_quickly(plan, texts):
    started = time.process_time()
    plan("a.json", f'["{texts}", "b"]'.replace("\n", "\\n"))
    assert time.process_time() - started < 1.0


def test_long_numbers_are_parsed_quickly(plan):
    started = time.process_time()
    plan("a.tsv", "id\ttext\na\t" + "1" * 30_000 + "x\nb\ty\n")
    assert time.process_time() - started < 1.0


def test_nested_lists_are_markdown(plan):
    assert plan("a.json", '["- one\\n\\n  - two"]').settings == {"show_as": "markdown"}


def test_lines_end_where_json_says(plan):
    assert [item.payload for item in plan("a.jsonl", '"one\u2028two"\n"three"\r\n"four"\r"five"').items] == [
        "one\u2028two",
        "three",
        "four",
        "five",
    ]


# -- media files -------------------------------------------------------------------------


@pytest.fixture
def plan_pictures(tmp_path):
    """Return a function that plans a table beside two pictures of the same name in different folders."""
    paths = [tmp_path / folder / "1.png" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(path.parent.name.encode())

    def write_and_plan(text):
        (tmp_path / "t.csv").write_text(text)
        return plan_items([tmp_path / "t.csv", *paths, paths[0]])

    return write_and_plan


@pytest.mark.parametrize("form", ["{}/1.png", "{}\\1.png", "./{}/1.png", "C:\\pictures\\{}\\1.png"])
def test_pictures_of_the_same_name_are_told_apart_by_their_folders(plan_pictures, form):
    plan = plan_pictures(f"id,image\nx,{form.format('b')}\ny,{form.format('a')}\n")
    study = create_study("s", "memory", items=plan)
    assert [study.media(arm.payload["image"]).body for arm in study.arms()] == [b"b", b"a"]
    assert study.apply(plan).added == 0


@pytest.mark.parametrize("reference", ["1.png", "c/1.png"])
def test_an_ambiguous_picture_is_rejected(plan_pictures, reference):
    with pytest.raises(
        InvalidInput, match=rf"^t.csv, line 2: '{reference}' may be any of 2 files of that name\. Name its folder"
    ):
        plan_pictures(f"id,image\nx,{reference}\ny,a/1.png\n")


# -- options -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": {"size": float("inf")}}, "features is .*inf.*, which JSON cannot hold"),
        ({"features": {"kind": "columns", "columns": "x"}}, r"features\.columns is 'x'\. Give a list"),
        ({"features": 5}, r"features is 5\. Give a mapping"),
        ({"features": "magic"}, r"features\.kind is 'magic'\. Choose one of none"),
        ({"features": {"kind": "hashed", "size": 1}}, r"features\.size is 1\. Give a whole number"),
        ({"columns": "text"}, r"columns is 'text'\. Give a mapping"),
        ({"columns": {"name": "text"}}, r"columns has 'name'\. Map any of id"),
        ({"columns": {"id": "nope"}}, r"columns\.id is 'nope', and the file has no such column"),
        ({"encoding": 5}, r"encoding is 5\. Give a text"),
    ],
)
def test_an_invalid_option_is_rejected(plan, options, message):
    with pytest.raises(InvalidInput, match=message):
        create_study("s", "memory", items=plan("a.csv", "id,x\na,1\nb,2\n", **options))


@pytest.mark.parametrize("field", ["payload", "prompt"])
def test_a_value_that_json_cannot_hold_is_named(plan, field):
    line = '{"id": "%s", "context": "c", "' + field + '": {"x": NaN}}\n'
    with pytest.raises(
        InvalidInput, match=rf"^a.jsonl, line 1: '{field}' is .* which JSON cannot hold .*\. Give a finite"
    ):
        plan("a.jsonl", line % "a" + line % "b")


@pytest.mark.parametrize("missing", ["none", "-", "n/a"])
def test_missing_features_are_no_features(plan, missing):
    assert plan("a.csv", f"id,features\na,{missing}\nb,{missing}\n").features is None
    assert plan("a.jsonl", json.dumps({"id": 1, "features": missing})).features is None


def test_a_column_may_have_two_roles(plan):
    both = plan("a.csv", "text,x\none,1\ntwo,2\n", columns={"id": "text", "payload": "text"})
    assert [(item.id, item.payload) for item in both.items] == [("one", "one"), ("two", "two")]
    used = {target: name for target, name in both.options.columns.items() if name is not None}
    assert used == {"id": "text", "payload": "text"}
    numbers = {"columns": {"id": "nr"}, "features": {"kind": "columns", "columns": ["nr"]}}
    study = create_study("s", "memory", items=plan("a.csv", "nr,text\n5,one\n7,two\n", **numbers))
    assert [arm.id for arm in study.arms()] == ["5", "7"]
    assert study.features().shape == (2, 1)
