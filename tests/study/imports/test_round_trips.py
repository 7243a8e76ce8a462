"""Import into a study and export from it without losses."""

import json
from dataclasses import replace

import numpy as np
import pytest

import duelist as dl
from duelist.research.datasets import load_llmfao
from duelist.study import Outcome, VoteImportReport, load_study
from duelist.study.formats import Comparison, context_id, read, write
from tests.helpers.policy_state import policy_of
from tests.helpers.study_files import PROMPT, READABLE, START, counts, empty_study, export_and_read, study_with_votes

# -- contexts have payloads ---------------------------------------------------

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]


@pytest.mark.parametrize("payload", [PROMPT, MESSAGES, {"image": "q.png"}])
def test_a_context_is_shown_and_exported_with_its_payload(tmp_path, payload, url):
    study = empty_study("s", url)
    study.add_arms(["a", "b"], np.eye(2), ["one", "two"], "q17", {"q17": payload})
    duel = study.ask("ana")
    assert (duel.context, duel.prompt) == ("q17", payload)
    assert study.pending()[0].prompt == load_study("s", url).context_payload("q17") == payload
    study.tell(duel.id, "first", "ana")
    (row,) = export_and_read(study, tmp_path / "v.jsonl")
    assert (row.context, row.prompt) == ("q17", payload)


def test_a_prompt_is_the_context_s_text_and_not_its_id(tmp_path):
    study, _ = study_with_votes(votes=3, context_payloads={"q17": PROMPT})
    study.export(tmp_path / "p.jsonl", "trl")
    assert {json.loads(line)["prompt"] for line in (tmp_path / "p.jsonl").read_text().splitlines()} == {PROMPT}
    study.export(tmp_path / "b.json", "arena")
    battles = json.loads((tmp_path / "b.json").read_text())
    assert {(b["question_id"], b["conversation_a"][0]["content"]) for b in battles} == {("q17", PROMPT)}


def test_a_changed_context_is_seen_by_other_processes(url):
    study = empty_study("s", url)
    study.add_arms(["a", "b"], np.eye(2), contexts="c")
    other = load_study("s", url)
    assert other.ask("ana").prompt is None
    study.set_context("c", "new")
    assert (other.ask("ana").prompt, other.context_payload("c"), other.context_payload("no")) == ("new", "new", None)
    with pytest.raises(dl.InvalidInput, match="context is ''"):
        study.set_context("", "x")
    with pytest.raises(dl.InvalidInput, match="is not JSON"):
        study.set_context("c", {1, 2})


def test_a_context_without_a_payload_has_no_prompt(tmp_path):
    study, _ = study_with_votes(votes=2)
    assert {row.prompt for row in export_and_read(study, tmp_path / "v.jsonl")} == {None}
    assert study.export(tmp_path / "p.jsonl", "openai").skipped == {"without a prompt": 2}


# -- what comes in is kept ---------------------------------------------------------------


def battle(k, **more):
    def turns(answer):
        return [{"role": "user", "content": f"What is {k}?"}, {"role": "assistant", "content": answer}]

    return {
        "question_id": f"id{k}",
        "model_a": ("x", "y")[k % 2],
        "model_b": ("y", "x")[k % 2],
        "winner": ("model_a", "model_b")[k // 2 % 2],
        "conversation_a": turns(f"A{k}"),
        "conversation_b": turns(f"B{k}"),
        "language": "English",
    } | more


def test_battles_keep_their_questions_and_answers(tmp_path, url):
    """Models answer every question differently, and an export to TRL has these answers."""
    (tmp_path / "b.json").write_text(json.dumps([battle(k) for k in range(10)]))
    study = empty_study(storage=url)
    assert study.import_votes(tmp_path / "b.json", "arena") == VoteImportReport(added=10, duplicates=0)
    assert study.export(tmp_path / "p.jsonl", "trl").rows == 10
    won = [f"{'A' if k // 2 % 2 == 0 else 'B'}{k}" for k in range(10)]
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [(row["prompt"], row["chosen"]) for row in rows] == [(f"What is {k}?", won[k]) for k in range(10)]
    assert study.context_payload("id3") == "What is 3?"
    study.export(tmp_path / "again.json", "arena")
    for before, after in zip(read(tmp_path / "b.json", "arena"), read(tmp_path / "again.json", "arena"), strict=True):
        assert after == before


@pytest.mark.parametrize("name", ["trl", "openai"])
def test_preferences_keep_their_prompts(tmp_path, name):
    votes = [
        Comparison("a", "b", Outcome.FIRST, prompt=f"prompt {k}", payload_first=f"good {k}", payload_second=f"bad {k}")
        for k in range(5)
    ]
    write(votes, tmp_path / "p.jsonl", name)
    study = empty_study()
    assert study.import_votes(tmp_path / "p.jsonl", name).added == 5
    assert study.export(tmp_path / "again.jsonl", name).rows == 5
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "p.jsonl").read_bytes()
    assert {study.context_payload(context) for context in study.contexts()} == {f"prompt {k}" for k in range(5)}
    duel = study.ask("ana")  # two answers to one prompt, never to two
    assert duel.first.payload.split()[1] == duel.second.payload.split()[1] == duel.prompt.split()[1]


