"""Files of systems' answers to prompts: long, wide and nested ones become the same plan."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import ItemPlan, create_study, plan_items

PROMPTS = ["Explain jazz to a child.", "Write a haiku.", "What is 2 + 2?", "Name a red fruit."]
SYSTEMS = ["gpt-x", "llama-y", "claude-z"]


def answer(system: str, prompt: str) -> str:
    return f"{system} says: {prompt.lower()}"


def wide_rows() -> list[dict[str, Any]]:
    return [{"prompt": p, "category": f"c{k % 2}", **{s: answer(s, p) for s in SYSTEMS}} for k, p in enumerate(PROMPTS)]


def long_rows(system: str = "model", text: str = "response") -> list[dict[str, Any]]:
    return [
        {"prompt": p, "category": f"c{k % 2}", system: s, text: answer(s, p)}
        for k, p in enumerate(PROMPTS)
        for s in SYSTEMS
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    columns = list(rows[0])
    if path.suffix == ".xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for row in (columns, *([row.get(name) for name in columns] for row in rows)):
            book.active.append(row)
        book.save(path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def cells(plan: ItemPlan) -> set[tuple[str | None, str | None, Any]]:
    return {(item.system, item.context, item.payload) for item in plan.items}


EVERY = {(s, p, answer(s, p)) for s in SYSTEMS for p in PROMPTS}


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl"])
@pytest.mark.parametrize(
    "rows", [wide_rows(), long_rows(), long_rows("system", "answer")], ids=["wide", "long", "system"]
)
def test_layouts_are_recognized(tmp_path: Path, rows: list[dict[str, Any]], suffix: str) -> None:
    plan = plan_items(written(tmp_path / f"answers.{suffix}", rows))
    assert cells(plan) == EVERY
    assert plan.systems == SYSTEMS
    assert {item.category for item in plan.items} == {"c0", "c1"}
    assert plan.items[0].id == "gpt-x / Explain jazz to a child."
    assert plan.feature_kind == "none"
    preview = plan.preview()
    assert preview["systems"] == SYSTEMS
    assert preview["contexts"] == 4
    assert "12 answers of 3 systems" in preview["notes"][0]["message"]


def test_a_wide_file_never_names_answers_by_another_systems_text(tmp_path: Path) -> None:
    """This is what happened before systems were known."""
    rows = [{"prompt": row["prompt"], "a": row["gpt-x"], "b": row["llama-y"]} for row in wide_rows()]
    plan = plan_items(written(tmp_path / "answers.csv", rows))
    assert plan.systems == ["a", "b"]
    assert {item.id for item in plan.items} == {f"{s} / {p}" for s in "ab" for p in PROMPTS}


@pytest.mark.parametrize(
    "record",
    [
        lambda p: {"prompt": p, "answers": {s: answer(s, p) for s in SYSTEMS}},
        lambda p: {"question": p, "responses": [{"model": s, "text": answer(s, p)} for s in SYSTEMS]},
        lambda p: {"prompt": p, "completions": [answer(s, p) for s in SYSTEMS], "models": SYSTEMS},
    ],
    ids=["object", "objects", "lists"],
)
def test_nested_records_are_unfolded(tmp_path: Path, record: Any) -> None:
    plan = plan_items(written(tmp_path / "answers.jsonl", [record(p) for p in PROMPTS]))
    assert cells(plan) == EVERY


def test_a_list_without_names_is_numbered(tmp_path: Path) -> None:
    rows = [{"prompt": p, "outputs": [f"one {p}", f"two {p}"]} for p in PROMPTS]
    assert plan_items(written(tmp_path / "answers.jsonl", rows)).systems == ["1", "2"]


def test_lists_of_different_lengths_are_rejected(tmp_path: Path) -> None:
    rows = [{"prompt": p, "outputs": ["x", "y"], "models": ["a"]} for p in PROMPTS]
    with pytest.raises(InvalidInput, match="2 answers and 1 names"):
        plan_items(written(tmp_path / "answers.jsonl", rows))


@pytest.mark.parametrize("rows", [wide_rows(), long_rows()], ids=["wide", "long"])
def test_answers_may_be_missing(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    for name in SYSTEMS if "gpt-x" in rows[0] else ["response"]:
        rows[1] = {**rows[1], name: "" if name != "gpt-x" else rows[1][name]}
    plan = plan_items(written(tmp_path / "answers.csv", rows))
    missing = 12 - len(plan.items)
    assert missing in (1, 2)
    (note,) = [note for note in plan.notes if note.code == "systems"]
    assert note.details["missing"] == missing
    assert str(note).endswith("; 1 answer is missing." if missing == 1 else "; 2 answers are missing.")
    study = create_study("holes", "memory", goal="rank", items=plan)
    assert len(study.arms()) == len(plan.items)


def test_duplicates_are_reported_and_the_first_is_used(tmp_path: Path) -> None:
    rows = long_rows()
    rows.append({**rows[0], "response": "another answer"})
    rows.append({**rows[1]})
    plan = plan_items(written(tmp_path / "answers.csv", rows))
    assert cells(plan) == EVERY
    (note,) = [note for note in plan.notes if note.code == "duplicate_answers"]
    assert note.details == {"system": "gpt-x", "prompt": PROMPTS[0], "count": 2, "others": 1}
    assert "The first of each is used" in str(note)


def test_rows_may_have_an_id(tmp_path: Path) -> None:
    """In a wide file it names the prompt; in a long one the answer, or the prompt if answers share it."""
    wide = [{"id": f"q{k}", **row} for k, row in enumerate(wide_rows())]
    plan = plan_items(written(tmp_path / "wide.csv", wide))
    assert {item.context for item in plan.items} == {"q0", "q1", "q2", "q3"}
    assert plan.prompts["q1"] == "Write a haiku."
    unique = [{"id": f"a{k}", **row} for k, row in enumerate(long_rows())]
    assert plan_items(written(tmp_path / "long.csv", unique)).items[5].id == "a5"
    shared = [{"id": f"q{k // 3}", **row} for k, row in enumerate(long_rows())]
    plan = plan_items(written(tmp_path / "shared.csv", shared))
    assert plan.items[5].id == "claude-z / q1"


def test_a_common_word_is_cut_from_the_names(tmp_path: Path) -> None:
    rows = [{"prompt": row["prompt"], "answer_a": row["gpt-x"], "answer_b": row["llama-y"]} for row in wide_rows()]
    assert plan_items(written(tmp_path / "answers.csv", rows)).systems == ["a", "b"]


def test_the_owner_decides(tmp_path: Path) -> None:
    rows = [
        {"Frage": row["prompt"], "A": row["gpt-x"], "B": row["llama-y"], "C": row["claude-z"]} for row in wide_rows()
    ]
    path = written(tmp_path / "answers.csv", rows)
    assert "unused_texts" in {note.code for note in plan_items(path).notes}
    assert plan_items(path).systems == []
    plan = plan_items(path, {"prompt": "Frage"}, systems=["A", "C"])
    assert plan.systems == ["A", "C"]
    assert [column.role for column in plan.columns] == ["prompt", "answer", "other", "answer"]
    wide = written(tmp_path / "wide.csv", [{name: row[name] for name in ("prompt", *SYSTEMS)} for row in wide_rows()])
    assert plan_items(wide, systems=[]).systems == []
    long = written(
        tmp_path / "long.csv", [{"wer": r["model"], "prompt": r["prompt"], "text": r["response"]} for r in long_rows()]
    )
    assert plan_items(long).systems == []
    assert plan_items(long, {"system": "wer"}).systems == SYSTEMS
    with pytest.raises(InvalidInput) as caught:
        plan_items(wide, systems=["nobody"])
    assert caught.value.field == "systems"
    with pytest.raises(InvalidInput) as caught:
        plan_items(wide, features="hashed")
    assert caught.value.field == "features"


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "p{}", "answer": "one answer {}", "note": "a note {}"},
        {"prompt": "p{}", "title": "a title {}", "body": "a body {}"},
        {"id": "{}", "text": "a text {}", "author": "somebody {}", "comment": "a comment {}"},
        {"prompt": "p{}", "model": "m{}", "answer": "one answer {}"},
    ],
)
def test_plain_items_stay_plain_items(tmp_path: Path, row: dict[str, str]) -> None:
    rows = [{name: cell.format(k) for name, cell in row.items()} for k in range(6)]
    assert plan_items(written(tmp_path / "items.csv", rows)).systems == []


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_plan_survives_json_and_planning_again(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / f"answers.{suffix}", wide_rows())
    plan = plan_items(path)
    assert ItemPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    options = plan.options
    assert plan_items(path, options.columns, options.features, options.encoding, options.systems) == plan


def test_applying_a_plan_again_adds_nothing(tmp_path: Path) -> None:
    plan = plan_items(written(tmp_path / "wide.csv", wide_rows()))
    study = create_study("answers", "memory", goal="rank", items=plan)
    assert study.systems() == SYSTEMS
    assert study.context_payload("Write a haiku.") == "Write a haiku."
    assert {arm.category for arm in study.arms()} == {"c0", "c1"}
    assert study.apply(plan).added == 0
    more = [{**row, "prompt": row["prompt"] + " Again."} for row in wide_rows()]
    assert study.apply(plan_items(written(tmp_path / "more.csv", more))).added == 12
    duel = study.ask("ana")
    assert duel.prompt in {row["prompt"] for row in (*wide_rows(), *more)}


def test_rows_without_system_or_prompt_are_rejected(tmp_path: Path) -> None:
    rows = long_rows()
    rows[3] = {**rows[3], "model": ""}
    with pytest.raises(InvalidInput, match="names no system"):
        plan_items(written(tmp_path / "answers.csv", rows))
    rows = long_rows()
    rows[3] = {**rows[3], "prompt": ""}
    with pytest.raises(InvalidInput, match="names no prompt"):
        plan_items(written(tmp_path / "answers.csv", rows))


def test_systems_with_few_answers_are_named(tmp_path: Path) -> None:
    """A column with texts for a few prompts may be a system that answers little, or remarks: the preview says that it is not read."""
    rows = wide_rows()
    for k, row in enumerate(rows):
        row["codegen"] = "def f(): pass" if k == 0 else ""
        row["notes"] = "read again" if k == 1 else ""
    path = written(tmp_path / "answers.csv", rows)
    plan = plan_items(path)
    assert plan.systems == SYSTEMS
    (note,) = (note for note in plan.notes if note.code == "sparse_answers")
    assert note.details["columns"] == ["codegen"]
    assert "codegen" in str(note)
    every = plan_items(path, systems=[*SYSTEMS, "codegen"])
    assert every.systems == [*SYSTEMS, "codegen"]
    assert "sparse_answers" not in {note.code for note in every.notes}
