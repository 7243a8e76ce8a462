"""The New study page: spreadsheets in several encodings, JSON, and folders of images."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import Server


def png(red: int, green: int, blue: int, side: int = 24) -> bytes:
    """Return a PNG image of one color."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes([red, green, blue]) * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def excel_workbook(path: Path) -> bytes:
    """Return an Excel file with three items."""
    from openpyxl import Workbook

    book = Workbook()
    for row in [("id", "text"), ("eins", "Guten Tag"), ("zwei", "Grüß Gott"), ("drei", "Servus")]:
        book.active.append(row)
    book.save(path)
    return path.read_bytes()


TEXTS = {"eins": "Guten Tag", "zwei": "Grüß Gott", "drei": "Servus"}
ROWS = [{"id": arm, "payload": text} for arm, text in TEXTS.items()]
FILES: dict[str, Any] = {
    "semicolons in Latin-1.csv": ("id;text\n" + "\n".join(f"{k};{v}" for k, v in TEXTS.items())).encode("latin-1"),
    "tabs in UTF-16.tsv": ("id\ttext\n" + "\n".join(f"{k}\t{v}" for k, v in TEXTS.items())).encode("utf-16"),
    "lines.jsonl": "\n".join(json.dumps(line) for line in ROWS).encode(),
    "array.json": json.dumps(ROWS).encode(),
    "book.xlsx": None,
}


def upload(page: Page, name: str, body: bytes) -> None:
    page.get_by_label("File:").set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": body})
    expect(page.get_by_role("heading", name="2. Check the preview")).to_be_visible()


@pytest.mark.parametrize("file", FILES)
def test_from_a_file_to_the_first_vote(server: Server, tabs: Tabs, tmp_path: Path, file: str) -> None:
    """Upload a file, check the preview, create the study, open a rater link, vote."""
    page = tabs.open_as_owner("/new")
    upload(page, file, FILES[file] or excel_workbook(tmp_path / "book.xlsx"))
    expect(page.get_by_role("heading", name="3 items")).to_be_visible()
    for text in TEXTS.values():
        expect(page.get_by_role("cell", name=text)).to_be_visible()
    name = f"created from {file}"
    page.get_by_label("Name of the study").fill(name)
    page.get_by_label("Rank all items").check()
    page.get_by_label("Question", exact=True).fill("Which is friendlier?")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text(name)
    study = server.load_study(name)
    assert {arm.id: arm.payload for arm in study.arms()} == TEXTS
    assert study.settings.goal == "rank"
    page.get_by_label("Names of raters").fill("ana")
    page.get_by_role("button", name="Create links").click()
    rater = tabs.open(page.get_by_label("Link for ana").input_value())
    expect(rater.get_by_role("heading", name="Which is friendlier?")).to_be_visible()
    rater.wait_for_timeout(400)
    rater.keyboard.press("ArrowLeft")
    expect(rater.locator("#save-status")).to_have_text("All votes saved.")
    assert len(study.votes()) == 1


def test_a_folder_of_images(server: Server, tabs: Tabs, tmp_path: Path) -> None:
    """Raters see the images, enlarge one with a click, and switch between the sides."""
    folder = tmp_path / "posters"
    folder.mkdir()
    for name, color in {"red": (200, 0, 0), "green": (0, 200, 0), "blue": (0, 0, 200)}.items():
        (folder / f"{name}.png").write_bytes(png(*color))
    page = tabs.open_as_owner("/new")
    page.get_by_label("Folder:").set_input_files(folder)
    expect(page.get_by_role("heading", name="3 items")).to_be_visible()
    page.get_by_label("Name of the study").fill("posters in a folder")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("posters in a folder")
    study = next(each for each in server.call("GET", "/studies")["studies"] if each["name"] == "posters in a folder")
    rater = tabs.open(server.rater_link(study["id"], "ana"))
    image = rater.locator("#left img")
    expect(image).to_be_visible()
    rater.wait_for_function(
        "() => [...document.querySelectorAll('.pair img')].every(image => image.naturalWidth === 24)"
    )
    rater.locator("#left [data-zoom]").click()
    dialog = rater.get_by_role("dialog")
    left = dialog.locator("img").get_attribute("src")
    rater.keyboard.press("o")
    expect(dialog.get_by_role("heading")).to_have_text("Right")
    assert dialog.locator("img").get_attribute("src") != left
    rater.keyboard.press("+")
    rater.keyboard.press("ArrowLeft")  # scrolls the image and does not vote
    rater.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert server.load_study("posters in a folder").votes() == []