def test_an_unknown_time_stays_unknown(tmp_path, url):
    (tmp_path / "v.csv").write_text(
        "left,right,winner,voted_at\na,b,left,\na,b,right,2026-01-01T00:00:00+00:00\n", newline=""
    )
    study = empty_study(storage=url)
    study.import_votes(tmp_path / "v.csv", "csv")
    assert [vote.voted_at for vote in study.votes()] == [None, START]
    assert [row.voted_at for row in export_and_read(study, tmp_path / "out.csv", "csv")] == [None, START]
    study.tell(study.ask("ana").id, "first", "ana")
    assert study.votes()[-1].voted_at > START


def test_every_field_is_exported_again(tmp_path):
    """Several prompts in a context, payloads that differ from those of the items, extra columns, reasons."""
    votes = [
        Comparison("a", "b", Outcome.FIRST, "ana", "c", START, prompt="one", payload_first="A", payload_second="B",
                   extra={"turn": 1, "tags": ["x"]}),
        Comparison("b", "a", Outcome.TIE, "ben", "c", START, prompt="two", payload_first="B", payload_second="A!"),
        Comparison("a", "c", Outcome.SKIP, None, None, None, prompt=MESSAGES, payload_first={"image": 1}, payload_second="",
                   reason="no\nidea 🙂", response_seconds=2.5, propensity=0.25),
        Comparison("a", "b", Outcome.BOTH_BAD, None, None, START, late=True, criterion="style"),
    ]  # fmt: skip
    write(votes, tmp_path / "v.jsonl", "jsonl")
    study = empty_study()
    assert study.import_votes(tmp_path / "v.jsonl", "jsonl") == VoteImportReport(
        4, 0, not_counted={"criterion 'style'": 1}
    )
    back = export_and_read(study, tmp_path / "out.jsonl")
    made = [replace(vote, sequence=k, duel_id=k) for k, vote in enumerate(votes, start=1)]
    made[2] = replace(made[2], context=context_id(MESSAGES))
    shown = [replace(row, payload_first=row.payload_first) for row in back]
    # An arm that was always the same thing is that thing, also where the file did not say so.
    assert shown[3].payload_second == "B"
    assert [*shown[:3], replace(shown[3], payload_second=None)] == made


def test_fields_that_a_log_cannot_hold_are_counted(tmp_path):
    study, _ = study_with_votes(votes=5)
    study.export(tmp_path / "v.jsonl", "jsonl")
    imported = empty_study().import_votes(tmp_path / "v.jsonl", "jsonl")
    assert imported == VoteImportReport(5, 0, lost={"chosen_by": 5})
    assert str(imported) == "5 votes added; without chosen_by (5)"


