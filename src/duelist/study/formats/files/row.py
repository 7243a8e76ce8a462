"""One row of a file, and functions that all readers share."""

from __future__ import annotations

import codecs
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

from duelist.core.errors import InvalidInput

GZIP: Final = b"\x1f\x8b"
BYTE_ORDER_MARKS: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
"""Byte-order marks and the encodings they stand for."""
MAX_LINE: Final = 1 << 26
"""Characters per line, and about as many per record of a JSON array: a line is held in memory."""
MAX_RATIO: Final = 200
"""How much smaller than its content a gzip file of more than `_SMALL_BYTES` of content may be; tables and texts reach a tenth of it."""
_SMALL_BYTES: Final = 1 << 26
_SLOW_ENCODINGS: Final = ("idna", "punycode")
"""Encodings of host names: reading a long text in them takes time in proportion to its square."""
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+")
"""1.234,56: the point separates thousands."""


class Row(NamedTuple):
    """One row of a file, with its location for messages.

    In tables with a `decimal_comma` numbers may be written as 0,5. `json_cells` are the table cells that were decoded
    from JSON.
    """

    where: str
    fields: dict[str, Any]
    decimal_comma: bool = False
    json_cells: frozenset[str] = frozenset()

    def parse_number(self, value: Any) -> float | None:
        """Return a finite number, parsed from text as this file writes numbers.

        None for anything else.
        """
        if isinstance(value, str) and "_" in value:
            return None  # Python accepts 1_000, people do not write it
        if self.decimal_comma and isinstance(value, str) and value.count(",") == 1:
            plain = value.replace(".", "") if _THOUSANDS.fullmatch(value.strip()) else value
            value = plain.replace(",", ".") if "." not in plain else plain
        try:
            number = math.nan if isinstance(value, bool) or value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None


def shorten(value: Any) -> str:
    """Return the repr of a value for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


def suffix_of(path: Path) -> str:
    """Return the suffix of a file name in lower case, ignoring .gz."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()


@contextmanager
def open_text(path: Path, encoding: str | None = None) -> Iterator[IO[str]]:
    """Open a text file, gzipped or not, without translating line ends.

    Without an `encoding` the byte-order mark decides, and UTF-8 is assumed where there is none.
    """
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file.", "Give the path of the file to read.")
    with path.open("rb") as raw:
        binary = cast("IO[bytes]", _BoundedGzip(path, raw)) if raw.peek(2).startswith(GZIP) else raw
        try:
            chosen = _checked_encoding(encoding) if encoding else _encoding_by_mark(binary.read(3))
            binary.seek(0)
            with io.TextIOWrapper(binary, encoding=chosen, newline="") as text, _decoding(path, chosen):
                yield text
        except LookupError as error:
            raise InvalidInput(
                f"encoding is {encoding!r}, which is not a known encoding.", "Try 'cp1252'.", field="encoding"
            ) from error
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise InvalidInput(f"{path.name} is a damaged gzip file ({error}).", "Get a new copy of it.") from error


def read_lines(path: Path, file: IO[str]) -> Iterator[str]:
    """Yield the lines of an open text file; raise InvalidInput for one that is too long to be held in memory."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise too_long(path)
        yield line


def too_long(path: Path) -> InvalidInput:
    """Return the error for a file with a line or a record that is too long."""
    return InvalidInput(f"{path.name} has a line or record of more than {MAX_LINE:,} characters.", "Split it.")


class _BoundedGzip(gzip.GzipFile):
    """A gzip file that raises InvalidInput once it unpacks to very much more than it holds."""

    def __init__(self, path: Path, packed: IO[bytes]) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self._path = path
        self._limit = max(_SMALL_BYTES, MAX_RATIO * path.stat().st_size)

    def read(self, size: int | None = -1) -> bytes:
        """Read up to `size` bytes of content."""
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Read up to `size` bytes of content, with one read of the file."""
        return self._checked(super().read1(size))

    def _checked(self, content: bytes) -> bytes:
        if self.tell() > self._limit:
            raise InvalidInput(f"{self._path.name} unpacks to more than {self._limit:,} bytes.", "Unpack it.")
        return content


def _checked_encoding(encoding: str) -> str:
    if codecs.lookup(encoding).name in _SLOW_ENCODINGS:
        raise LookupError(encoding)
    return encoding


def _encoding_by_mark(start: bytes) -> str:
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8")


@contextmanager
def _decoding(path: Path, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        where = f"{error.reason}, byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InvalidInput(
            f"{path.name} is not {encoding.upper()} ({where}).",
            "Save it as UTF-8 (in a spreadsheet: CSV UTF-8), or name its encoding where the format takes one, as in "
            "encoding='cp1252'.",
            code="invalid_input.encoding",
        ) from error
