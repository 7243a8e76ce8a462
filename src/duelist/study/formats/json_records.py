"""Records of files, one at a time: JSON lines and JSON arrays, plain or gzipped; and the same way back. Tables are in `tables`."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol

from duelist.core.errors import InvalidInput
from duelist.core.files import atomic_write

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_MARKS: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
"""Byte-order marks, as spreadsheets write them, and the encodings they stand for."""
_LOOKAHEAD: Final = 16
"""No JSON literal or escape is longer: an error further than this from the end of what was read is a real one."""


class Row(NamedTuple):
    """One record of a file and where it begins, for messages.

    In some tables numbers have a decimal comma; `coded` are the cells of a table that were JSON.
    """

    where: str
    fields: dict[str, Any]
    decimal_comma: bool = False
    coded: frozenset[str] = frozenset()


class RowWriter(Protocol):
    """Takes records one at a time."""

    def __call__(self, fields: Mapping[str, Any]) -> None:
        """Write one record."""


# -- reading -----------------------------------------------------------------------------


def read_json(path: Path) -> Iterator[Row]:
    """Records of a file of JSON lines, or of one JSON array, told apart by the first character."""
    with opened(path) as file:
        start = _first_character(file)
        file.seek(0)
        yield from (_array(path, file) if start == "[" else _lines(path, file))


@contextmanager
def opened(path: Path, encoding: str | None = None) -> Iterator[IO[str]]:
    """The file as text, unpacked if it is gzipped; line ends are left as they are.

    Without an `encoding` it is what the byte-order mark says, and UTF-8 where there is none.
    """
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    with path.open("rb") as raw:
        binary = gzip.GzipFile(fileobj=raw, mode="rb") if raw.peek(2).startswith(_GZIP) else raw
        try:
            chosen = encoding or _marked(binary.read(3))
            binary.seek(0)
            with io.TextIOWrapper(binary, encoding=chosen, newline="") as text, _damage(path, chosen):
                yield text
        except LookupError as error:
            raise InvalidInput(
                f"encoding is {encoding!r}, which Python does not know.", "Try 'cp1252'.", field="encoding"
            ) from error
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise InvalidInput(f"{path} is a damaged gzip file ({error}).", "Get it again.") from error


def _marked(start: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), "utf-8")


@contextmanager
def _damage(path: Path, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        where = f"{error.reason}, byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InvalidInput(
            f"{path} is not {encoding.upper()} ({where}).",
            "Save it as UTF-8 (in a spreadsheet: CSV UTF-8), or name its encoding where the format takes one, as in "
            "encoding='cp1252'.",
            code="invalid_input.encoding",
        ) from error


def _first_character(file: IO[str]) -> str:
    while chunk := file.read(_CHUNK):
        if rest := chunk.lstrip():
            return rest[0]
    return ""


def _lines(path: Path, file: IO[str]) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(
                    f"{where} is not JSON ({error}).", "Give one object a line, or one array."
                ) from error
            yield Row(where, _object(where, value))


def _array(path: Path, file: IO[str]) -> Iterator[Row]:
    """Objects of a JSON array, holding in memory little more than one of them."""
    window = _Window(file)
    window.skip("[")
    while (character := window.next_character()) != "]":
        if not character:
            raise InvalidInput(f"{path} ends inside its JSON array, at line {window.line}.", "Get the whole file.")
        where = f"{path}, line {window.line}"
        try:
            value = window.decode()
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{where}: the record that begins there is not JSON ({error}).", "Correct it."
            ) from error
        yield Row(where, _object(where, value))
        if window.next_character() == ",":
            window.skip(",")
            if window.next_character() == "]":
                raise InvalidInput(f"{path}, line {window.line} has a comma before the end of the array.", "Remove it.")
        elif window.next_character() != "]":
            raise InvalidInput(f"{path}, line {window.line}: records of an array are separated by commas.")
    window.skip("]")
    if window.next_character():
        raise InvalidInput(
            f"{path}, line {window.line} goes on after the array.", "Give one array, or one object a line."
        )


class _Window:
    """A stretch of a file that moves on as values are taken from its front."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()
        self.line = 1

    def next_character(self) -> str:
        """The next character that is not white space, still in place; "" at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in " \t\r\n":
                    return character
                self.line += character == "\n"
                self._at += 1
            if not self._more():
                return ""

    def skip(self, character: str) -> None:
        """Step over the next character, which is known to be this one."""
        self.next_character()
        self._at += len(character)

    def decode(self) -> Any:
        """Take the JSON value at the front, reading on while it is not complete."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _LOOKAHEAD
                if not (cut and self._more()):
                    raise
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def _more(self) -> bool:
        rest = self._text[self._at :]
        chunk = self._file.read(max(_CHUNK, len(rest)))  # twice as much each time, so that a huge value is cheap
        self._text, self._at = rest + chunk, 0
        return bool(chunk)


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} holds {shown(value)}.", "Each record must be an object, {...}.")
    return value


def shown(value: Any) -> str:
    """A value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


# -- writing -----------------------------------------------------------------------------


@contextmanager
def writing_json(path: Path, *, array: bool | None = None) -> Iterator[RowWriter]:
    """A writer of JSON lines, or of an array (by default where the name ends in .json); the file appears when all is well."""
    listed = suffix_of(path) == ".json" if array is None else array
    with packed(path) as file:
        count = 0

        def write(fields: Mapping[str, Any]) -> None:
            nonlocal count
            if listed:
                file.write(b",\n" if count else b"[\n")
            file.write(_encoded(fields))
            if not listed:
                file.write(b"\n")
            count += 1

        yield write
        if listed:
            file.write(b"\n]\n" if count else b"[]\n")


@contextmanager
def packed(path: Path) -> Iterator[IO[bytes]]:
    """The scratch file that becomes `path`, gzipped if its name ends in .gz."""
    with atomic_write(path) as file:
        if path.suffix == ".gz":
            # Without a name and a clock, the bytes are the same each time.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped:
                buffered = io.BufferedWriter(zipped, _CHUNK)
                yield buffered
                buffered.flush()
                buffered.detach()
        else:
            yield file


def _encoded(fields: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half a character, which JSON can hold only escaped
        return json.dumps(fields, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{shown(dict(fields))} cannot be written as JSON ({error}).", "Give texts, numbers, lists and objects."
        ) from error


def suffix_of(path: Path) -> str:
    """What the name ends in, small, without .gz."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()
