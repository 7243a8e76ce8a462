"""Votes as people write them down: by text, with A or B, under the library's own names of columns, at local times."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from duelist.core.errors import InvalidInput, UnknownArm
from duelist.study import Study, create_study
from duelist.study.records import Outcome

TEXTS = ["Fast as light", "Slow is smooth", "Made for mornings"]


@pytest.fixture
def study() -> Study:
    """A study that numbers its texts, as a file without ids makes it."""
    made = create_study("taglines", "memory", goal="best")
    made.add_arms(["1", "2", "3"], payloads=TEXTS)
    return made


def imported(study: Study, tmp_path: Path, text: str, **options: object) -> list[tuple[str, str, Outcome | None]]:
    file = tmp_path / "votes.csv"
    file.write_text(text, encoding="utf-8")
    study.import_votes(file, **options)
    return [(vote.first, vote.second, vote.outcome) for vote in study.votes()]


@pytest.mark.parametrize(
    "file",
    [
        "first,second,outcome\n1,2,first\n3,1,second\n",
        "left,right,winner\n1,2,A\n3,1,b\n",
        "left,right,winner\n1,2,1\n3,1,1\n",
        "Left,Right,Winner\nFast as light,Slow is smooth,Fast as light\nMade for mornings, Fast as light ,Fast as light\n",
        "item_a;item_b;preferred\n1;2;first\n3;1;B\n",
    ],
)
def test_the_same_votes_in_many_words(study: Study, tmp_path: Path, file: str) -> None:
    assert imported(study, tmp_path, file) == [("1", "2", Outcome.FIRST), ("3", "1", Outcome.SECOND)]


def test_words_for_undecided_votes(study: Study, tmp_path: Path) -> None:
    found = imported(study, tmp_path, "first,second,outcome\n1,2,draw\n1,3,both bad\n2,3,skip\n")
    assert [outcome for _, _, outcome in found] == [Outcome.TIE, Outcome.BOTH_BAD, Outcome.SKIP]


def test_an_id_counts_before_a_side(tmp_path: Path) -> None:
    study = create_study("letters", "memory")
    study.add_arms(["a", "b"])
    assert imported(study, tmp_path, "left,right,winner\nb,a,a\n") == [("b", "a", Outcome.SECOND)]


def test_local_times(study: Study, tmp_path: Path) -> None:
    file = "left,right,winner,voted_at\n1,2,A,2026-07-01 14:00\n"
    imported(study, tmp_path, file, timezone="Europe/Berlin")
    assert study.votes()[0].voted_at == datetime(2026, 7, 1, 12, tzinfo=UTC)
    imported(study, tmp_path, file)
    assert study.votes()[1].voted_at == datetime(2026, 7, 1, 14, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="timezone is 'Mars'"):
        imported(study, tmp_path, file, timezone="Mars")


def test_a_text_of_two_items_is_ambiguous(study: Study, tmp_path: Path) -> None:
    study.add_arms(["4"], payloads=TEXTS[:1])
    with pytest.raises(UnknownArm, match="Several items have the text 'Fast as light': 1, 4"):
        imported(study, tmp_path, "left,right,winner\nFast as light,2,A\n")


def test_the_name_of_the_file_decides_the_format(study: Study, tmp_path: Path) -> None:
    study.tell(study.ask("ana"), "first", rater="ana")
    for name in ("v.csv", "v.jsonl"):
        assert study.export(tmp_path / name).rows == 1
        assert study.import_votes(tmp_path / name).duplicates == 1
