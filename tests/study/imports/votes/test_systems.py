"""Votes of a study of systems in files: systems and prompts are named in columns of their own."""

import csv
import json
from pathlib import Path

import pytest

from duelist.core.errors import UnknownArm
from duelist.study import Arm, Study, create_study
from duelist.study.imports import plan_items
from tests.helpers.systems import system_study, vote

FORMATS = ["votes.csv", "votes.jsonl", "battles.json"]


@pytest.mark.parametrize("name", FORMATS)
def test_votes_return_to_the_same_answers(tmp_path: Path, name: str) -> None:
    study = system_study(3, 4)
    vote(study, 20, [1.0, 0.0, -1.0])
    form = "arena" if name == "battles.json" else None
    path = tmp_path / name
    study.export(path, form)
    copy = system_study(3, 4)
    assert copy.import_votes(path, form).added == 20
    assert [(v.first, v.second, v.outcome, v.context) for v in copy.votes()] == [
        (v.first, v.second, v.outcome, v.context) for v in study.votes()
    ]
    one, other = study.leaderboard(), copy.leaderboard()
    assert one == other
    assert study.import_votes(path, form).duplicates == 20


def test_exports_name_system_and_prompt(tmp_path: Path) -> None:
    study = system_study(3, 4)
    vote(study, 5, [1.0, 0.0, -1.0])
    study.export(tmp_path / "votes.csv")
    with (tmp_path / "votes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["left"] for row in rows} | {row["right"] for row in rows} <= {"s0", "s1", "s2"}
    assert {row["context"] for row in rows} <= {"p0", "p1", "p2", "p3"}
    assert rows[0]["prompt"].startswith("question ")
    study.export(tmp_path / "battles.json", "arena")
    battle = json.loads((tmp_path / "battles.json").read_text(encoding="utf-8"))[0]
    assert battle["model_a"] in {"s0", "s1", "s2"}
    assert battle["question_id"] == rows[0]["context"]


@pytest.mark.parametrize(("context", "what"), [("p9", "No prompt of this study"), ("", "names no prompt")])
def test_a_vote_without_an_answer_is_rejected(tmp_path: Path, context: str, what: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"left,right,winner,context\ns0,s1,left,{context}\n", encoding="utf-8")
    with pytest.raises(UnknownArm, match=what):
        system_study(2, 2).import_votes(path)


TEXTS = ["Why is the sky blue?", "Why is the grass green, and not blue or red? Answer in two short sentences, please."]


@pytest.mark.parametrize("named", [True, False], ids=["prompts with names", "prompts by their texts"])
@pytest.mark.parametrize("column", ["context", "prompt", "question_id"])
def test_a_vote_may_name_a_prompt_by_its_text(tmp_path: Path, named: bool, column: str) -> None:
    """Logs of battles often have the text of the prompt in the place of its id."""
    answers = tmp_path / "answers.csv"
    with answers.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", "a", "b"] if named else ["prompt", "a", "b"])
        writer.writerows([*([f"p{k}"] if named else []), text, f"a{k}", f"b{k}"] for k, text in enumerate(TEXTS))
    study = create_study("systems", "memory", goal="rank")
    study.apply(plan_items(answers))
    path = tmp_path / ("battles.jsonl" if column == "question_id" else "votes.csv")
    if column == "question_id":
        rows = [{"model_a": "a", "model_b": "b", "winner": "model_a", column: text} for text in TEXTS]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["left", "right", "winner", column])
            writer.writerows(["a", "b", "left", text] for text in TEXTS)
    assert study.import_votes(path).added == 2
    assert len({vote.context for vote in study.votes()}) == 2
    assert study.import_votes(path).duplicates == 2
    assert [row.wins for row in study.leaderboard().standings] == [2, 0]
    if named:
        assert {vote.context for vote in study.votes()} == {"p0", "p1"}


def test_votes_on_missing_answers_count_for_their_systems(tmp_path: Path) -> None:
    """Systems sometimes answer nothing, and files of answers omit it; raters voted on it all the same."""
    path = tmp_path / "votes.csv"
    lines = ["left,right,winner,context", "s0,s1,right,p1", "s0,s2,right,p1", "s1,s2,left,p0"]
    path.write_text("\n".join(lines), encoding="utf-8")
    study = system_study(3, 2, holes=((0, 1),))
    report = study.import_votes(path)
    assert (report.added, report.answers) == (3, 1)
    assert "1 missing answer was added without content, retired" in str(report)
    added = study.arms()[-1]
    assert (added.system, added.context, added.category, added.payload, added.retired) == ("s0", "p1", "c1", None, True)
    assert [(row.arm, row.votes) for row in study.leaderboard().standings] == [("s1", 2), ("s2", 2), ("s0", 2)]
    assert study.import_votes(path).duplicates == 3
    assert len(study.arms()) == 6
    assert added.id not in {arm.id for k in range(6) for arm in _shown(study, f"rater {k}")}


def _shown(study: Study, rater: str) -> tuple[Arm, Arm]:
    duel = study.ask(rater)
    study.tell(duel, "tie", rater)
    return duel.first, duel.second


def test_votes_may_name_answers_by_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner\ns0 / p1,s1 / p1,left\n", encoding="utf-8")
    study = system_study(2, 2)
    assert study.import_votes(path).added == 1
    assert study.leaderboard().standings[0].arm == "s0"
