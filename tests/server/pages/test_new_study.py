"""Studies made in the browser from what people have: spreadsheets in any encoding, lines of JSON, folders of pictures."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Opened
from tests.server.pages.live_server import Server


def png(red: int, green: int, blue: int, side: int = 24) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes([red, green, blue]) * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def excel(path: Path) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    for row in [("id", "text"), ("eins", "Guten Tag"), ("zwei", "Grüß Gott"), ("drei", "Servus")]:
        book.active.append(row)
    book.save(path)
    return path.read_bytes()


TEXTS = {"eins": "Guten Tag", "zwei": "Grüß Gott", "drei": "Servus"}
LINES = [{"id": arm, "payload": text} for arm, text in TEXTS.items()]
FILES: dict[str, Any] = {
    "semicolons in Latin-1.csv": ("id;text\n" + "\n".join(f"{k};{v}" for k, v in TEXTS.items())).encode("latin-1"),
    "tabs in UTF-16.tsv": ("id\ttext\n" + "\n".join(f"{k}\t{v}" for k, v in TEXTS.items())).encode("utf-16"),
    "lines.jsonl": "\n".join(json.dumps(line) for line in LINES).encode(),
    "array.json": json.dumps(LINES).encode(),
    "book.xlsx": None,
}


def choose(page: Page, name: str, body: bytes) -> None:
    page.get_by_label("A file:").set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": body})
    expect(page.get_by_role("heading", name="2. Is this right?")).to_be_visible()


@pytest.mark.parametrize("file", FILES)
def test_from_a_file_to_the_first_vote(server: Server, opened: Opened, tmp_path: Path, file: str) -> None:
    """The whole way: choose a file, look at what was understood, start, send a link, vote."""
    page = opened.owner("/new")
    choose(page, file, FILES[file] or excel(tmp_path / "book.xlsx"))
    expect(page.get_by_role("heading", name="3 arms")).to_be_visible()
    for text in TEXTS.values():
        expect(page.get_by_role("cell", name=text)).to_be_visible()
    name = f"made from {file}"
    page.get_by_label("Name of the study").fill(name)
    page.get_by_label("Rank them").check()
    page.get_by_label("Question above the pair").fill("Which is friendlier?")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text(name)
    study = server.study(name)
    assert {arm.id: arm.payload for arm in study.arms()} == TEXTS
    assert study.settings.goal == "rank"
    page.get_by_label("Names of raters").fill("ana")
    page.get_by_role("button", name="Make links").click()
    rater = opened.page(page.get_by_label("Link of ana").input_value())
    expect(rater.get_by_role("heading", name="Which is friendlier?")).to_be_visible()
    rater.wait_for_timeout(400)
    rater.keyboard.press("ArrowLeft")
    expect(rater.locator("#sent")).to_have_text("All answers are sent.")
    assert len(study.votes()) == 1


def test_a_folder_of_pictures(server: Server, opened: Opened, tmp_path: Path) -> None:
    """Pictures are shown to raters, enlarged with a click, and both sides can be looked at in one place."""
    folder = tmp_path / "posters"
    folder.mkdir()
    for name, colour in {"red": (200, 0, 0), "green": (0, 200, 0), "blue": (0, 0, 200)}.items():
        (folder / f"{name}.png").write_bytes(png(*colour))
    page = opened.owner("/new")
    page.get_by_label("A folder:").set_input_files(folder)
    expect(page.get_by_role("heading", name="3 arms")).to_be_visible()
    page.get_by_label("Name of the study").fill("posters in a folder")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text("posters in a folder")
    study = next(each for each in server.call("GET", "/studies")["studies"] if each["name"] == "posters in a folder")
    rater = opened.page(server.link(study["id"], "ana"))
    picture = rater.locator("#left img")
    expect(picture).to_be_visible()
    rater.wait_for_function(
        "() => [...document.querySelectorAll('.pair img')].every(image => image.naturalWidth === 24)"
    )
    picture.click()
    dialog = rater.get_by_role("dialog")
    left = dialog.locator("img").get_attribute("src")
    rater.keyboard.press("o")
    expect(dialog.get_by_role("heading")).to_have_text("Right")
    assert dialog.locator("img").get_attribute("src") != left
    rater.keyboard.press("+")
    rater.keyboard.press("ArrowLeft")  # moves the picture, and is no vote
    rater.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert server.study("posters in a folder").votes() == []


def test_a_folder_as_people_have_it(server: Server, opened: Opened, tmp_path: Path) -> None:
    """What Windows and its owner left there is no arm, and two pictures of one name in two folders are two."""
    folder = tmp_path / "as it is"
    (folder / "older").mkdir(parents=True)
    (folder / "red.png").write_bytes(png(200, 0, 0))
    (folder / "older" / "red.png").write_bytes(png(0, 200, 0))
    (folder / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    (folder / "read me.txt").write_text("Both are red.")
    page = opened.owner("/new")
    page.get_by_label("A folder:").set_input_files(folder)
    expect(page.get_by_role("heading", name="2 arms")).to_be_visible()
    expect(page.get_by_text("Left out, since neither media nor a table of them: read me.txt.")).to_be_visible()
    page.get_by_label("Name of the study").fill("a folder as it is")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text("a folder as it is")
    arms = server.study("a folder as it is").arms()
    assert [arm.id for arm in arms] == ["red (2).png", "red.png"]
    assert len({arm.payload["image"] for arm in arms}) == 2


def test_markdown_is_seen_to_be_markdown(server: Server, opened: Opened) -> None:
    page = opened.owner("/new")
    text = "## Steps\n\n```python\nprint({})\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    lines = [{"id": f"m{k}", "response": text.format(k), "prompt": "Please print a number. " * 5} for k in range(3)]
    choose(page, "answers.jsonl", "\n".join(json.dumps(line) for line in lines).encode())
    expect(page.get_by_label("Texts are shown as")).to_have_value("markdown")
    expect(page.locator(".example pre")).to_have_count(3)
    context = page.get_by_role("group", name="Examples").locator("tbody td").first
    expect(context).to_contain_text("Please print a number. Please print a")  # and not a number made of it
    page.get_by_label("Name of the study").fill("answers in Markdown")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text("answers in Markdown")
    assert server.study("answers in Markdown").settings.show_as == "markdown"


def test_numbers_that_would_be_learned_from_are_named(opened: Opened) -> None:
    page = opened.owner("/new")
    choose(page, "ads.csv", "\ufeffName;Anzeige;Preis;Länge\r\na;Kauf;1,5;3\r\nb;Jetzt;20,25;4\r\n".encode())
    expect(page.get_by_text("Here: Preis, Länge.")).to_be_visible()


def test_how_a_file_is_written_can_be_said(opened: Opened) -> None:
    """Bytes that mean one thing in one alphabet and another in the next: the page shows what was chosen."""
    page = opened.owner("/new")
    choose(page, "menu.csv", "id,text\na,борщ со сметаной\nb,пельмени с бульоном\nc,квас\n".encode("cp1251"))
    page.get_by_label("Letters are written in").select_option("cp1251")
    expect(page.get_by_role("cell", name="борщ со сметаной")).to_be_visible()
    page.get_by_label("Letters are written in").select_option("cp1252")
    expect(page.get_by_role("cell", name="борщ со сметаной".encode("cp1251").decode("cp1252"))).to_be_visible()


def test_columns_can_be_told_apart(server: Server, opened: Opened) -> None:
    """What the page guessed can be put right, and the preview follows."""
    page = opened.owner("/new")
    rows = ["label,who,said,length"] + [f"l{k},w{k},sentence number {k},{k}" for k in range(4)]
    choose(page, "four.csv", "\n".join(rows).encode())
    page.get_by_text("What the columns are").click()
    page.get_by_label("What who is").select_option("id")
    expect(page.get_by_role("rowheader", name="w0")).to_be_visible()
    page.get_by_label("What label is").select_option("payload")
    expect(page.get_by_role("group", name="Examples").get_by_role("cell", name="l0")).to_be_visible()
    page.get_by_label("Name of the study").fill("columns told apart")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text("columns told apart")
    assert [(arm.id, arm.payload) for arm in server.study("columns told apart").arms()] == [
        (f"w{k}", f"l{k}") for k in range(4)
    ]


def test_a_file_that_is_none(opened: Opened) -> None:
    page = opened.owner("/new")
    page.get_by_label("A file:").set_input_files({"name": "empty.csv", "mimeType": "text/csv", "buffer": b"id\n"})
    expect(page.locator(".note.bad")).to_be_visible()
    expect(page.get_by_role("button", name="Start the study")).to_have_count(0)


def test_a_name_that_is_taken(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner("/new")
    choose(page, "lines.jsonl", FILES["lines.jsonl"])
    page.get_by_label("Name of the study").fill(eight[0])
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("alert").filter(has_text="already")).to_be_visible()
    expect(page.get_by_role("button", name="Start the study")).to_be_enabled()
    assert len(server.study(eight[0]).arms()) == 8


def test_more_arms_from_a_file(server: Server, opened: Opened) -> None:
    page = opened.owner("/new")
    choose(page, "lines.jsonl", FILES["lines.jsonl"])
    page.get_by_label("Name of the study").fill("growing")
    page.get_by_role("button", name="Start the study").click()
    expect(page.locator("#title")).to_have_text("growing")
    page.get_by_role("link", name="Arms", exact=True).click()
    page.get_by_text("Add arms from a file").click()
    more = [*LINES, {"id": "vier", "payload": "Moin"}]
    body = "\n".join(json.dumps(line) for line in more).encode()
    page.get_by_label("File of arms").set_input_files({"name": "more.jsonl", "mimeType": "text/plain", "buffer": body})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("1 new, 3 were there already.")).to_be_visible()
    assert [arm.id for arm in server.study("growing").arms()] == ["eins", "zwei", "drei", "vier"]


def test_whoever_adds_a_file_reads_what_looks_wrong_in_it(server: Server, opened: Opened) -> None:
    study = server.make("noted", [{"id": "a"}, {"id": "b"}])
    page = opened.owner(f"/study/{study}")
    page.get_by_role("link", name="Arms", exact=True).click()
    page.get_by_text("Add arms from a file").click()
    body = b"text,size\none,1\ntwo,\nthree,3\n"
    page.get_by_label("File of arms").set_input_files({"name": "more.csv", "mimeType": "text/csv", "buffer": body})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("3 new, 0 were there already.")).to_be_visible()
    expect(page.locator(".note").filter(has_text="size")).to_be_visible()
    expect(page.locator(".note").filter(has_text="numbered")).to_be_visible()
