"""Files of arms as people's tools write them, read into one shape: columns, and a row for each arm.

Tables (.csv, .tsv, .xlsx), JSON, JSON lines, plain texts with an arm a line; in whatever encoding. A list of texts is a column `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats.csv_tables import is_table, nameless, read_table
from duelist.study.formats.excel import formulas_without_values, sheets_left_out
from duelist.study.formats.fields import as_number
from duelist.study.formats.json_records import Row, opened, read_json, suffix_of

TEXT: Final = "text"
_LOOKED_AT: Final = 1 << 20
"""Bytes by which an encoding is guessed."""
WESTERN: Final = "cp1252"
_FEW: Final = 0.2
_SIGNS: Final = "€‚„…†‡‰‹‘’“”•–—™› ¡¢£¥§©«®°±²³´·»¿×÷"
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class Sheet(NamedTuple):
    """What a file holds: names of columns in their order, and rows."""

    columns: list[str]
    rows: list[Row]
    encoding: str | None
    notes: list[str]


def read_sheet(path: Path, encoding: str | None = None) -> Sheet:
    """The rows of a file."""
    suffix = suffix_of(path)
    if suffix == ".xlsx":
        sheet = _table(path, None)
        return sheet._replace(notes=[*sheet.notes, *_about_book(path, sheet.rows)])
    chosen = encoding or guessed_encoding(path)
    if is_table(path):
        return _table(path, chosen)
    if suffix in (".json", ".jsonl", ".ndjson"):
        return _sheet(_json(path), None)
    if suffix == ".txt":
        return _lines(path, chosen)
    raise InvalidInput(
        f"{path.name} is of no kind that is known.",
        "Give a file that ends in .csv, .tsv, .xlsx, .json, .jsonl or .txt, or images.",
    )


def _table(path: Path, encoding: str | None) -> Sheet:
    rows = list(read_table(path, (), None, encoding, headless=True, each="arm"))
    sheet = _sheet(rows, encoding)
    if sheet.columns == nameless(len(sheet.columns)):
        note = (
            "The first line is all numbers, so it is taken as an arm like the others: the file has no names of columns."
        )
        return sheet._replace(notes=[note])
    if len(sheet.columns) == 1:
        note = f"The first line, {sheet.columns[0]!r}, is taken as the name of the only column."
        return sheet._replace(notes=[note])
    if any(rows and as_number(rows[0], name) is not None for name in sheet.columns):
        first = ", ".join(sheet.columns)
        note = f"The first line ({first}) is taken as the names of the columns; if it is an arm, put a line of names above it."
        return sheet._replace(notes=[note])
    return sheet


def _about_book(path: Path, rows: list[Row]) -> list[str]:
    """What an Excel file has that is not among the rows."""
    holes = any(cell == "" for row in rows for cell in row.fields.values())
    return [*sheets_left_out(path), *(formulas_without_values(path) if holes else ())]


def _lines(path: Path, encoding: str) -> Sheet:
    with opened(path, encoding) as file:
        texts = [(number, line.strip("\r\n")) for number, line in enumerate(file, start=1)]
    rows = [Row(f"{path}, line {number}", {TEXT: text}) for number, text in texts if text.strip()]
    return _sheet(rows, encoding)._replace(notes=["Every line is taken as an arm."])


def _json(path: Path) -> list[Row]:
    """Objects; or texts, each in a field of its own."""
    with opened(path) as file:
        head = file.read(_LOOKED_AT)
    first = head.lstrip().lstrip("[").lstrip()
    if not first.startswith('"'):
        return list(read_json(path))
    with opened(path) as file:
        whole = file.read()
    try:
        listed = (
            json.loads(whole)
            if head.lstrip().startswith("[")
            else [json.loads(x) for x in whole.replace("\r", "\n").split("\n") if x.strip()]
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON ({error}).", "Correct it, or save it again.") from error
    texts = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in listed]
    return [Row(f"{path}, text {k}", {TEXT: text}) for k, text in enumerate(texts, start=1)]


def _sheet(rows: list[Row], encoding: str | None) -> Sheet:
    columns = list(dict.fromkeys(name for row in rows for name in row.fields))
    return Sheet(columns, rows, encoding, [])


def guessed_encoding(path: Path) -> str:
    """The encoding of a text: what its mark says, UTF-8 where it is that, or what it looks like."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    if head.startswith(_MARKS):
        return "utf-8-sig" if head.startswith(_MARKS[0]) else "utf-16"
    if head.startswith(b"\x1f\x8b"):
        return "utf-8"
    cut = head[: head.rfind(b"\n") + 1] or head
    try:
        cut.decode()
    except UnicodeDecodeError:
        return _looks_like(path, cut)
    return "utf-8"


def _looks_western(head: bytes) -> bool:
    """Whether few bytes are no ASCII, and they are letters and signs of western Europe: what its spreadsheets write.

    Guessing by frequencies goes astray on a few lines, which are many people's files.
    """
    foreign = bytes(byte for byte in head if byte > 127)
    if len(foreign) > _FEW * len(head):
        return False
    try:
        signs = foreign.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    return all(sign.isalpha() or sign in _SIGNS for sign in signs)


def _looks_like(path: Path, head: bytes) -> str:
    if _looks_western(head):
        return WESTERN
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise InvalidInput(
            f"{path.name} is not UTF-8, and nothing is installed that could say what it is.",
            "Save it as UTF-8, name its encoding, or install what detects it: `pip install 'duelist[server]'`.",
            code="missing_extra.encoding",
        ) from error
    best = from_bytes(head).best()
    if best is None:
        raise InvalidInput(f"{path.name} is no text in any encoding that is known.", "Save it as UTF-8.")
    return str(best.encoding)


def texts_of(rows: Iterable[Row], column: str) -> list[Any]:
    """The cells of a column; None where a row has none."""
    return [row.fields.get(column) for row in rows]
