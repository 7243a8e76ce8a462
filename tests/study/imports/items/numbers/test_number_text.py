"""Numbers as people write them: certain ones are parsed, ambiguous ones are named, and neither is shown to raters."""

import time

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study
from duelist.study.imports import plan_items


def column(tmp_path, cells, **options):
    lines = ["id\tx", *(f"a{k}\t{cell}" for k, cell in enumerate(cells))]
    (tmp_path / "arms.tsv").write_text("\n".join(lines) + "\n")
    return plan_items(tmp_path / "arms.tsv", **options)


def notes_on_x(found):
    return [str(note) for note in found.notes if "'x'" in str(note)]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$1,299.50", "$899.00", "$ 12"], [1299.5, 899, 12]),
        (["1.299,50 €", "899,00€", "12"], [1299.5, 899, 12]),
        (["£5", "-£3", "£-2", "+£1"], [5, -3, -2, 1]),
        (["1 234", "12", "1 345 678"], [1234, 12, 1345678]),
        (["1\u202f234,5", "1\u00a0000", "1\u2009000\u2009000"], [1234.5, 1000, 1000000]),
        (["1'234.50", "7\u2019000"], [1234.5, 7000]),
        (["1 234.567", "2"], [1234.567, 2]),
        (["\u22125", "2", "\u22121,5"], [-5, 2, -1.5]),
        (["\u22121 234 €", "−€ 2"], [-1234, -2]),
    ],
)
def test_certain_numbers_are_parsed(tmp_path, cells, numbers):
    found = column(tmp_path, cells)
    assert found.numbers == {"x": numbers}
    assert [arm.payload for arm in found.items] == [None] * len(cells)
    assert [note for note in notes_on_x(found) if "ignored" in note or "read as" in note] == []


def test_percentages_are_hundredths_as_in_spreadsheets(tmp_path):
    found = column(tmp_path, ["12 %", "5%", "0", "7,5 %"])
    assert found.numbers["x"] == pytest.approx([0.12, 0.05, 0.0, 0.075])
    assert notes_on_x(found) == ["The column 'x' is in percent: '12 %' is read as 0.12."]


@pytest.mark.parametrize(
    ("cells", "numbers", "words"),
    [
        (["TRUE", "FALSE", "true"], [1, 0, 1], "true or false"),
        (["no", "Yes", " yes"], [0, 1, 1], "yes or no"),
    ],
)
def test_true_and_false_are_one_and_zero_with_a_note(tmp_path, cells, numbers, words):
    found = column(tmp_path, cells)
    assert found.numbers == {"x": numbers}
    assert [arm.payload for arm in found.items] == [None] * len(cells)
    assert notes_on_x(found) == [f"The column 'x' says {words}, read as 1 and 0."]


def test_an_empty_cell_among_yes_and_no_is_named(tmp_path):
    found = column(tmp_path, ["yes", "", "no"])
    assert found.numbers == {}
    assert notes_on_x(found)[0].startswith("arms.tsv, line 3: 'x' is empty. A feature needs")
    assert column(tmp_path, ["yes", "no", "maybe"]).preview()["columns"][1]["role"] == "payload"


@pytest.mark.parametrize(
    ("cells", "line", "message", "remedy"),
    [
        (["(3)", "(4)", "5"], 2, "is '(3)', which looks like a number", "write its numbers as plain digits"),
        (["~5", "<3", "\u20132", "+-5"], 2, "is '~5', which looks like a number", "write its numbers as plain digits"),
        (["7", "5-", "3*", "[8]"], 3, "is '5-', which looks like a number", "write its numbers as plain digits"),
        (["$5", "€6", "7"], 3, "is '€6', and other cells of this column have '$'", "write its numbers in one unit"),
        (["12%", "0.3", "7%"], 3, "is '0.3', and other cells of this column have '%'", "write its numbers in one unit"),
        (["$1,299", "$950"], 2, "is '$1,299', and no cell shows whether", "write its numbers with one decimal sign"),
        (["1", "(3)", "2"], 3, "is '(3)', which is not a number", "correct it"),
    ],
)
def test_ambiguous_numbers_are_named_and_not_shown_to_raters(tmp_path, cells, line, message, remedy):
    found = column(tmp_path, cells)
    assert (found.numbers, [each.role for each in found.columns]) == ({}, ["id", "other"])
    (note,) = notes_on_x(found)
    assert note.startswith(f"arms.tsv, line {line}: 'x' {message}")
    assert f"so this column is ignored; {remedy}" in note
    with pytest.raises(InvalidInput, match=r"A feature needs a number for every item: .*, or choose other columns"):
        create_study("s", "memory", items=column(tmp_path, cells, features={"kind": "columns", "columns": ["x"]}))


@pytest.mark.parametrize(
    "cells", [["12-34", "12-35"], ["3 apples", "2 pears"], ["A1", "B2"], ["1 2", "3 4"], ["$-", "€"]]
)
def test_codes_and_texts_stay_texts(tmp_path, cells):
    found = column(tmp_path, cells)
    assert [each.role for each in found.columns] == ["id", "payload"]
    assert notes_on_x(found) == []


def test_very_long_cells_are_parsed_quickly(tmp_path):
    started = time.process_time()
    column(tmp_path, ["1 000" + " 000" * 20_000 + "x", "(" * 50_000, "$" + " " * 50_000 + "5", "1e999", "2e999"])
    assert time.process_time() - started < 1.0
