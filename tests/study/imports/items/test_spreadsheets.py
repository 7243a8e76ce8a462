"""Files as spreadsheets save them: byte-order marks, semicolons, tabs, decimal commas, mapped columns."""

import gzip
import re
import zipfile
from typing import Any

import pytest
from openpyxl import Workbook

from duelist.core.errors import InvalidInput
from duelist.study import create_study
from duelist.study.formats import Comparison, read
from duelist.study.imports import plan_items
from duelist.study.records import Outcome

VOTES = [
    Comparison("né", "b, c; d", Outcome.FIRST, rater="ana", response_seconds=2.5, prompt='two\r\nlines "quoted"'),
    Comparison("b, c; d", "漢", Outcome.BOTH_BAD, propensity=0.25, extra={"note": "späť"}),
]


def sheet(delimiter=",", end="\r\n", decimal="."):
    """Return the two votes as a spreadsheet writes them, quoting only where needed."""

    def cell(text):
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in delimiter + '"\r\n') else text

    rows = [
        ["left", "right", "winner", "rater", "response_seconds", "prompt", "propensity", "note"],
        ["né", "b, c; d", "left", "ana", f"2{decimal}5", 'two\r\nlines "quoted"', "", ""],
        ["b, c; d", "漢", "both_bad", "", "", "", f"0{decimal}25", "späť"],
    ]
    return end.join(delimiter.join(map(cell, row)) for row in rows) + end


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ".")])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_table_is_read_however_it_is_saved(tmp_path, encoding, delimiter, decimal, end):
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    content = (mark + sheet(delimiter, end, decimal)).encode(encoding)
    (tmp_path / "v.csv").write_bytes(content)
    assert list(read(tmp_path / "v.csv", "csv")) == VOTES
    (tmp_path / "v.csv.gz").write_bytes(gzip.compress(content))
    assert list(read(tmp_path / "v.csv.gz", "csv")) == VOTES


def test_a_first_line_that_names_the_separator(tmp_path):
    (tmp_path / "v.csv").write_text("sep=;\r\n" + sheet(";"), newline="")
    assert list(read(tmp_path / "v.csv", "csv")) == VOTES
    (tmp_path / "v.csv").write_text("sep=;\r\na;b\r\n", newline="")
    with pytest.raises(InvalidInput, match="has no column 'left'"):
        list(read(tmp_path / "v.csv", "csv"))


