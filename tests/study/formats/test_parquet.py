"""Parquet files, and names that do not fit the format of a file."""

import re
from datetime import UTC, datetime

import pandas as pd
import pyarrow.parquet
import pytest

from duelist.core.errors import InvalidInput
from duelist.study.formats import FORMATS, Comparison, read, write
from duelist.study.records import Outcome

PARQUET = [name for name, form in FORMATS.items() if ".parquet" in form.suffixes]


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_holds_what_the_text_file_of_the_format_holds(name, tmp_path):
    rows = [
        Comparison("a", "b", Outcome.FIRST, rater="ana", prompt="Why?", payload_first="So.", payload_second="No."),
        Comparison("b", "c", Outcome.SECOND, context="q2", prompt="And?", payload_first="Hm.", payload_second="Yes."),
        Comparison("a", "c", Outcome.TIE, propensity=0.25, voted_at=datetime(2024, 5, 6, 7, 8, tzinfo=UTC)),
    ]
    text, table = tmp_path / f"v{FORMATS[name].suffixes[0]}", tmp_path / "v.parquet"
    assert write(rows, table, name) == write(rows, text, name)
    assert len(pd.read_parquet(table)) == write(rows, table, name).rows
    if FORMATS[name].read is not None:
        assert list(read(table, name)) == list(read(text, name))


def test_parquet_holds_messages_as_lists(tmp_path):
    chat = [{"role": "assistant", "content": "Rain."}]
    row = Comparison("a", "b", Outcome.FIRST, prompt="Why?", payload_first=chat, payload_second="No.")
    write([row], tmp_path / "v.parquet", "trl")
    (record,) = pyarrow.parquet.read_table(tmp_path / "v.parquet").to_pylist()
    assert record["chosen"] == chat
    assert next(read(tmp_path / "v.parquet")).payload_first == chat


def test_a_column_of_parquet_takes_its_type_from_all_rows(tmp_path):
    early = [Comparison("a", "b", Outcome.FIRST) for _ in range(5000)]
    late = Comparison("a", "b", Outcome.FIRST, rater="ana", propensity=0.5)
    write([*early, late], tmp_path / "v.parquet")
    assert list(read(tmp_path / "v.parquet", "csv"))[-1] == late


def test_a_file_that_is_not_parquet_is_named(tmp_path):
    (tmp_path / "v.parquet").write_text("left,right,winner\n")
    with pytest.raises(InvalidInput, match=r"v\.parquet cannot be read as Parquet"):
        list(read(tmp_path / "v.parquet"))


@pytest.mark.parametrize(
    ("name", "file"),
    [("trl", "t.csv"), ("trl", "t.xlsx"), ("csv", "v.jsonl"), ("jsonl", "v.json"), ("openai", "o.parquet"),
     ("label-studio", "l.csv"), ("evalica", "e.parquet"), ("trl", "t.parquet.gz"), ("arena", "b.txt")],
)  # fmt: skip
def test_a_file_is_not_written_under_the_name_of_another_file_type(name, file, tmp_path):
    with pytest.raises(InvalidInput, match=re.escape(f"{file} cannot be written in the format {name}.")):
        write([Comparison("a", "b", Outcome.FIRST)], tmp_path / file, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", ["votes", "votes.jsonl.gz", "votes.NDJSON"])
def test_names_without_a_suffix_and_gzip_are_fine(file, tmp_path):
    assert write([Comparison("a", "b", Outcome.FIRST)], tmp_path / file, "jsonl").rows == 1
