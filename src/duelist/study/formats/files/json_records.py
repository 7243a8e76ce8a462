"""Read and write JSON lines and JSON arrays, one record at a time."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from duelist.core.errors import InvalidInput
from duelist.core.files import atomic_write
from duelist.study.formats.files.row import MAX_LINE, Row, open_text, read_lines, shorten, suffix_of, too_long

_CHUNK: Final = 1 << 16
_MAX_TEXTS: Final = 1 << 28
"""Characters of a file of texts, which is read at once."""
_LOOKAHEAD: Final = 16
"""No JSON literal or escape is longer: an error further than this from the end of the window is a real one."""


class RowWriter(Protocol):
    """A function that writes one record."""

    def __call__(self, fields: Mapping[str, Any]) -> None:
        """Write one record."""


# -- reading -----------------------------------------------------------------------------


def read_json(path: Path) -> Iterator[Row]:
    """Yield the objects of a file of JSON lines or of one JSON array.

    The first character tells which it is.
    """
    with open_text(path) as file:
        start = _first_character(file)
        file.seek(0)
        yield from (_read_array(path, file) if start == "[" else _read_lines(path, file))


def read_json_texts(path: Path) -> list[str] | None:
    """Return the strings of a JSON array or of JSON lines.

    None if the first record is not a string.
    """
    with open_text(path) as file:
        head = file.read(_CHUNK)
        file.seek(0)
        if not head.lstrip().lstrip("[").lstrip().startswith('"'):
            return None
        content = "".join(_chunks(file, _MAX_TEXTS))
    if len(content) > _MAX_TEXTS:
        raise InvalidInput(f"{path.name} has more than {_MAX_TEXTS:,} characters.", "Split it.")
    lines = (line for line in content.replace("\r", "\n").split("\n") if line.strip())
    try:
        values = json.loads(content) if head.lstrip().startswith("[") else [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is not JSON ({error}).", "Correct it, or save it again.") from error
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]


def _chunks(file: IO[str], most: int) -> Iterator[str]:
    """Yield the content in chunks until more than `most` characters were read; one large read would reserve memory for all of them."""
    while most >= 0 and (chunk := file.read(_CHUNK)):
        most -= len(chunk)
        yield chunk


def _first_character(file: IO[str]) -> str:
    while chunk := file.read(_CHUNK):
        if rest := chunk.lstrip():
            return rest[0]
    return ""


def _read_lines(path: Path, file: IO[str]) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path, file), start=1):
        if line.strip():
            where = f"{path.name}, line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(
                    f"{where} is not JSON ({error}).", "Give one object per line, or one array."
                ) from error
            yield Row(where, _checked_object(where, value))


def _read_array(path: Path, file: IO[str]) -> Iterator[Row]:
    """Yield the objects of a JSON array, with about one of them in memory."""
    window = _Window(path, file)
    window.skip("[")
    while (character := window.next_character()) != "]":
        if not character:
            raise InvalidInput(
                f"{path.name} ends inside its JSON array, at line {window.line}.", "Get the complete file."
            )
        where = f"{path.name}, line {window.line}"
        try:
            value = window.decode()
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{where}: the record that begins there is not JSON ({error}).", "Correct it."
            ) from error
        yield Row(where, _checked_object(where, value))
        if window.next_character() == ",":
            window.skip(",")
            if window.next_character() == "]":
                raise InvalidInput(
                    f"{path.name}, line {window.line} has a comma before the end of the array.", "Remove it."
                )
        elif window.next_character() != "]":
            raise InvalidInput(
                f"{path.name}, line {window.line}: there is no comma between two records of the array.", "Add it."
            )
    window.skip("]")
    if window.next_character():
        raise InvalidInput(
            f"{path.name}, line {window.line} goes on after the array.", "Give one array, or one object per line."
        )


class _Window:
    """A window on a text file that moves forward as values are decoded."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path = path
        self._file = file
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()
        self.line = 1

    def next_character(self) -> str:
        """Return the next character that is not white space, or "" at the end.

        The character is not consumed.
        """
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in " \t\r\n":
                    return character
                self.line += character == "\n"
                self._at += 1
            if not self._read_more():
                return ""

    def skip(self, character: str) -> None:
        """Consume the next character, which must be this one."""
        self.next_character()
        self._at += len(character)

    def decode(self) -> Any:
        """Consume the next JSON value, reading on while it is incomplete."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _LOOKAHEAD
                if not (is_cut and self._read_more()):
                    raise
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def _read_more(self) -> bool:
        rest = self._text[self._at :]
        if len(rest) > MAX_LINE:
            raise too_long(self._path)
        chunk = self._file.read(
            max(_CHUNK, len(rest))
        )  # doubles each time, so that a huge value is decoded in linear time
        self._text, self._at = rest + chunk, 0
        return bool(chunk)


def _checked_object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} holds {shorten(value)}.", "Each record must be an object, {...}.")
    return value


# -- writing -----------------------------------------------------------------------------


@contextmanager
def writing_json(path: Path, *, array: bool | None = None) -> Iterator[RowWriter]:
    """Write JSON lines, or an array, by default if the name ends in .json.

    The file appears when the block succeeds.
    """
    is_array = suffix_of(path) == ".json" if array is None else array
    with replacing_gzip(path) as file:
        count = 0

        def write(fields: Mapping[str, Any]) -> None:
            nonlocal count
            if is_array:
                file.write(b",\n" if count else b"[\n")
            file.write(_encode(fields))
            if not is_array:
                file.write(b"\n")
            count += 1

        yield write
        if is_array:
            file.write(b"\n]\n" if count else b"[]\n")


@contextmanager
def replacing_gzip(path: Path) -> Iterator[IO[bytes]]:
    """Replace `path` when the block succeeds, gzipped if its name ends in .gz."""
    with atomic_write(path) as file:
        if path.suffix == ".gz":
            # Without a name and a time stamp the same content always gives the same bytes.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped:
                buffered = io.BufferedWriter(zipped, _CHUNK)
                yield buffered
                buffered.flush()
                buffered.detach()
        else:
            yield file


def _encode(fields: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # JSON can hold an unpaired surrogate only as an escape
        return json.dumps(fields, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{shorten(dict(fields))} cannot be written as JSON ({error}).",
            "Use only texts, finite numbers, lists and objects.",
        ) from error
