"""The code on docs/guides/formats.md prints what it says, and its table agrees with the formats."""

import re
from pathlib import Path

import pytest

from duelist.study.formats import (
    FORMATS,
    Comparison,
    arena,
    evalica,
    jsonl,
    left_right,
    openai,
    trl,
    trl_unpaired,
    write,
)
from duelist.study.records import Outcome
from tests.docs.pages import run_page

PATH = Path(__file__).parents[3] / "docs" / "guides" / "formats.md"
PAGE = PATH.read_text()
TABLE = {
    cells[0].strip(" `"): [cell.strip() for cell in cells]
    for line in PAGE.splitlines()
    if (cells := line.strip("|").split("|"))[0].strip(" `") in FORMATS and line.startswith("| `")
}


def test_the_code_on_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    run_page(PATH, tmp_path, monkeypatch)
    promised = re.findall(r"^print\(.*\)  # (.*)$", PAGE, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised


def test_every_format_has_a_row_and_a_heading():
    assert list(TABLE) == list(FORMATS)
    headings = " ".join(re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE))
    assert all(name in headings for name in FORMATS)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("arena", arena.COLUMNS),
        ("trl", trl.COLUMNS),
        ("trl-unpaired", trl_unpaired.COLUMNS),
        ("openai", (*openai.COLUMNS, *openai.INPUT_EXTRAS)),
        ("csv", left_right.COLUMNS),
        ("evalica", evalica.COLUMNS),
    ],
)
def test_the_table_names_every_column(name, columns):
    named = set(re.findall(r"\w+", TABLE[name][1]))
    assert named - {"messages"} == set(columns)


@pytest.mark.parametrize("name", FORMATS)
def test_the_table_names_every_outcome_that_is_written(name, tmp_path):
    promised = TABLE[name][4].replace("`", "").split(", ")
    held = [
        "undone" if outcome is None else str(outcome)
        for outcome in (*Outcome, None)
        if write(
            [Comparison("a", "b", outcome, prompt="p", payload_first="1", payload_second="2")], tmp_path / "f", name
        ).rows
    ]
    assert held == promised
    bare = write([Comparison("a", "b", Outcome.FIRST)], tmp_path / "f", name).rows == 0
    assert TABLE[name][5] == ("yes" if bare else "no")
    assert TABLE[name][2].startswith("no") == (FORMATS[name].read is None)


def test_the_header_is_the_one_documented():
    assert f'{{"format": "{jsonl.FORMAT}", "version": {jsonl.VERSION}}}' in PAGE
