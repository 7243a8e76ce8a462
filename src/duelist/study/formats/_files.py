"""Rows of files, one at a time: JSON lines, JSON arrays and CSV, plain or gzipped; and the same way back."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol

from duelist.errors import InvalidInput
from duelist.files import replacing

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_LARGEST_CELL: Final = 1 << 30
"""Answers can be longer than the 128 KiB that the csv module allows unless told otherwise."""
_LOOKAHEAD: Final = 16
"""No JSON literal or escape is longer: an error further than this from the end of what was read is a real one."""


class Row(NamedTuple):
    """One record of a file and where it begins, for messages."""

    where: str
    fields: dict[str, Any]


class RowWriter(Protocol):
    """Takes records one at a time."""

    def __call__(self, fields: Mapping[str, Any]) -> None:
        """Write one record."""


# -- reading -----------------------------------------------------------------------------


def is_csv(path: Path) -> bool:
    """Whether the name says that this is CSV: .csv or .csv.gz."""
    return _suffix(path) == ".csv"


def read_rows(path: Path) -> Iterator[Row]:
    """Records of a CSV file by its name, of JSON lines or a JSON array otherwise."""
    return read_csv(path) if is_csv(path) else read_json(path)


def read_json(path: Path) -> Iterator[Row]:
    """Records of a file of JSON lines, or of one JSON array, told apart by the first character."""
    with _text(path) as file, _damage(path):
        start = _first_character(file)
        file.seek(0)
        yield from (_array(path, file) if start == "[" else _lines(path, file))


def read_csv(path: Path, needed: Sequence[str] = ()) -> Iterator[Row]:
    """Records of a CSV file (RFC 4180) with a header; a cell may hold line ends."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))  # of the whole process: only ever raised
    with _text(path) as file, _damage(path):
        reader = csv.reader(file, strict=True)
        names = next(reader, None)
        if names is None:
            raise InvalidInput(f"{path} is empty; give a header and a row for each comparison")
        _check_header(path, names, needed)
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) not in (0, len(names)):
                raise InvalidInput(
                    f"{path}, line {line} has {len(cells)} cells, but the header has {len(names)}; "
                    "quote cells that hold a comma, a quote or a line end"
                )
            if cells:
                yield Row(f"{path}, line {line}", dict(zip(names, cells, strict=True)))
            line = reader.line_num + 1


def _check_header(path: Path, names: Sequence[str], needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise InvalidInput(f"{path} has no column {missing[0]!r}; its columns are {', '.join(names)}")
    repeated = [name for k, name in enumerate(names) if name in names[:k]]
    if repeated:
        raise InvalidInput(f"{path} has the column {repeated[0]!r} twice; rename one of them")


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    """The file as text, unpacked if it is gzipped; line ends are left as they are."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file; give the path of the file to read")
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        binary = gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw
        with io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text:
            yield text


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn what damaged files raise into an error that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 ({error.reason}, byte {error.start}); save it as UTF-8") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InvalidInput(f"{path} is a damaged gzip file ({error}); get it again") from error
    except csv.Error as error:
        raise InvalidInput(f"{path} cannot be read as CSV ({error}); save it as RFC 4180 has it") from error


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
                raise InvalidInput(f"{where} is not JSON ({error}); give one object a line, or one array") from error
            yield Row(where, _object(where, value))


def _array(path: Path, file: IO[str]) -> Iterator[Row]:
    """Objects of a JSON array, holding in memory little more than one of them."""
    window = _Window(file)
    window.skip("[")
    while (character := window.next_character()) != "]":
        if not character:
            raise InvalidInput(f"{path} ends inside its JSON array, at line {window.line}; get the whole file")
        where = f"{path}, line {window.line}"
        try:
            value = window.decode()
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{where}: the record that begins there is not JSON ({error}); correct it") from error
        yield Row(where, _object(where, value))
        if window.next_character() == ",":
            window.skip(",")
            if window.next_character() == "]":
                raise InvalidInput(f"{path}, line {window.line} has a comma before the end of the array; remove it")
        elif window.next_character() != "]":
            raise InvalidInput(f"{path}, line {window.line}: records of an array are separated by commas")
    window.skip("]")
    if window.next_character():
        raise InvalidInput(f"{path}, line {window.line} goes on after the array; give one array, or one object a line")


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
        raise InvalidInput(f"{where} holds {shown(value)}; each record must be an object, {{...}}")
    return value


def shown(value: Any) -> str:
    """A value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


# -- writing -----------------------------------------------------------------------------


@contextmanager
def writing_json(path: Path, *, array: bool | None = None) -> Iterator[RowWriter]:
    """A writer of JSON lines, or of an array (by default where the name ends in .json); the file appears when all is well."""
    listed = _suffix(path) == ".json" if array is None else array
    with _packed(path) as file:
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
def writing_csv(path: Path, columns: Sequence[str]) -> Iterator[RowWriter]:
    """A writer of CSV (RFC 4180) with these columns; None becomes an empty cell."""
    with _packed(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\r\n")
        table.writerow(columns)

        def write(fields: Mapping[str, Any]) -> None:
            try:
                table.writerow([_cell(fields.get(name)) for name in columns])
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"{shown(error.object)} has half a character (a lone surrogate); remove it"
                ) from error

        yield write
        text.flush()
        text.detach()


@contextmanager
def _packed(path: Path) -> Iterator[IO[bytes]]:
    """The scratch file that becomes `path`, gzipped if its name ends in .gz."""
    with replacing(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(
                filename="", fileobj=file, mode="wb", mtime=0
            ) as packed:  # no clock: same bytes each time
                buffered = io.BufferedWriter(packed, _CHUNK)
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
            f"{shown(dict(fields))} cannot be written as JSON ({error}); give texts, numbers, lists and objects"
        ) from error


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()
