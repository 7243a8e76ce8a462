"""Files of items, previewed and made into studies in Python, in the shell and over HTTP."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openpyxl
import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study, load_study
from duelist.study.imports import Note, plan_items
from duelist.study.items.features import FEATURE_KINDS
from tests.helpers.busy_study import rebuilt
from tests.helpers.policy_state import policy_of
from tests.server.conftest import checked, opened, refused

ROWS = [
    ("eins", "Grüße aus Köln, déjà vu", "3,5"),
    ("zwei", 'sagt "nein; danke"', "4"),
    ("drei", "日本語 и русский", "-1,25"),
]


def table(delimiter: str, rows: Sequence[tuple[str, ...]] = ROWS) -> str:
    quoted = [delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return "\r\n".join([delimiter.join(("name", "text", "length")), *quoted]) + "\r\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom"])
def test_tables_of_any_tool_are_the_same_items(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = table(delimiter)
    body = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)
    path = tmp_path / "arms.csv"
    path.write_bytes(body)
    plan = plan_items(path)
    assert [(arm.id, arm.payload) for arm in plan.items] == [row[:2] for row in ROWS]
    roles = {column.name: (column.role, column.numeric) for column in plan.columns}
    assert roles == {"name": ("id", False), "text": ("payload", False), "length": ("feature", True)}
    assert plan.numbers["length"] == [3.5, 4.0, -1.25]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", "Größe und Übermut, schöne Grüße"),
        ("cp1251", "Привет, это длинный русский текст"),
        ("shift_jis", "日本語の文章をここに書きます"),
    ],
)
def test_legacy_encodings_are_detected(tmp_path: Path, encoding: str, words: str) -> None:
    rows = [(f"n{k}", f"{words} {k}", "1") for k in range(20)]
    path = tmp_path / "arms.csv"
    path.write_bytes(table(",", rows).encode(encoding))
    assert [arm.payload for arm in plan_items(path).items] == [row[1] for row in rows]
    assert [arm.payload for arm in plan_items(path, encoding=encoding).items] == [row[1] for row in rows]


def test_a_short_western_spreadsheet_is_not_detected_as_chinese(tmp_path: Path) -> None:
    path = tmp_path / "arms.csv"
    path.write_bytes("id;text\neins;Guten Tag\nzwei;Grüß Gott\ndrei;Servus\n".encode("latin-1"))
    plan = plan_items(path)
    assert [arm.payload for arm in plan.items] == ["Guten Tag", "Grüß Gott", "Servus"]


def test_sheets_and_json_and_lines_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [("name", "text"), *(row[:2] for row in ROWS)]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    objects = [{"name": name, "text": text} for name, text, _ in ROWS]
    (tmp_path / "a.json").write_text(json.dumps(objects))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in objects))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(table(",").encode()))
    for name in ("a.xlsx", "a.json", "a.jsonl", "a.csv.gz"):
        assert [(arm.id, arm.payload) for arm in plan_items(tmp_path / name).items] == [row[:2] for row in ROWS], name
    (tmp_path / "b.json").write_text(json.dumps([row[1] for row in ROWS]))
    (tmp_path / "b.txt").write_text("\n".join(row[1] for row in ROWS) + "\n\n")
    for name in ("b.json", "b.txt"):
        assert [(arm.id, arm.payload) for arm in plan_items(tmp_path / name).items] == [
            (str(k), row[1]) for k, row in enumerate(ROWS, 1)
        ], name


def test_answers_to_prompts_are_grouped(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("model,prompt,response\ngpt,Why?,Because.\nllama,Why?,So.\ngpt,How?,Thus.\nllama,How?,Well.\n")
    study = create_study("answers", "memory", goal="rank", items=plan_items(path))
    assert study.contexts() == ["Why?", "How?"]
    assert [arm.id for arm in study.arms("How?")] == ["gpt / How?", "llama / How?"]
    assert study.ask("ana").prompt in ("Why?", "How?")
    assert (study.settings.goal, study.settings.policy) == ("rank", "RankingPair")


def test_contexts_of_long_prompts_have_readable_names(tmp_path: Path) -> None:
    """A file of items and a file of votes name the same prompt alike, so that votes find their items."""
    prompt = "Write a poem about the sea, in four lines, that does not rhyme.\nNo title, please."
    path = tmp_path / "answers.jsonl"
    answers = [{"id": name, "prompt": prompt, "response": f"{name}'s answer"} for name in ("one", "two")]
    path.write_text("\n".join(json.dumps(each) for each in answers))
    study = create_study("poems", "memory", items=plan_items(path))
    (context,) = study.contexts()
    assert context.startswith("Write a poem about the sea, in four… ")
    votes = tmp_path / "votes.json"
    votes.write_text(json.dumps([{"model_a": "one", "model_b": "two", "winner": "model_a", "prompt": prompt}]))
    study.import_votes(votes, "arena")
    assert study.contexts() == [context]
    assert len(study.votes()) == 1


def test_dates_are_not_ids(tmp_path: Path) -> None:
    path = tmp_path / "arms.csv"
    path.write_text("launched,text\n" + "\n".join(f"{k}.03.2026,Headline {k}" for k in range(1, 6)))
    plan = plan_items(path)
    assert [arm.id for arm in plan.items] == ["1", "2", "3", "4", "5"]
    assert {column.name: column.role for column in plan.columns} == {"launched": "other", "text": "payload"}
    assert next(arm.id for arm in plan_items(path, columns={"id": "launched"}).items) == "1.03.2026"


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["Use `x`.\n\n```\ncode\n```", "no", "nor", "this", "one"], "markdown"),
        (["# Title\ntext", "## Other\ntext"], "markdown"),
        (["| a | b |\n|---|---|\n| 1 | 2 |"] * 2, "markdown"),
        (["- one\n- two", "**bold** word"], "markdown"),
        (["3 * 4 * 5 = 60", "#hashtag", "a | b", "- a dash", "snake_case_name"], None),
        (["plain", "texts"], None),
    ],
)
def test_markdown_is_recognised_by_what_is_in_it(tmp_path: Path, texts: list[str], shown: str | None) -> None:
    path = tmp_path / "arms.json"
    path.write_text(json.dumps([{"id": f"a{k}", "text": text} for k, text in enumerate(texts)]))
    assert plan_items(path).settings.get("show_as") == shown


def test_system_files_in_folders_are_ignored(tmp_path: Path) -> None:
    """A table that names pictures is found among system files."""
    for name in ("a.png", "b.png", "Thumbs.db", "desktop.ini", "~$arms.xlsx", "notes.md"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "arms.csv").write_text("id,image\nfirst,a.png\nsecond,b.png\n")
    plan = plan_items(sorted(path for path in tmp_path.iterdir()))
    assert [(arm.id, arm.payload) for arm in plan.items] == [
        ("first", {"image": "a.png"}),
        ("second", {"image": "b.png"}),
    ]
    assert plan.notes == (Note("ignored_files", {"files": ["notes.md"]}),)


def test_features_of_each_kind(tmp_path: Path) -> None:
    words = ("a red car", "a blue car", "one red boat", "green tea", "black tea", "white tea")
    path = tmp_path / "arms.csv"
    path.write_text("id,text,price,weight\n" + "\n".join(f"x{k},{text},{k},{k * k}" for k, text in enumerate(words)))
    own = create_study("own", "memory", items=plan_items(path, features="none"))
    assert own.features().shape == (6, 0)  # each is known by its votes alone
    columns = create_study(
        "columns", "memory", items=plan_items(path, features={"kind": "columns", "columns": ["price", "weight"]})
    )
    raw = np.column_stack([np.arange(6.0), np.arange(6.0) ** 2])
    assert columns.features() == pytest.approx((raw - raw.mean(0)) / raw.std(0), abs=1e-6)
    hashed = create_study(
        "hashed", "memory", items=plan_items(path, features={"kind": "hashed", "size": 64})
    ).features()
    assert hashed.shape == (6, 64)
    assert np.linalg.norm(hashed, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    near, far = hashed[3] @ hashed[4], hashed[0] @ hashed[4]
    assert near > far, "teas are more alike than a car and a tea"
    tfidf = create_study("tfidf", "memory", items=plan_items(path, features="tfidf"))
    vocabulary = sorted({word for text in words for word in text.split()})
    assert tfidf.features().shape == (6, len(vocabulary))
    used = [[word in text.split() for word in vocabulary] for text in words]
    assert np.array_equal(tfidf.features() > 0, used)
    assert tfidf.features() @ tfidf.features().T == pytest.approx(np.array(tfidf.features() @ tfidf.features().T).T)


def test_later_items_get_features_by_the_same_recipe(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("id,text\n" + "\n".join(f"x{k},word{k} common" for k in range(5)))
    (tmp_path / "two.csv").write_text("id,text\ny0,word3 common\ny1,unknown\n")
    study = create_study("grows", "memory", items=plan_items(tmp_path / "one.csv", features="tfidf"))
    assert study.apply(plan_items(tmp_path / "two.csv")).added == 2
    assert np.array_equal(study.features(["y0"]), study.features(["x3"]))
    assert not study.features(["y1"]).any()


def test_own_features_grow_and_what_was_learned_stays(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = create_study("grows", url, repeat_pairs=0, policy="VACDB")  # which knows arms by features alone
    study.add_arms([f"a{k}" for k in range(5)])
    other = load_study("grows", url)
    for _ in range(40):
        duel = study.ask("ana")
        study.tell(duel, "first" if duel.first.id < duel.second.id else "second", "ana")
        other.ask("ben")
    before = policy_of(study).theta_
    assert study.add_arms([f"b{k}" for k in range(20)]) == 20
    assert study.add_arms([f"b{k}" for k in range(20)]) == 0
    assert study.features().shape[0] == 25
    assert np.array_equal(study.features()[:, :25], np.eye(25))
    after = policy_of(study).theta_
    assert len(after) > len(before)
    assert study.policy().snapshot() == rebuilt(study).snapshot(), "the policy is what the log says"
    assert np.array_equal(np.argsort(after[:5]), np.argsort(before[:5]))
    assert not after[len(before) :].any()
    assert policy_of(other).theta_ == pytest.approx(after, abs=0), "whoever had the narrow policy has the wide one"
    seen = {arm for _ in range(60) for duel in [study.ask(f"r{_}")] for arm in (duel.first.id, duel.second.id)}
    assert any(arm.startswith("b") for arm in seen)
    with pytest.raises(InvalidInput, match="at most"):
        study.add_arms([f"c{k}" for k in range(3000)])
    given = create_study("given", "memory")
    given.add_arms(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(InvalidInput, match="features"):
        given.add_arms(["c"])


@pytest.mark.parametrize(
    ("name", "body", "plan", "words"),
    [
        ("a.csv", "", {}, "a.csv is empty"),
        ("a.csv", "id,text\n", {}, "has no items"),
        ("a.csv", "id,text\na,b,c\n", {}, "3 cells"),
        ("a.json", "[1, 2", {}, "a.json"),
        ("a.pdf", "%PDF", {}, "cannot be read"),
        ("a.csv", "id,text\na,b\n", {"columns": {"id": "nope"}}, "nope"),
        ("a.csv", "id,text\na,b\n", {"features": {"kind": "magic"}}, "magic"),
        ("a.csv", "id,text\na,b\n", {"features": {"kind": "columns", "columns": ["text"]}}, "text"),
        ("a.csv", "id,text\na,b\n", {"nonsense": 1}, "nonsense"),
        ("a.csv", "id,text\na,b\n", {"settings": {"storage": "memory"}}, "storage"),
        ("a.csv", "id,text\na,b\n", {"settings": {"seed": float("nan")}}, "NaN"),
        ("a.csv", "id,text\na,b\n", {"encoding": 5}, "encoding"),
        ("a.jsonl", '{"id": "a", "payload": [NaN]}', {}, "JSON cannot hold"),
        ("a.xlsx", "nope", {}, "cannot be read as an Excel file"),
    ],
)
def test_an_error_is_reported_and_no_study_is_created(
    admin: httpx.Client, name: str, body: str, plan: dict[str, Any], words: str, tmp_path: Path
) -> None:
    before = len(checked(admin.get("/studies"))["studies"])
    sent = {"files": [("file", (name, body.encode()))], "data": {"plan": json.dumps({**plan, "name": "never"})}}
    error = refused(admin.post("/files/create", **sent), 422, "invalid_input")
    assert words in error["message"] + error["hint"]
    assert "/tmp" not in error["message"], "a folder of the server's"
    assert len(checked(admin.get("/studies"))["studies"]) == before


def test_a_study_from_a_file_over_http(admin: httpx.Client, storage: str) -> None:
    files = [("file", ("größe.csv", table(";").encode("cp1252", "xmlcharrefreplace")))]
    preview = checked(admin.post("/files/preview", files=files))
    assert (preview["kind"], preview["rows"], len(preview["items"])) == ("table", 3, 3)
    assert [choice["kind"] for choice in preview["features"]] == [kind.kind for kind in FEATURE_KINDS]
    plan = {
        **preview["plan"],
        "name": "from a file",
        "goal": "best",
        "features": {"kind": "columns", "columns": ["length"]},
    }
    made = checked(admin.post("/files/create", files=files, data={"plan": json.dumps(plan)}), 201)
    study = opened(storage, f"/studies/{made['id']}")
    assert [arm.id for arm in study.arms()] == ["eins", "zwei", "drei"]
    assert study.features().shape == (3, 1)
    more = [("file", ("more.csv", b"name;text;length\nvier;neu;7\n"))]
    assert checked(admin.post(f"/studies/{made['id']}/files", files=more)) == {"added": 1, "existing": 0, "notes": []}


def test_a_folder_of_images_over_http(admin: httpx.Client, storage: str) -> None:
    pictures = [("file", (f"cat {k}.png", b"\x89PNG" + bytes([k]), "text/html")) for k in range(3)]
    assert checked(admin.post("/files/preview", files=pictures))["kind"] == "media"
    made = checked(admin.post("/files/create", files=pictures, data={"plan": json.dumps({"name": "cats"})}), 201)
    duel = checked(admin.post(f"/studies/{made['id']}/ask", json={"rater": "ana"}))
    (block,) = duel["first"]["content"]
    assert block["type"] == "image"
    shown = admin.get(block["src"].removeprefix("/api/v1"))
    assert shown.headers["content-type"] == "image/png", "never what the sender says"
    assert shown.content.startswith(b"\x89PNG")


def test_ambiguous_pictures_are_rejected_over_http(admin: httpx.Client) -> None:
    """Uploads have no folders, and the numbered folders on the server are not those that the table names."""
    pictures = [("file", ("1.png", b"\x89PNG" + bytes([k]))) for k in range(2)]
    for table in (b"id,image\na,0/1.png\nb,1/1.png\n", b"id,image\na,x/1.png\nb,y/1.png\n"):
        error = refused(
            admin.post("/files/preview", files=[*pictures, ("file", ("t.csv", table))]), 422, "invalid_input"
        )
        assert "may be any of 2 files of that name" in error["message"]


def test_policies_are_chosen_by_name_and_never_imported(admin: httpx.Client, make: Callable[..., str]) -> None:
    for body in ({"policy": "os:system"}, {"policy": "subprocess:Popen"}):
        refused(admin.post("/studies", json={"name": "evil", **body}), 422, "invalid_input")
        sent = {
            "files": [("file", ("a.csv", b"id,text\na,b\nc,d\n"))],
            "data": {"plan": json.dumps({"name": "evil", **body})},
        }
        refused(admin.post("/files/create", **sent), 422, "invalid_input")


def test_the_shell_creates_a_study_in_one_command(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text(table(","))
    environment = {**os.environ, "DUELIST_STORAGE": f"sqlite:///{tmp_path / 's.db'}"}
    command = [sys.executable, "-m", "duelist.cli", "study", "create", "captions", str(tmp_path / "arms.csv")]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    assert "The study was not created" in run("--preview").stdout
    done = run("--goal", "best")
    assert (done.returncode, "3 items" in done.stdout) == (0, True), done.stderr
    assert [arm.id for arm in load_study("captions", environment["DUELIST_STORAGE"]).arms()] == ["eins", "zwei", "drei"]
    again = run()
    assert (again.returncode, "--if-missing" in again.stderr) == (2, True)


def test_a_table_over_http_is_read_as_in_the_shell(admin: httpx.Client, storage: str, make: Callable[..., str]) -> None:
    """A matrix without a header keeps its first row, and a numeric column with an empty cell is not the payload."""
    matrix = make(0)
    sent = {"headers": {"content-type": "text/csv"}}
    answer = checked(admin.post(f"{matrix}/arms", content=b"1,2\n3,4\n5,7\n", **sent))
    assert (answer["added"], answer["existing"]) == (3, 0)
    assert any(note["code"] == "no_header" for note in answer["notes"])
    assert opened(storage, matrix).features().tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]
    named = make(0)
    for table in (b"id,x,y\na,1,2\n", b"id,y,x\nb,4,3\n"):
        checked(admin.post(f"{named}/arms", content=table, **sent))
    assert opened(storage, named).features().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    holes = make(0)
    checked(admin.post(f"{holes}/arms", content=b"id;x;y\na;1,5;1\nb;;2\n", **sent))
    study = opened(storage, holes)
    assert [(arm.id, arm.payload) for arm in study.arms()] == [("a", None), ("b", None)]
    assert study.features().tolist() == [[1.0], [2.0]]