def test_a_folder_of_pictures_with_captions(server: Server, tabs: Tabs, tmp_path: Path) -> None:
    """The preview shows pictures with captions as raters will, says that the column of pictures is used, and suggests the folder's name."""
    folder = tmp_path / "our posters"
    folder.mkdir()
    (folder / "captioned.csv").write_text("id,image,caption\na,red.png,A red one\nb,blue.png,A blue one\n")
    for name, color in {"red": (200, 0, 0), "blue": (0, 0, 200)}.items():
        (folder / f"{name}.png").write_bytes(png(*color))
    page = tabs.open_as_owner("/new")
    page.get_by_label("Folder:").set_input_files(folder)
    row = page.get_by_role("row", name="A red one")
    expect(row.get_by_role("img", name="red.png")).to_be_visible()
    page.get_by_text("Columns", exact=True).click()
    expect(page.get_by_label("Use of column image")).to_have_value("media")
    expect(page.get_by_label("Name of the study")).to_have_value("our posters")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("our posters")
    payloads = [arm.payload for arm in server.load_study("our posters").arms()]
    assert [each["text"] for each in payloads] == ["A red one", "A blue one"]


def test_a_folder_with_other_files(server: Server, tabs: Tabs, tmp_path: Path) -> None:
    """Other files are ignored, and two images of the same name in two folders are two items."""
    folder = tmp_path / "as it is"
    (folder / "older").mkdir(parents=True)
    (folder / "red.png").write_bytes(png(200, 0, 0))
    (folder / "older" / "red.png").write_bytes(png(0, 200, 0))
    (folder / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    (folder / "read me.txt").write_text("Both are red.")
    page = tabs.open_as_owner("/new")
    page.get_by_label("Folder:").set_input_files(folder)
    expect(page.get_by_role("heading", name="2 items")).to_be_visible()
    expect(page.locator(".note").filter(has_text="read me.txt")).to_be_visible()
    page.get_by_label("Name of the study").fill("a folder as it is")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("a folder as it is")
    arms = server.load_study("a folder as it is").arms()
    assert [arm.id for arm in arms] == ["red (2).png", "red.png"]
    assert len({arm.payload["image"] for arm in arms}) == 2


def test_markdown_is_detected(server: Server, tabs: Tabs) -> None:
    page = tabs.open_as_owner("/new")
    text = "## Steps\n\n```python\nprint({})\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    lines = [{"id": f"m{k}", "response": text.format(k), "prompt": "Please print a number. " * 5} for k in range(3)]
    upload(page, "answers.jsonl", "\n".join(json.dumps(line) for line in lines).encode())
    expect(page.get_by_label("Show texts as")).to_have_value("markdown")
    expect(page.locator(".example pre")).to_have_count(3)
    context = page.get_by_role("group", name="Preview").locator("tbody td").first
    expect(context).to_contain_text("Please print a number. Please print a")  # the text itself, not a generated number
    page.get_by_label("Name of the study").fill("answers in Markdown")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("answers in Markdown")
    assert server.load_study("answers in Markdown").settings.show_as == "markdown"


def test_numeric_columns_are_named(tabs: Tabs) -> None:
    page = tabs.open_as_owner("/new")
    upload(page, "ads.csv", "\ufeffName;Anzeige;Preis;Länge\r\na;Kauf;1,5;3\r\nb;Jetzt;20,25;4\r\n".encode())
    expect(page.get_by_text("Columns: Preis, Länge.")).to_be_visible()


def test_choose_the_encoding(tabs: Tabs) -> None:
    """The preview decodes the file in the chosen encoding."""
    page = tabs.open_as_owner("/new")
    upload(page, "menu.csv", "id,text\na,борщ со сметаной\nb,пельмени с бульоном\nc,квас\n".encode("cp1251"))
    page.get_by_label("File encoding").select_option("cp1251")
    expect(page.get_by_role("cell", name="борщ со сметаной")).to_be_visible()
    page.get_by_label("File encoding").select_option("cp1252")
    expect(page.get_by_role("cell", name="борщ со сметаной".encode("cp1251").decode("cp1252"))).to_be_visible()


def test_change_the_use_of_columns(server: Server, tabs: Tabs) -> None:
    """The user corrects the detected columns, and the preview follows."""
    page = tabs.open_as_owner("/new")
    rows = ["label,who,said,length"] + [f"l{k},w{k},sentence number {k},{k}" for k in range(4)]
    upload(page, "four.csv", "\n".join(rows).encode())
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Use of column who").select_option("id")
    expect(page.get_by_role("rowheader", name="w0")).to_be_visible()
    page.get_by_label("Use of column label").select_option("payload")
    expect(page.get_by_role("group", name="Preview").get_by_role("cell", name="l0")).to_be_visible()
    page.get_by_label("Name of the study").fill("corrected columns")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("corrected columns")
    assert [(arm.id, arm.payload) for arm in server.load_study("corrected columns").arms()] == [
        (f"w{k}", f"l{k}") for k in range(4)
    ]


def test_a_file_without_items(tabs: Tabs) -> None:
    page = tabs.open_as_owner("/new")
    page.get_by_label("File:").set_input_files({"name": "empty.csv", "mimeType": "text/csv", "buffer": b"id\n"})
    expect(page.locator(".note.bad")).to_be_visible()
    expect(page.get_by_role("button", name="Create study")).to_have_count(0)


def test_a_name_that_is_taken(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner("/new")
    upload(page, "lines.jsonl", FILES["lines.jsonl"])
    page.get_by_label("Name of the study").fill(eight_texts[0])
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("alert").filter(has_text="already")).to_be_visible()
    expect(page.get_by_role("button", name="Create study")).to_be_enabled()
    assert len(server.load_study(eight_texts[0]).arms()) == 8


def test_add_items_from_a_file(server: Server, tabs: Tabs) -> None:
    page = tabs.open_as_owner("/new")
    upload(page, "lines.jsonl", FILES["lines.jsonl"])
    page.get_by_label("Name of the study").fill("growing")
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("#title")).to_have_text("growing")
    page.get_by_role("link", name="Items", exact=True).click()
    page.get_by_text("Add items from a file").click()
    more = [*ROWS, {"id": "vier", "payload": "Moin"}]
    body = "\n".join(json.dumps(line) for line in more).encode()
    page.get_by_label("Files with items").set_input_files(
        {"name": "more.jsonl", "mimeType": "text/plain", "buffer": body}
    )
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("1 added, 3 already in the study.")).to_be_visible()
    assert [arm.id for arm in server.load_study("growing").arms()] == ["eins", "zwei", "drei", "vier"]


def test_notes_on_an_added_file(server: Server, tabs: Tabs) -> None:
    study = server.create_study("notes on a file", [{"id": "a"}, {"id": "b"}])
    page = tabs.open_as_owner(f"/study/{study}")
    page.get_by_role("link", name="Items", exact=True).click()
    page.get_by_text("Add items from a file").click()
    body = b"text,size\none,1\ntwo,\nthree,3\n"
    page.get_by_label("Files with items").set_input_files({"name": "more.csv", "mimeType": "text/csv", "buffer": body})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("3 added, 0 already in the study.")).to_be_visible()
    expect(page.locator(".note").filter(has_text="size")).to_be_visible()
    expect(page.locator(".note").filter(has_text="numbered")).to_be_visible()
