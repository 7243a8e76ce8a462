"""The decimal sign of a column of numbers is decided once, and never guessed."""

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study
from duelist.study.formats import read
from duelist.study.imports import plan_items


def column(tmp_path, cells, delimiter="\t", **options):
    lines = [delimiter.join(("id", "text", "x")), *(delimiter.join((f"a{k}", f"t{k}", c)) for k, c in enumerate(cells))]
    (tmp_path / "arms.tsv").write_text("\n".join(lines) + "\n")
    return plan_items(tmp_path / "arms.tsv", **options)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.234", "12,5"], [1234, 12.5]),
        (["1.234,56", "2,5"], [1234.56, 2.5]),
        (["1.234,56", "-7.000"], [1234.56, -7000]),
        (["1.234.567", "12"], [1234567, 12]),
        (["1,234", "12.5"], [1234, 12.5]),
        (["1,234.5", "3"], [1234.5, 3]),
        (["1,234,567", "5,000"], [1234567, 5000]),
        (["0,125", "1,500"], [0.125, 1.5]),
        (["1,5e3", "2"], [1500, 2]),
        (["1.234", "5.678"], [1.234, 5.678]),
        (["1e3", ".5", "+2", " 7 "], [1000, 0.5, 2, 7]),
    ],
)
def test_one_cell_decides_the_sign_of_its_column(tmp_path, cells, numbers):
    found = column(tmp_path, cells)
    assert found.numbers == {"x": numbers}
    assert [arm.id for arm in found.items] == [f"a{k}" for k in range(len(cells))]


@pytest.mark.parametrize(
    "cells", [["1,234", "12,500"], ["1,5", "2.5"], ["1,234", "1.234"], ["1,234", ""], ["7", "1,234"]]
)
def test_a_column_with_an_unclear_sign_is_ignored_and_named(tmp_path, cells):
    found = column(tmp_path, cells)
    assert found.numbers == {}
    assert {each.name: each.role for each in found.columns} == {"id": "id", "text": "payload", "x": "other"}
    line, cell = next((k, cell) for k, cell in enumerate(cells, start=2) if "," in cell)
    (note,) = [str(note) for note in found.notes if "'x'" in str(note)]
    assert note.startswith(
        f"arms.tsv, line {line}: 'x' is {cell!r}, and no cell shows whether comma or point is the decimal"
    )
    assert "so this column is ignored; write its numbers with one decimal sign" in note
    with pytest.raises(
        InvalidInput, match=r"no cell shows .*: write its numbers with one decimal sign .*, or choose other"
    ):
        create_study("s", "memory", items=column(tmp_path, cells, features={"kind": "columns", "columns": ["x"]}))


def test_a_point_is_unclear_where_other_columns_have_decimal_commas(tmp_path):
    (tmp_path / "arms.csv").write_text("id;length;price\na;1.234;12,5\nb;5.678;3,25\n")
    found = plan_items(tmp_path / "arms.csv")
    assert found.numbers == {"price": [12.5, 3.25]}
    assert any("line 2: 'length' is '1.234', and no cell shows" in str(note) for note in found.notes)


def test_quoted_numbers_may_have_decimal_commas_in_comma_separated_files(tmp_path):
    """1.200 may be over a thousand beside ratings of 4,5."""
    (tmp_path / "arms.csv").write_text('id,rating,sold\na,"4,5","1.200"\nb,"3,9","900"\nc,"4,8","80"\n')
    found = plan_items(tmp_path / "arms.csv")
    assert found.numbers == {"rating": [4.5, 3.9, 4.8]}
    assert [each.role for each in found.columns] == ["id", "feature", "other"]
    assert any("line 2: 'sold' is '1.200', and no cell shows" in str(note) for note in found.notes)
    (tmp_path / "arms.csv").write_text('id,sold,price\na,"1,024","1,299.50"\nb,512,899.00\n')
    found = plan_items(tmp_path / "arms.csv")
    assert found.numbers == {"price": [1299.5, 899.0]}
    assert any("line 2: 'sold' is '1,024', and no cell shows" in str(note) for note in found.notes)


def test_a_first_line_of_quoted_numbers_is_an_item(tmp_path):
    (tmp_path / "arms.csv").write_text('"4,5","1,5"\n"3,9","2,25"\n')
    assert plan_items(tmp_path / "arms.csv").numbers == {"column 1": [4.5, 3.9], "column 2": [1.5, 2.25]}


def test_texts_in_json_are_numbers_only_if_they_are_unambiguous(tmp_path):
    (tmp_path / "arms.json").write_text('[{"id": "a", "x": 1.5}, {"id": "b", "x": 2}, {"id": "c", "x": "1,234"}]')
    found = plan_items(tmp_path / "arms.json")
    assert found.numbers == {}
    assert any("'x' is '1,234', and no cell shows" in str(note) for note in found.notes)


@pytest.mark.parametrize("cells", [["1_2", "3_4"], ["12.05.2024", "13.05.2024"], ["1,2,3", "4,5"], ["1.2.3", "1.2.4"]])
def test_other_texts_stay_texts(tmp_path, cells):
    assert "x" not in column(tmp_path, cells).numbers
    assert column(tmp_path, cells, delimiter="|").preview()["columns"][2]["numeric"] is False


def test_numbers_of_votes_may_have_thousands_separators_but_no_underscores(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("left;right;winner;response_seconds\na;b;left;1.234,5\n")
    assert [vote.response_seconds for vote in read(path, "csv")] == [1234.5]
    path.write_text("left;right;winner;response_seconds\na;b;left;1_2\n")
    with pytest.raises(InvalidInput, match=r"response_seconds is '1_2'\. Give a finite number"):
        list(read(path, "csv"))
