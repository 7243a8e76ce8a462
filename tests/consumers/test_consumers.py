"""Exports opened by the tools that they are for, each in a separate process."""

import csv
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from duelist.study.formats import Comparison, read, write
from duelist.study.imports import plan_items
from duelist.study.records import Outcome

START = datetime(2026, 1, 1, tzinfo=UTC)
MODELS = ["haiku 漢", 'sonnet, "x"', "opus; y", "limerick"]
LATE = 60_000
"""Rows before the first optional field: more than the ten megabytes from which `datasets` infers types."""


def votes(n=200, outcomes=tuple(Outcome)):
    rng = np.random.default_rng(0)
    made = []
    for k in range(n):
        first, second = rng.choice(MODELS, 2, replace=False)
        made.append(
            Comparison(
                str(first), str(second), Outcome(rng.choice(outcomes)), rater=f"rater {k % 3}", context=f"q{k % 5}",
                voted_at=START + timedelta(seconds=k), prompt=f"Why {k % 5}?\n漢", payload_first=f"one, {k}",
                payload_second=f'two "{k}"\n', extra={"turn": 1},
            )
        )  # fmt: skip
    return made


def run(*words, folder, script=None):
    """Return the output of a program."""
    given = ["-c", script, *words] if script else words
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "TQDM_DISABLE": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, *map(str, given)],
        env=os.environ | offline,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# -- evalica -----------------------------------------------------------------------------


def test_evalica_reads_an_export(tmp_path):
    write(votes(), tmp_path / "votes.csv", "evalica")
    run("-m", "evalica", "-i", "votes.csv", "-o", "scores.csv", "pairwise", "counting", folder=tmp_path)
    with (tmp_path / "scores.csv").open(newline="", encoding="utf-8") as file:
        found = {row["item"]: float(row["score"]) for row in csv.DictReader(file)}
    expected = dict.fromkeys(MODELS, 0.0)
    for vote in votes():
        shares = {Outcome.FIRST: (1, 0), Outcome.SECOND: (0, 1), Outcome.SKIP: (0, 0)}.get(vote.outcome, (0.5, 0.5))
        expected[vote.first] += shares[0]
        expected[vote.second] += shares[1]
    assert found == expected


# -- FastChat ----------------------------------------------------------------------------


@pytest.mark.parametrize("timed", [True, False])
def test_fastchat_rates_exported_battles(tmp_path, timed):
    """Return FastChat's online Elo: K = 4, in order of time, with "both bad" as a tie and without skips."""
    given = [vote if timed else Comparison(vote.first, vote.second, vote.outcome) for vote in votes()]
    write(given, tmp_path / "battles.json", "arena")
    words = ("-m", "fastchat.serve.monitor.elo_analysis", "--clean-battle-file", "battles.json", "--num-bootstrap", "2")
    said = run(*words, folder=tmp_path)
    online = said.split("# Online Elo\n")[1].split("# Median")[0]
    found = {
        name.strip(): int(score) for name, score in re.findall(r"^ *\d+, (.*), (\d+)$", online, flags=re.MULTILINE)
    }
    assert set(found) == set(MODELS)
    assert "last update" in said
    if timed:
        rating = dict.fromkeys(MODELS, 1000.0)
        for vote in given:
            if vote.outcome is not Outcome.SKIP:
                won = {Outcome.FIRST: 1.0, Outcome.SECOND: 0.0}.get(vote.outcome, 0.5)
                surprise = won - 1.0 / (1.0 + 10.0 ** ((rating[vote.second] - rating[vote.first]) / 400.0))
                rating[vote.first] += 4.0 * surprise
                rating[vote.second] -= 4.0 * surprise
        assert all(abs(found[model] - rating[model]) <= 0.5 + 1e-9 for model in MODELS)


# -- datasets and TRL --------------------------------------------------------------------

LOAD = """
import json, sys
from datasets import load_dataset
data = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir="cache")
print(json.dumps({"rows": len(data), "columns": data.column_names, "first": data[0], "last": data[-1]}))
"""


def late_votes():
    """Yield rows with long names and nothing else, then one with every field."""
    for _ in range(LATE):
        yield Comparison("a" * 100, "b" * 100, Outcome.FIRST)
    yield from votes(10)
    yield Comparison("a", "b", Outcome.TIE, extra={"nested": {"deep": [{"x": 1}]}, "turn": "one"})


def test_datasets_loads_a_file_with_late_columns(tmp_path):
    report = write(late_votes(), tmp_path / "battles.jsonl", "arena")
    assert (tmp_path / "battles.jsonl").stat().st_size > 20_000_000
    found = json.loads(run("battles.jsonl", folder=tmp_path, script=LOAD))
    assert found["rows"] == report.rows > LATE
    assert json.loads(found["last"]["extra"]) == {"nested": {"deep": [{"x": 1}]}, "turn": "one"}
    assert found["first"]["judge"] == ""
    assert sum(1 for _ in read(tmp_path / "battles.jsonl", "arena")) == report.rows


