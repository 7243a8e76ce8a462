"""What raters see of a table: pictures with captions, no stray spaces, and notes on rows that are empty or repeated."""

from __future__ import annotations

from pathlib import Path

from duelist.study import create_study, plan_items


def test_a_table_of_captions_keeps_its_pictures(tmp_path: Path) -> None:
    table = tmp_path / "captioned.csv"
    table.write_text("id,image,caption\na,cat.png,A cat that waits\nb,dog.png,A dog that does not\n")
    pictures = [tmp_path / "cat.png", tmp_path / "dog.png"]
    for k, path in enumerate(pictures):
        path.write_bytes(b"\x89PNG picture %d" % k)
    plan = plan_items([table, *pictures])
    assert [column.role for column in plan.columns] == ["id", "media", "payload"]
    study = create_study("captioned", "memory", items=plan)
    cat, dog = (arm.payload for arm in study.arms())
    assert cat["text"] == "A cat that waits"
    assert dog["text"] == "A dog that does not"
    assert study.media(cat["image"]).body == b"\x89PNG picture 0"
    assert study.media(dog["image"]).body == b"\x89PNG picture 1"


def test_stray_spaces_are_not_shown(tmp_path: Path) -> None:
    table = tmp_path / "spaces.csv"
    table.write_text('text\n"  Fast as light "\nSlow is smooth\n"  indented:\n  code"\n')
    payloads = [item.payload for item in plan_items(table).items]
    assert payloads == ["Fast as light", "Slow is smooth", "  indented:\n  code"]


def test_repeated_texts_and_blank_rows_are_noted(tmp_path: Path) -> None:
    table = tmp_path / "untidy.csv"
    table.write_text("id,text\na,Fast\nb,Slow\nc,Fast \nd,\ne, \n")
    notes = {note.code: str(note) for note in plan_items(table).notes}
    assert notes["same_content"].startswith("1 item shows the same as an earlier one, such as c and a.")
    assert notes["blank_items"].startswith("2 items show nothing (d, e).")
    table.write_text("id,text\na,Fast\nb,Slow\n")
    assert not {"same_content", "blank_items"} & {note.code for note in plan_items(table).notes}