def test_any_other_encoding_is_named(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes("left;right;winner\nné;b;left\n".encode("cp1252"))
    with pytest.raises(InvalidInput, match=r"v\.csv is not UTF-8.*encoding='cp1252'"):
        list(read(path, "csv"))
    (vote,) = read(path, "csv", encoding="cp1252")
    assert vote.first == "né"
    with pytest.raises(InvalidInput, match="encoding is 'klingon', which is not a known encoding"):
        list(read(path, "csv", encoding="klingon"))


def test_unnamed_columns_and_blank_rows_are_skipped(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("left,right,winner,,\na,b,left,,\n\n")
    assert [vote.extra for vote in read(path, "csv")] == [{}]
    path.write_text("left,right,winner,,\na,b,left,,note\n")
    with pytest.raises(InvalidInput, match=r"line 2 has 'note' in a column without a name\. Name that column"):
        list(read(path, "csv"))


def test_a_decimal_comma_in_a_comma_separated_file_is_rejected(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text('left,right,winner,propensity\na,b,left,"0,5"\n')
    with pytest.raises(InvalidInput, match="propensity is '0,5'"):
        list(read(path, "csv"))


# -- mapped columns ------------------------------------------------------------------


def test_columns_are_mapped(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("A,B,better,who,prompt\nx,y,Right,ana,8\n")
    columns = {"left": "A", "second": "B", "winner": "better", "rater": "who", "context": "prompt"}
    (vote,) = read(path, "csv", columns=columns)
    assert vote == Comparison("x", "y", Outcome.SECOND, rater="ana", context="8")
    with pytest.raises(
        InvalidInput,
        match=r"columns maps 'rater' to 'worker', but v.csv has no such column. Its columns are A, B, better",
    ):
        list(read(path, "csv", columns={"rater": "worker"}))
    with pytest.raises(InvalidInput, match=r"has no column 'left'. Its columns are A, B.*columns={'left': ...}"):
        list(read(path, "csv"))


def test_a_column_with_a_mapped_name_is_kept(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("left,right,winner,rater,worker\nx,y,left,machine 3,ana\n")
    (vote,) = read(path, "csv", columns={"rater": "worker"})
    assert (vote.rater, vote.extra) == ("ana", {"rater (column)": "machine 3"})


@pytest.mark.parametrize("name", ["rater", "worker", "annotator", "judge"])
def test_a_rater_column_is_found_by_any_of_its_usual_names(tmp_path, name):
    (tmp_path / "v.csv").write_text(f"left,right,winner,{name}\nx,y,left,ana\n")
    (vote,) = read(tmp_path / "v.csv", "csv")
    assert (vote.rater, vote.extra) == ("ana", {})


def test_fields_of_json_are_mapped(tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_text('{"model_a": "x", "model_b": "y", "winner": "tie", "user": "ana"}\n')
    (vote,) = read(path, "arena", columns={"rater": "user"})
    assert (vote.rater, vote.extra) == ("ana", {})
    with pytest.raises(
        InvalidInput,
        match=r"columns maps 'judge' to 'who', but b.jsonl has no such column. Its columns are model_a, model_b, user",
    ):
        list(read(path, "arena", columns={"judge": "who"}))
    path.write_text('{"better": "1", "worse": "2"}\n')
    (vote,) = read(path, "trl", columns={"chosen": "better", "rejected": "worse"})
    assert (vote.payload_first, vote.payload_second) == ("1", "2")


def test_the_real_file_of_crowd_workers(data_folder):
    path = data_folder / "llmfao" / "comparisons.csv"
    votes = list(read(path, "csv", columns={"context": "prompt"}))
    assert len(votes) == 8931
    assert all(vote.rater and vote.context and vote.prompt is None for vote in votes)
    assert set(votes[0].extra) == {"id", "model_x", "model_y"}


# -- arms --------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_arms_from_a_spreadsheet(tmp_path, encoding, delimiter):
    rows = [["id", "size", "payload", "context", "prompt", "speed"], ["a", "1,5", "é", "q", "Why?", "-2"],
            ["b", "0,25", "two", "q", "", "3e-1"]]  # fmt: skip
    (tmp_path / "arms.csv").write_bytes("\r\n".join(delimiter.join(row) for row in rows).encode(encoding))
    plan = plan_items(tmp_path / "arms.csv")
    assert [(arm.id, arm.payload, arm.context) for arm in plan.items] == [("a", "é", "q"), ("b", "two", "q")]
    assert plan.prompts == {"q": "Why?"}
    study = create_study("s", storage="memory")
    assert study.apply(plan).added == 2
    assert study.features().tolist() == [[1.5, -2.0], [0.25, 0.3]]
    assert study.ask("ana").prompt == "Why?"


def test_arms_with_prompts_that_contradict_each_other(tmp_path):
    path = tmp_path / "arms.jsonl"
    path.write_text('{"id": "a", "features": [1], "context": "q", "prompt": "one"}\n'
                    '{"id": "b", "features": [1], "context": "q", "prompt": "two"}\n')  # fmt: skip
    with pytest.raises(
        InvalidInput, match=r"line 2: context 'q' has another prompt in an earlier row\. Give each context one prompt"
    ):
        plan_items(path)


@pytest.mark.parametrize("name", ["v.csv", "v.xlsx"])
def test_blank_lines_are_skipped_anywhere(tmp_path, name):
    rows: list[list[Any]] = [
        ["", "", ""],
        [],
        ["id", "x", "y"],
        ["a", 1, 2],
        ["", "", ""],
        ["b", 3, 4],
        [],
        ["", "", ""],
    ]
    if name == "v.csv":
        (tmp_path / name).write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
    else:
        save_sheet(tmp_path / name, [[cell if cell != "" else None for cell in row] for row in rows])
    study = create_study("s", "memory", items=plan_items(tmp_path / name))
    assert [arm.id for arm in study.arms()] == ["a", "b"]
    assert study.features().shape == (2, 2)


def save_sheet(path, rows, write_only=False):
    book = Workbook(write_only=write_only)
    sheet = book.create_sheet() if write_only else book.active
    for row in rows:
        sheet.append(row)
    book.save(path)


@pytest.mark.parametrize("write_only", [False, True])
def test_the_stored_size_of_a_sheet_is_ignored(tmp_path, write_only):
    """Some programs store a size that is too small."""
    path, small = tmp_path / "v.xlsx", tmp_path / "small.xlsx"
    save_sheet(
        path, [["left", "right", "winner", "rater"], *[["a", "b", "left", f"r{k}"] for k in range(5)]], write_only
    )
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(small, "w") as changed:
        for entry in whole.namelist():
            body = whole.read(entry)
            if entry.startswith("xl/worksheets/sheet"):
                body = re.sub(rb"<dimension[^>]*/>", b"", body)
                body = re.sub(rb"<sheetData", b'<dimension ref="A1:B3"/><sheetData', body)
            changed.writestr(entry, body)
    for each in (path, small):
        assert [vote.rater for vote in read(each, "csv")] == [f"r{k}" for k in range(5)]


def test_a_row_that_excel_cannot_have_is_rejected(tmp_path):
    """A damaged number of a row would give billions of empty rows."""
    path, damaged = tmp_path / "v.xlsx", tmp_path / "damaged.xlsx"
    save_sheet(path, [["id", "text"], ["a", "one"], ["b", "two"]])
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(damaged, "w") as changed:
        for entry in whole.namelist():
            body = re.sub(rb'<row r="3"', b'<row r="999999999999"', whole.read(entry))
            changed.writestr(entry, re.sub(rb'r="([AB])3"', rb'r="\g<1>999999999999"', body))
    with pytest.raises(InvalidInput, match="has a row below row 1,048,576, the last one in Excel"):
        plan_items(damaged)


def test_a_cell_beyond_the_header_of_a_sheet_is_rejected(tmp_path):
    save_sheet(tmp_path / "v.xlsx", [["left", "right", "winner"], ["a", "b", "left", None, "note"]])
    with pytest.raises(InvalidInput, match=r"line 2 has 'note' in a column without a name\. Name that column"):
        list(read(tmp_path / "v.xlsx", "csv"))


def save_book(path, sheets):
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_unread_sheets_are_named(tmp_path):
    path, arms = tmp_path / "arms.xlsx", [["id", "x"], ["a", 1], ["b", 2]]
    save_book(path, {"hotels": arms, "more": [["id", "x"], ["c", 3]], "blank": []})
    plan = plan_items(path)
    assert [item.id for item in plan.items] == ["a", "b"]
    (note,) = [str(note) for note in plan.notes if note.code == "unread_sheets"]
    assert note.startswith("Only the first sheet, 'hotels', is read. Not read: 'more'. If they hold items")
    save_book(path, {"hotels": arms, **{f"s{k}": arms for k in range(5)}})
    assert any("Not read: 's0', 's1', 's2' and 2 more." in str(note) for note in plan_items(path).notes)
    save_book(path, {"hotels": arms, "blank": []})
    assert plan_items(path).notes == ()
    save_book(path, {"cover": [], "hotels": arms})
    with pytest.raises(InvalidInput, match=r"nothing in its first sheet, .*\. Move 'hotels' to the front"):
        plan_items(path)


def test_uncomputed_formulas_are_named(tmp_path):
    """A program that writes a formula does not store its value, so the column is empty."""
    path = tmp_path / "arms.xlsx"
    save_book(path, {"s": [["id", "price", "qty", "total"], ["a", 1, 2, "=B2*C2"], ["b", 3, 5, "=B3*C3"]]})
    plan = plan_items(path)
    assert list(plan.numbers) == ["price", "qty"]
    (note,) = [str(note) for note in plan.notes if note.code == "uncomputed_formulas"]
    assert note.startswith("The file has formulas without stored values (in column D, the first in D2), so")
    assert note.endswith("Open the file in Excel or LibreOffice, save it, and import it again.")


def test_computed_formulas_are_numbers_and_may_be_empty(tmp_path):
    path, stored = tmp_path / "arms.xlsx", tmp_path / "stored.xlsx"
    save_book(path, {"s": [["id", "price", "total", "note"], ["a", 1, "=B2*2", '=""'], ["b", 3, "=B3*2", '=""']]})
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(stored, "w") as changed:
        for entry in whole.namelist():
            body = whole.read(entry)
            if entry.startswith("xl/worksheets/sheet"):
                body = re.sub(rb"<f>B(\d)\*2</f><v ?/>", rb"<f>B\1*2</f><v>\1</v>", body)
            changed.writestr(entry, body)
    plan = plan_items(stored)
    assert plan.numbers == {"price": [1, 3], "total": [2, 3]}
    assert plan.notes == ()


def test_a_damaged_sheet_is_named(tmp_path):
    path = tmp_path / "v.xlsx"
    save_sheet(path, [["id", "x"], *[[f"arm {k}", k] for k in range(200)]])
    whole = path.read_bytes()
    cut = tmp_path / "cut.xlsx"
    with zipfile.ZipFile(path) as book, zipfile.ZipFile(cut, "w") as other:
        for entry in book.namelist():
            body = book.read(entry)
            other.writestr(entry, body[: len(body) // 2] if "sheet1" in entry else body)
    for damaged in (b"nope", b"", whole[: len(whole) // 2], cut.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match=r"v.xlsx cannot be read as an Excel file .*\. Save it again, or as CSV"):
            plan_items(path)
    with pytest.raises(InvalidInput, match=r"none.xlsx is not a file"):
        plan_items(tmp_path / "none.xlsx")


def test_a_missing_id_is_named_rather_than_generated(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("id,text\na,one\n,two\nc,three\n,four\n")
    with pytest.raises(
        InvalidInput, match=r"^arms.csv, line 3: 'id' is empty, and 1 more of its cells are\. Give every"
    ):
        plan_items(path)
    path.write_text("nr,text\na,one\n,two\n")
    with pytest.raises(InvalidInput, match=r"^arms.csv, line 3: 'nr' is empty\. Give every item its id"):
        plan_items(path, columns={"id": "nr"})
    path.write_text("id,text\n,one\n,two\n")
    assert [item.id for item in plan_items(path).items] == ["1", "2"]
