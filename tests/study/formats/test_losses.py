"""The table in docs/guides/formats.md of fields that come back from each format, checked on a log with awkward votes."""

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from duelist.study import Outcome, create_study, current_votes
from duelist.study.formats import FORMATS, Comparison, read, write
from duelist.study.records import ChosenBy, Source

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "formats.md").read_text()
READABLE = [name for name in FORMATS if FORMATS[name].read is not None]
FIELDS = {
    "sides and ids of arms": ("first", "second"),
    "rater": ("rater",),
    "context": ("context",),
    "prompt": ("prompt",),
    "answers": ("payload_first", "payload_second"),
    "time": ("voted_at",),
    "response time": ("response_seconds",),
    "source": ("source",),
    "propensity": ("propensity",),
    "reason, criterion": ("reason", "criterion"),
    "late": ("late",),
    "other columns": ("extra",),
    "who chose the pair": ("chosen_by",),
}
LONG = 'A long\nanswer, with "quotes"; 漢字 🙂 \u2028 é\t' * 25_000  # a megabyte
ARMS = {"plain": "short", "né\n漢": LONG, '🙂, "x"; y': "tab\there\r\nand there", " edges ": "'single'"}
PROMPTS = {"q1": "Why?\n\n漢字 🙂", "q2, with; separators": '"quoted", and a \\ backslash', "q3": "x" * 10_000}


def table():
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 9]
    names = re.findall(r"`([\w-]+)`", next(line for line in lines if "`arena`" in line and "`jsonl`" in line))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows if row[0]}


TABLE = table()


def awkward_votes():
    """Return votes with every outcome, pair and context."""
    ids = list(ARMS)
    votes = []
    for k, outcome in enumerate(list(Outcome) * 6):
        first, second = ids[k % 4], ids[(k + 1 + k // 4 % 3) % 4]
        context = list(PROMPTS)[k % 3]
        votes.append(
            Comparison(
                first, second, outcome, rater=f"rater {k % 3} 漢,\n\"", context=context,
                voted_at=datetime(2026, 1, 1, 0, 0, k, 123456, tzinfo=UTC), source=Source.MODEL if k % 2 else Source.HUMAN,
                response_seconds=k / 8, chosen_by=ChosenBy.RANDOM, propensity=0.125, prompt=PROMPTS[context],
                payload_first=ARMS[first], payload_second=ARMS[second], reason=f"reason\n{k} 🙂", criterion="style",
                late=bool(k % 2), extra={"turn": k, "note": f"n\n{k}"} if k % 5 else {"note": "", "tags": ["ä", None]},
            )
        )  # fmt: skip
    return votes


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study with imported, live, revised and undone votes."""
    folder = tmp_path_factory.mktemp("awkward")
    study = create_study("awkward", storage="memory", policy="LocalPairUCB")
    study.add_arms(list(ARMS), np.eye(4), list(ARMS.values()), "q1")
    write(awkward_votes(), folder / "v.jsonl", "jsonl")
    study.import_votes(folder / "v.jsonl", "jsonl")
    for k in range(6):
        rater = f"live {k}"
        duel = study.ask(rater)
        study.tell(duel.id, list(Outcome)[k % 5], rater, response_seconds=float(k))
    for k, vote in enumerate(study.votes()[-6:-3]):
        study.tell(vote.duel_id, "tie" if vote.outcome != "tie" else "first", vote.rater, revise=True)
        if k == 2:
            study.undo(vote.duel_id, vote.rater)
    return study


HELD = {
    "arena": (Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD),
    "trl": (Outcome.FIRST, Outcome.SECOND),
    "openai": (Outcome.FIRST, Outcome.SECOND),
    "csv": tuple(Outcome),
    "evalica": (Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD),
    "label-studio": (Outcome.FIRST, Outcome.SECOND, Outcome.SKIP),
    "jsonl": tuple(Outcome),
}


def current_rows(study, folder):
    """Return the current votes of a study with their texts, in the order in which they were first given."""
    study.export(folder / "log", "jsonl")
    by_number = {row.sequence: row for row in read(folder / "log", "jsonl")}
    return [by_number[vote.sequence] for vote in current_votes(study.votes())]


def test_the_table_has_every_readable_format_and_every_field():
    assert all(list(row) == READABLE for row in TABLE.values())
    assert set(TABLE) == {*FIELDS, "unknown time", "revisions"}


@pytest.mark.parametrize("name", READABLE)
def test_fields_come_back_as_the_table_says(study, name, tmp_path):
    written = study.export(tmp_path / "file", name)
    held = HELD[name]
    before = [row for row in current_rows(study, tmp_path) if row.outcome in held]
    assert written.rows == (len(study) if name == "jsonl" else len(before))
    counted = sum(written.skipped.values())
    assert written.rows + counted == len(study)
    again = create_study("again", storage="memory", policy="LocalPairUCB")
    imported = again.import_votes(tmp_path / "file", name)
    assert imported.added == len(before)
    after = current_rows(again, tmp_path)
    assert len(after) == len(before)
    for label, fields in FIELDS.items():
        same = all(
            all(_content(one, field, name) == _content(other, field, name) for field in fields)
            for one, other in zip(before, after, strict=True)
        )
        promised = TABLE[label][name]
        assert same == (promised == "yes"), (label, name)


def _content(row, field, name):
    """Return a field, with the winner first for trl and openai."""
    if name in ("trl", "openai") and row.outcome is Outcome.SECOND and field.startswith("payload"):
        field = {"payload_first": "payload_second", "payload_second": "payload_first"}[field]
    return getattr(row, field)


@pytest.mark.parametrize("name", READABLE)
def test_an_unknown_time_stays_unknown(name, tmp_path):
    assert TABLE["unknown time"][name] == "yes"
    votes = [Comparison("a", "b", Outcome.FIRST, prompt="p", payload_first="1", payload_second="2")]
    write(votes, tmp_path / "file", name)
    study = create_study("s", storage="memory", policy="LocalPairUCB")
    study.import_votes(tmp_path / "file", name)
    assert [vote.voted_at for vote in study.votes()] == [None]
    study.export(tmp_path / "again", name)
    assert [row.voted_at for row in read(tmp_path / "again", name)] == [None]


def test_revisions_are_not_kept():
    assert set(TABLE["revisions"].values()) == {"no"}