@pytest.mark.parametrize("name", READABLE)
def test_an_export_can_be_imported_into_an_empty_study(tmp_path, name):
    study, best = study_with_votes(context_payloads={"q17": PROMPT})
    path = tmp_path / "votes"
    assert study.export(path, name).rows == 120
    again = empty_study()
    assert counts(again.import_votes(path, name)) == (120, 0)
    board = again.leaderboard()
    assert board.votes == 120
    leader = board.standings[0].arm
    assert leader == best or name in ("trl", "openai")  # those know arms by their text only
    assert policy_of(again).rounds_ == 120


def test_jsonl_has_the_whole_log(tmp_path):
    study, _ = study_with_votes(votes=5)
    votes = study.votes()
    study.tell(votes[0].duel_id, "tie", rater=votes[0].rater, revise=True)
    study.undo(votes[1].duel_id, rater=votes[1].rater)
    assert study.export(tmp_path / "log", "jsonl").rows == 7
    again = empty_study()
    imported = again.import_votes(tmp_path / "log", "jsonl")
    assert (counts(imported), imported.skipped) == ((4, 0), {"revised": 1, "undone": 1})
    assert [v.outcome for v in again.votes()] == [v.outcome for v in dl.study.current_votes(study.votes())]
    written = study.export(tmp_path / "votes.csv", "csv")
    assert (written.rows, written.skipped) == (4, {"revised": 2, "undone": 1})


def test_imported_votes_teach_the_policy(tmp_path):
    """After importing llmfao, the policy and the leaderboard agree on the best model, and the texts are kept."""
    votes = list(load_llmfao())
    write(votes, tmp_path / "battles.json", "arena")
    study = empty_study()
    assert study.import_votes(tmp_path / "battles.json", "arena").added == len(votes) == 8931
    assert len(study.arms()) == 59
    policy = study.policy()
    assert policy.rounds_ == 8931
    assert study.recommend().best in [s.arm for s in study.leaderboard().standings[:3]]
    study.export(tmp_path / "again.json", "arena")
    assert list(read(tmp_path / "again.json", "arena")) == votes


def test_too_many_items_for_one_feature_each(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("left,right,winner\n" + "".join(f"a{k},b{k},left\n" for k in range(1001)))
    study = dl.create_study("layered", "memory", policy="VACDB")
    with pytest.raises(dl.InvalidInput, match="2002 items"):
        study.import_votes(path, "csv")
    assert study.arms() == []


def test_a_failed_import_changes_nothing(tmp_path, url):
    path = tmp_path / "votes.jsonl"
    votes = [
        Comparison("a", "b", Outcome.FIRST, context="c", prompt="p", extra={"x": 1}),
        Comparison("a", "c", Outcome.FIRST, rater="\ud800"),
    ]
    write(votes, path, "jsonl")
    study = empty_study("s", url)
    with pytest.raises(dl.InvalidInput, match="rater is"):
        study.import_votes(path, "jsonl")
    assert study.arms() == load_study("s", url).arms() == []
    assert (len(study), study.context_payload("c")) == (0, None)
    write(votes[:1], path, "jsonl")
    assert study.import_votes(path, "jsonl").added == 1
    assert [arm.id for arm in study.arms()] == ["a", "b"]


def test_votes_of_an_excluded_rater_are_not_learned_and_not_exported(tmp_path, url):
    from duelist.study.storage import RaterRow

    votes = [Comparison("a", "b", Outcome.FIRST, rater=("ana", "ben")[k % 2]) for k in range(10)]
    write(votes, tmp_path / "v.jsonl", "jsonl")
    study = empty_study("s", url)
    study.add_arms(["a", "b"], np.eye(2))
    with study._writing() as tx:
        tx.put_rater(RaterRow("ben", {}, True, True, False, None, 0))
    imported = study.import_votes(tmp_path / "v.jsonl", "jsonl")
    assert imported == VoteImportReport(10, 0, not_counted={"excluded rater": 5})
    assert str(imported) == "10 votes added; 5 not counted (excluded rater)"
    assert study.policy().rounds_ == 5
    assert study.policy().snapshot() == load_study("s", url).policy().snapshot()  # as folded from the log
    written = study.export(tmp_path / "v.csv", "csv")
    assert (written.rows, written.skipped) == (5, {"excluded rater": 5})
