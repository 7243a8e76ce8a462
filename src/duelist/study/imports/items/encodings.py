"""Detect the encoding of a text file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from duelist.core.errors import InvalidInput, MissingExtra
from duelist.study.formats.files.row import BYTE_ORDER_MARKS, GZIP

_SAMPLE: Final = 1 << 20
"""Bytes by which the encoding is detected."""
_WESTERN: Final = "cp1252"
_WESTERN_SIGNS: Final = "€‚„…†‡‰‹‘’“”•–—™› ¡¢£¥§©«®°±²³´·»¿×÷"
_MOST_FOREIGN: Final = 0.2
"""The largest share of bytes beyond ASCII in a text of western Europe."""


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    if head.startswith(GZIP):
        return "utf-8"
    marked = next((encoding for mark, encoding in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    if marked is not None:
        return marked
    sample = head[: head.rfind(b"\n") + 1] or head
    try:
        sample.decode()
    except UnicodeDecodeError:
        return _detect_by_content(path, sample)
    return "utf-8"


def _detect_by_content(path: Path, sample: bytes) -> str:
    if _looks_western(sample):
        return _WESTERN
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise MissingExtra(
            f"{path.name} is not UTF-8, and charset-normalizer, which detects other encodings, is not installed.",
            "Save it as UTF-8, name its encoding, or install what detects it: `pip install 'duelist[server]'`.",
            code="missing_extra.encoding",
        ) from error
    best = from_bytes(sample).best()
    if best is None:
        raise InvalidInput(f"The encoding of {path.name} is not known.", "Save it as UTF-8.")
    return str(best.encoding)


def _looks_western(sample: bytes) -> bool:
    """Return whether the few bytes beyond ASCII are western European characters.

    Spreadsheet programs in western Europe save files in `_WESTERN`. Detection by frequencies fails on short files.
    """
    foreign = bytes(byte for byte in sample if byte > 127)
    if len(foreign) > _MOST_FOREIGN * len(sample):
        return False
    try:
        characters = foreign.decode(_WESTERN)
    except UnicodeDecodeError:
        return False
    return all(character.isalpha() or character in _WESTERN_SIGNS for character in characters)