def test_datasets_loads_trl_files_with_columns_that_appear_late(tmp_path):
    def given():
        for k in range(LATE):
            yield Comparison("a", "b", Outcome.FIRST, payload_first=f"{k}" + "a" * 100, payload_second="b" * 100)
        yield from votes(10, (Outcome.FIRST,))

    report = write(given(), tmp_path / "p.jsonl", "trl")
    found = json.loads(run("p.jsonl", folder=tmp_path, script=LOAD))
    assert found["rows"] == report.rows == LATE + 10
    assert found["columns"] == ["prompt", "chosen", "rejected", "extra"]
    assert found["last"]["prompt"] == "Why 4?\n漢"


CHECK_TRL = """
import json, sys
from datasets import load_dataset
from trl.data_utils import is_conversational, maybe_extract_prompt, maybe_unpair_preference_dataset
data = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir="cache")
unpaired = maybe_unpair_preference_dataset(data)
print(json.dumps({
    "conversational": is_conversational(data[0]),
    "first": maybe_extract_prompt(data[0]),
    "labels": unpaired["label"][:],
    "completions": unpaired["completion"][:],
}))
"""


@pytest.mark.parametrize("conversational", [False, True])
def test_trl_recognizes_exported_preferences(tmp_path, conversational):
    given = votes(20, (Outcome.FIRST, Outcome.SECOND))
    write(given, tmp_path / "p.jsonl", "trl", conversational=conversational)
    found = json.loads(run("p.jsonl", folder=tmp_path, script=CHECK_TRL))

    def said(text, role):
        return [{"role": role, "content": text}] if conversational else text

    pairs = [(v.payload_first, v.payload_second) for v in given]
    chosen = [pair[v.outcome is Outcome.SECOND] for pair, v in zip(pairs, given, strict=True)]
    rejected = [pair[v.outcome is Outcome.FIRST] for pair, v in zip(pairs, given, strict=True)]
    assert found["conversational"] is conversational
    assert found["first"]["prompt"] == said(given[0].prompt, "user")
    assert found["first"]["chosen"] == said(chosen[0], "assistant")
    assert found["labels"] == [True] * 20 + [False] * 20
    assert found["completions"] == [said(text, "assistant") for text in chosen + rejected]


# -- Label Studio ------------------------------------------------------------------------

LABELS = """<View>
  <Pairwise name="pw" toName="text1,text2"/>
  <Text name="text1" value="$text1"/>
  <Text name="text2" value="$text2"/>
</View>"""
CONVERT = """
import json, sys
from label_studio_sdk.converter import Converter
converter = Converter(config=sys.argv[2], project_dir=".")
converter.convert_to_json_min(sys.argv[1], "out", is_dir=False)
print(open("out/result.json", encoding="utf-8").read())
"""


def test_label_studio_converts_exported_tasks(tmp_path):
    given = votes(30, (Outcome.FIRST, Outcome.SECOND))
    write(given, tmp_path / "tasks.json", "label-studio")
    found = json.loads(run("tasks.json", LABELS, folder=tmp_path, script=CONVERT))
    assert [(task["text1"], task["text2"], task["prompt"]) for task in found] == [
        (vote.payload_first, vote.payload_second, vote.prompt) for vote in given
    ]
    side = {Outcome.FIRST: "left", Outcome.SECOND: "right"}
    assert [
        json.dumps(side[vote.outcome]) in json.dumps(task["pw"]) for vote, task in zip(given, found, strict=True)
    ] == [True] * 30


# -- Excel -------------------------------------------------------------------------------


def sheet(path: Path, rows):
    from openpyxl import Workbook

    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def test_votes_from_excel(tmp_path):
    rows = [
        [],
        ["left", "right", "winner", "worker", "propensity", "voted_at", "turn", None],
        [1, "b\nb", "Left", "ána", 0.25, "2026-01-01T00:00:00+00:00", 3, None],
        [None] * 8,
        ["x", 2, "tie", None, "0,5", None, 2.5, None],
    ]
    sheet(tmp_path / "votes.xlsx", rows)
    assert list(read(tmp_path / "votes.xlsx", "csv")) == [
        Comparison("1", "b\nb", Outcome.FIRST, rater="ána", propensity=0.25, voted_at=START, extra={"turn": "3"}),
        Comparison("x", "2", Outcome.TIE, propensity=0.5, extra={"turn": "2.5"}),
    ]


def test_items_from_excel(tmp_path):
    sheet(tmp_path / "arms.xlsx", [["id", "size", "payload", "speed"], ["a", 1.5, "one", -1], ["b", 2, None, 0.25]])
    plan = plan_items(tmp_path / "arms.xlsx")
    assert [(arm.id, arm.payload) for arm in plan.items] == [("a", "one"), ("b", "")]
    assert plan.numbers == {"size": [1.5, 2.0], "speed": [-1.0, 0.25]}


# -- a reward model ----------------------------------------------------------------------


def test_a_reward_model_trained_on_exported_votes_ranks_answers(tmp_path):
    """Run the example: a model trained by TRL on votes that duelist chose scores answers as people like them."""
    example = Path(__file__).parents[2] / "examples" / "reward_model.py"
    said = run(example, folder=tmp_path)
    assert float(re.search(r"correlation of scores and likings: (.*)", said)[1]) > 0.8
    assert (tmp_path / "out" / "examples" / "reward_model.png").stat().st_size > 5000
