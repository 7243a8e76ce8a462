"""Responses with a file, or the range of it that a player requests, which take no memory while their client is slow."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import IO, Final
from weakref import WeakValueDictionary

from fastapi import Response
from fastapi.responses import StreamingResponse

from duelist.server.errors import RequestError

_PIECE: Final = 256 * 2**10
_MAX_FILES: Final = 128
_MAX_BYTES: Final = 2 * 2**30


def open_file(path: Path) -> IO[bytes]:
    """Open a file for `file_response`."""
    return path.open("rb")


class FileCache:
    """Copies of files of the storage in temporary files without a name, which the system deletes with the last reader.

    The storage reads a file whole: one copy serves all clients, and is on disk rather than in memory.
    """

    def __init__(self) -> None:
        self._files: OrderedDict[str, IO[bytes]] = OrderedDict()
        self._bytes = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # kept while waited for

    async def file(self, name: str, read: Callable[[], Awaitable[bytes]]) -> IO[bytes]:
        """Return the file of that name, which never changes; `read` returns its content."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name not in self._files:
                self._add(name, await asyncio.to_thread(_store, await read()))
            self._files.move_to_end(name)
            return self._files[name]

    def _add(self, name: str, file: IO[bytes]) -> None:
        self._files[name] = file
        self._bytes += _size(file)
        while len(self._files) > 1 and (len(self._files) > _MAX_FILES or self._bytes > _MAX_BYTES):
            self._bytes -= _size(self._files.popitem(last=False)[1])  # closed when its last reader has finished


def _store(body: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with its last reader)
    file.write(body)
    file.flush()
    return file


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def file_response(file: IO[bytes], media_type: str, headers: dict[str, str], range_header: str | None) -> Response:
    """Return a file, or a range of it."""
    size = _size(file)
    headers = {**headers, "Accept-Ranges": "bytes"}
    span = _span(range_header, size)
    first, last = span or (0, size - 1)
    if span is not None:
        if first >= size or first > last:
            raise RequestError(
                416,
                "invalid_input",
                "The range is outside the file.",
                "Request a range inside it.",
                headers={"Content-Range": f"bytes */{size}"},
            )
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    headers["Content-Length"] = str(last - first + 1)
    return StreamingResponse(_pieces(file, first, last), 200 if span is None else 206, headers, media_type)


async def _pieces(file: IO[bytes], first: int, last: int) -> AsyncIterator[bytes]:
    """Yield a part of a file, which other readers may read at the same time."""
    while first <= last:
        piece = await asyncio.to_thread(os.pread, file.fileno(), min(_PIECE, last - first + 1), first)
        if not piece:
            return  # the file is shorter than it was: the client notices by the length
        first += len(piece)
        yield piece


def _span(range_header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of `bytes=first-last`, or None to send the whole file."""
    unit, equals, span = (range_header or "").partition("=")
    first, dash, last = span.partition("-")
    if unit != "bytes" or not equals or not dash or not all(part == "" or _is_number(part) for part in (first, last)):
        return None
    if first:
        return int(first), min(int(last), size - 1) if last else size - 1
    return (max(size - int(last), 0), size - 1) if last else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
