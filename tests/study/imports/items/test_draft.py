"""What drafts make of odd files: prompts, pictures of one name, names that collide, plans that cannot be followed."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study, load_study
from duelist.study.imports.items import read_draft


@pytest.fixture
def draft(tmp_path):
    def read(name, text, plan=None):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_draft([path], plan)

    return read


def test_prompts_count_wherever_the_first_one_is(draft):
    found = draft("a.csv", "id,prompt,text\na,,x\nb,Why?,y\nc,Why?,z\nd,How?,p\ne,How?,q\n")
    contexts = [arm.context for arm in found.arms]
    assert contexts[0] is None
    assert contexts[1] == contexts[2] != contexts[3] == contexts[4]
    assert set(found.prompts.values()) == {"Why?", "How?"}
    alone = draft("a.csv", "id,prompt,text\na,,x\nb,,y\nc,Why?,z\n")
    assert {arm.context for arm in alone.arms} == {None}, "nothing is not a prompt that arms share"


def test_a_later_file_does_not_replace_a_prompt(draft):
    study = create_study("s", "memory")
    assert draft("a.csv", "id,context,prompt,text\na,q,Why?,x\nb,q,Why?,y\n").add_to(study) == 2
    assert draft("a.csv", "id,context,prompt,text\na,q,Why?,x\nc,q,Why?,z\n").add_to(study) == 1
    with pytest.raises(
        InvalidInput, match=r"prompt of context 'q' is 'Why\?', and here it is 'How\?'\. .* change the stored prompt"
    ):
        draft("b.csv", "id,context,prompt,text\nd,q,How?,x\n").add_to(study)
    assert (study.context_payload("q"), len(study.arms())) == ("Why?", 3)
    study.set_context("q", "How?")
    assert draft("b.csv", "id,context,prompt,text\nd,q,How?,x\n").add_to(study) == 1


def test_prompts_that_json_holds_otherwise_are_the_same_when_they_come_again(tmp_path):
    study = create_study("s", f"sqlite:///{tmp_path / 's.db'}")
    for _ in range(2):
        study.add_arms(["a", "b"], contexts="q", context_payloads={"q": ({"role": "user", "content": "Why?"},)})
    assert study.context_payload("q") == [{"role": "user", "content": "Why?"}]


DAYS = ("2024-03-01T10:00:00", "2024-03-02 11:30", "2024/03/01", "01.03.2024 10:00", "10:00:00", "2024-03-01T10:00:00Z")


@pytest.mark.parametrize("day", DAYS)
def test_dates_are_not_what_raters_see(draft, day):
    found = draft("c.csv", f"id,name,price,listed_at,sold_at\n1,Fiat Panda,4990,{day},{day}\n2,VW Golf,9900,{day},\n")
    assert found.plan["columns"]["payload"] == "name"
    assert [arm.payload for arm in found.arms] == ["Fiat Panda", "VW Golf"]


def test_dates_are_better_than_nothing(draft):
    assert draft("c.csv", "name,day\nUno,2024-03-01\nDue,2024-03-02\n").plan["columns"]["payload"] is None
    assert draft("c.csv", "id,day\n1,2024-03-01\n2,2024-03-02\n").plan["columns"]["payload"] == "day"


# -- arms far from all others ------------------------------------------------------------

PRICES = "id,price\na,10\nb,12\nc,11\nd,14\ne,9\nf,13\n"


def test_an_arm_far_from_all_others_is_named(draft):
    assert draft("a.csv", PRICES).notes == []
    (note,) = draft("a.csv", PRICES + "g,99999\n").preview()["notes"]
    assert note.startswith(
        "The column 'price' has an outlier: 99999 in arm g. Beside it all other arms seem nearly"
    )
    rows = [{"id": str(k), "features": [k % 5, 1e6 if k == 7 else k]} for k in range(9)]
    (note,) = draft("a.json", json.dumps(rows)).notes
    assert note.startswith("Feature 1 has an outlier: 1000000 in arm 7. ")
    assert draft("a.csv", PRICES + "g,99999\n", {"features": {"kind": "own"}}).notes == []


def test_an_arm_far_from_those_that_are_there_is_named(draft):
    study = draft("a.csv", PRICES).create("s", "memory")
    later = draft("b.csv", "id,price\ng,99999\nh,12\n")
    assert later.notes == []
    assert later.add_to(study) == 2
    assert later.notes[0].startswith("The column 'price' has an outlier: 99999 in arm g. ")
    after = draft("c.csv", "id,price\ni,12\n")
    after.add_to(study)
    assert after.notes == [], "it was said when it came"


@pytest.mark.parametrize("made_of_a_file", [True, False])
def test_features_given_as_lists_are_looked_at_where_they_are_added(draft, made_of_a_file):
    rows = [{"id": str(k), "features": [k, k % 3]} for k in range(8)]
    if made_of_a_file:
        study = draft("a.json", json.dumps(rows)).create("s", "memory")
    else:
        study = create_study("s", "memory")
        study.add_arms([row["id"] for row in rows], [row["features"] for row in rows])
    later = draft("b.json", json.dumps([{"id": "z", "features": [1e6, 1]}]))
    assert later.add_to(study) == 1
    (note,) = later.notes
    assert note.startswith("Feature 0 has an outlier: 1000000 in arm z. ")


# -- files without ids -------------------------------------------------------------------


@pytest.mark.parametrize("rows", [["5,first", "7,second", "7,second"], ["first", "second", "second"]])
def test_a_second_file_without_ids_goes_on_counting(draft, rows):
    head, first = "price,text\n" if "," in rows[0] else "text\n", "\n".join(rows)
    study = draft("a.csv", head + first).create("s", "memory")
    assert [arm.id for arm in study.arms()] == ["1", "2", "3"]
    again = draft("a.csv", head + first)
    assert again.add_to(study) == 0
    assert "All of them are in the study already: they are known by what is in them." in again.notes
    other = draft("b.csv", head + rows[0].replace("first", "third"))
    assert other.add_to(study) == 1
    assert "The study has numbered arms already; these are numbered from 4." in other.notes
    both = draft("c.csv", head + "\n".join([rows[1], *rows[1:], rows[0]]))
    assert both.add_to(study) == 1, "three equal rows are three arms, and there were two"
    assert "3 of them are in the study already, known by what is in them; the others are numbered from 5." in both.notes
    assert [arm.payload for arm in study.arms()] == ["first", "second", "second", "third", "second"]


def test_a_file_without_ids_beside_arms_with_names(draft):
    study = draft("a.csv", "id,text\nx,one\ny,two\n").create("s", "memory")
    later = draft("b.csv", '"text"\none\nthree\n')
    assert later.add_to(study) == 2
    assert [arm.id for arm in study.arms()] == ["x", "y", "1", "2"]


@pytest.mark.parametrize(("prompt", "text"), [("", ""), ("prompt,", "Why?,")])
def test_arms_with_nothing_in_them_are_new(draft, prompt, text):
    """Their numbers are no features of this study, and they show nothing: nobody can say that they are there."""
    own = {"features": {"kind": "own"}}
    study = draft("a.csv", f"{prompt}price,size\n{text}5,1\n{text}7,2\n{text}9,4\n", own).create("s", "memory")
    later = draft("b.csv", f"{prompt}price,size\n{text}100,50\n{text}200,60\n")
    assert later.add_to(study) == 2
    assert later.notes[-1] == (
        "Nothing in these arms says whether the study has them already; they are numbered from 4."
    )
    assert [arm.id for arm in study.arms()] == ["1", "2", "3", "4", "5"]


PRICED = "price,text\n5,one\n6,two\n7,three\n"


def test_an_arm_is_known_by_the_features_that_it_had(draft):
    study = draft("a.csv", PRICED).create("s", "memory")
    study.update_features(["2"], [[9.0]])
    assert draft("a.csv", PRICED).add_to(study) == 0
    assert study.features(["2"]).tolist() == [[9.0]], "they stay as they were corrected"
    study.add_arms(["4"], study.features(["2"], version=1), payloads=["two"])
    assert draft("a.csv", PRICED + "6,two\n").add_to(study) == 0, "one is it now, the other was it"


def test_a_corrected_price_makes_no_other_arm(draft):
    study = draft("a.csv", PRICED).create("s", "memory")
    with pytest.raises(
        InvalidInput,
        match=r"^Arm '2' is in this study already, with the same content and other features. Name the arms in",
    ):
        draft("a.csv", PRICED.replace("6", "8") + "1,four\n").add_to(study)
    assert len(study.arms()) == 3
    assert draft("b.csv", PRICED + "8,two\n").add_to(study) == 1, "the file has both"
    assert draft("b.csv", "price,text\n8,\n").add_to(study) == 1, "nothing is nobody's content"


def test_a_text_is_known_whatever_its_features(draft):
    """Features that are made of a text say nothing that it does not; an update of them makes no other text of it."""
    texts = "text,z\nred car,q\nblue car,q\n"
    study = draft("a.csv", texts, {"features": {"kind": "hashed", "size": 8}}).create("s", "memory")
    study.update_features(["1"], [[1.0] * 8])
    assert draft("a.csv", texts + "green car,q\n").add_to(study) == 1


def test_a_number_too_large_is_called_so_and_nothing_else(draft, recwarn):
    study = draft("a.csv", PRICED).create("s", "memory")
    with pytest.raises(InvalidInput, match=r"features\[0, 0\] is .*e\+300. Replace missing and very large features"):
        draft("b.csv", "price,text\n1e300,one\n").add_to(study)
    assert not recwarn.list


def test_files_without_ids_that_come_at_once_are_numbered_one_after_the_other(tmp_path, draft):
    study = draft("a.csv", "text,x\nzero,q\nnone,q\n").create("s", f"sqlite:///{tmp_path / 's.db'}")
    drafts = [draft(f"{n}.csv", "text,x\n" + "".join(f"file {n} row {k},q\n" for k in range(50))) for n in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda each: each.add_to(load_study("s", study._storage)), drafts)) == [50] * 4
    assert {int(arm.id) for arm in study.arms()} == set(range(1, 203))


def test_numbers_that_are_given_meanwhile_are_given_once(draft):
    """Between the look at the study and the write another file is added."""
    study = draft("a.csv", "text,x\nzero,q\nnone,q\n").create("s", "memory")
    one, other = (draft(f"{n}.csv", f"text,x\n{n} first,q\n{n} second,q\n") for n in "ab")
    vectors = one.vectors_for(study)
    assert other.add_to(study) == 2
    assert one.add_rows(study, vectors) == 2
    assert [arm.id for arm in study.arms()] == ["1", "2", "3", "4", "5", "6"]


def test_equal_rows_are_two_arms_in_whatever_part_of_a_file_they_are(draft):
    study, found = create_study("s", "memory"), draft("a.csv", "text,x\none,q\ntwo,q\none,q\n")
    for expected in ([1, 1, 1], [0, 0, 0]):
        taken: set[str] = set()
        vectors = found.vectors_for(study)
        assert [found.add_rows(study, vectors, slice(k, k + 1), taken) for k in range(3)] == expected
    assert [arm.payload for arm in study.arms()] == ["one", "two", "one"]


SLOGANS = "colour,text\nred,the first slogan\nred,the second slogan\nblue,the third slogan\n"


def test_a_column_does_not_name_arms_by_chance_where_they_are_numbered(draft):
    study = draft("a.csv", SLOGANS).create("s", "memory")
    later = draft("b.csv", "colour,text\nred,the first slogan\nblue,the fourth slogan\n")
    assert later.plan["columns"]["id"] == "colour"
    assert later.add_to(study) == 1
    assert [arm.payload for arm in study.arms()] == [f"the {n} slogan" for n in ("first", "second", "third", "fourth")]
    assert (
        "The arms of this study are numbered, and so are these: 'colour' names them only where you say so."
        in later.notes
    )
    assert later.plan["columns"]["id"] is None
    assert [column.role for column in later.columns] == ["other", "payload"]


@pytest.mark.parametrize(
    ("head", "plan"), [("colour", {"columns": {"id": "colour"}}), ("name", None), ("Arm ID", None)]
)
def test_a_column_that_is_said_to_name_arms_does(draft, head, plan):
    study = draft("a.csv", SLOGANS).create("s", "memory")
    assert draft("b.csv", f"{head},text\nred,the first slogan\ngreen,the fourth slogan\n", plan).add_to(study) == 2
    assert [arm.id for arm in study.arms()] == ["1", "2", "3", "red", "green"]


@pytest.mark.parametrize(
    "texts", ["\n" * 16_000, " \n" * 8_000, "|" + " " * 16_000, "- " + "x" * 100_000, "-" * 16_000]
)
def test_texts_that_are_long_are_looked_at_in_no_time(draft, texts):
    started = time.perf_counter()
    draft("a.json", f'["{texts}", "b"]'.replace("\n", "\\n"))
    assert time.perf_counter() - started < 1.0


def test_digits_without_end_are_looked_at_in_no_time(draft):
    started = time.perf_counter()
    draft("a.tsv", "id\ttext\na\t" + "1" * 30_000 + "x\nb\ty\n")
    assert time.perf_counter() - started < 1.0


def test_lists_with_lines_between_them_are_markdown(draft):
    assert draft("a.json", '["- one\\n\\n  - two"]').plan["settings"]["show_as"] == "markdown"


@pytest.fixture
def pictures(tmp_path):
    paths = [tmp_path / folder / "1.png" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(path.parent.name.encode())

    def read(text):
        (tmp_path / "t.csv").write_text(text)
        return read_draft([tmp_path / "t.csv", *paths, paths[0]])

    return read


@pytest.mark.parametrize("form", ["{}/1.png", "{}\\1.png", "./{}/1.png", "C:\\pictures\\{}\\1.png"])
def test_pictures_of_one_name_are_told_apart_by_their_folders(pictures, form):
    arms = pictures(f"id,image\nx,{form.format('b')}\ny,{form.format('a')}\n").arms
    assert [arm.media.read_bytes() for arm in arms] == [b"b", b"a"]


@pytest.mark.parametrize("said", ["1.png", "c/1.png"])
def test_a_picture_that_may_be_any_of_several_is_refused(pictures, said):
    with pytest.raises(
        InvalidInput, match=rf"^t.csv, line 2: '{said}' may be any of 2 files of that name. Name its folder"
    ):
        pictures(f"id,image\nx,{said}\ny,a/1.png\n")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"settings": {"goal": "rank"}}, "settings has 'goal', which has a place of its own. Put it beside settings"),
        ({"settings": {"policy": "VACDB"}}, "settings has 'policy'"),
        ({"settings": {"storage": "memory"}}, "settings has 'storage', which a plan does not say. Leave it out"),
        ({"settings": {"lease_seconds": float("nan")}}, "settings is .*nan.*, which JSON cannot hold"),
        ({"settings": {"criteria": 5}}, "settings.criteria is 5. Give a list"),
        ([1], r"The plan is \[1\]. Give an object with name, goal"),
        ({"settings": [1]}, r"settings is \[1\]. Give an object"),
        ({"features": {"size": float("inf")}}, "features is .*inf.*, which JSON cannot hold"),
        ({"features": {"columns": "x"}}, "features.columns is 'x'. Give a list of names"),
        ({"features": "own"}, "features is 'own'. Give an object"),
        ({"columns": "text"}, "columns is 'text'. Give an object"),
        ({"encoding": 5}, "encoding is 5. Give a text, or leave it out"),
        ({"goal": 5}, "goal is 5. Give a text, or leave it out"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(draft, plan, said):
    with pytest.raises(InvalidInput, match=said):
        draft("a.csv", "id,x\na,1\nb,2\n", plan).create("s", "memory")


@pytest.mark.parametrize("field", ["payload", "prompt"])
def test_what_json_cannot_hold_is_named(draft, field):
    line = '{"id": "%s", "context": "c", "' + field + '": {"x": NaN}}\n'
    with pytest.raises(
        InvalidInput, match=f"^a.jsonl, line 1: '{field}' is .* which JSON cannot hold .*. Give a finite"
    ):
        draft("a.jsonl", line % "a" + line % "b")


@pytest.mark.parametrize("nothing", ["none", "-", "n/a"])
def test_features_that_are_nothing_are_none(draft, nothing):
    assert draft("a.csv", f"id,features\na,{nothing}\nb,{nothing}\n").given is None
    assert draft("a.jsonl", json.dumps({"id": 1, "features": nothing})).given is None


def test_names_that_are_made_are_nobody_elses(draft):
    found = draft("a.csv", "id,text\na (2),x\na,y\na,z\na (3),p\n")
    ids = [arm.id for arm in found.arms]
    assert len(set(ids)) == 4
    assert (ids[0], ids[3]) == ("a (2)", "a (3)"), "names of the file stay"
    assert len(found.create("s", "memory").arms()) == 4


def test_lines_end_where_json_says(draft):
    assert [arm.payload for arm in draft("a.jsonl", '"one\u2028two"\n"three"\r\n"four"\r"five"').arms] == [
        "one\u2028two",
        "three",
        "four",
        "five",
    ]


def test_a_column_may_have_two_roles(draft):
    both = draft("a.csv", "text,x\none,1\ntwo,2\n", {"columns": {"id": "text", "payload": "text"}})
    assert [(arm.id, arm.payload) for arm in both.arms] == [("one", "one"), ("two", "two")]
    assert both.plan["columns"] == {"id": "text", "payload": "text", "context": None, "prompt": None}
    number = {"columns": {"id": "nr"}, "features": {"kind": "columns", "columns": ["nr"]}}
    study = draft("a.csv", "nr,text\n5,one\n7,two\n", number).create("s", "memory")
    assert [arm.id for arm in study.arms()] == ["5", "7"]
    assert study.features().shape == (2, 1)
