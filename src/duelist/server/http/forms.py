"""Multipart forms with files, which are parsed in a thread and written to a folder as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Final

from fastapi import Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from duelist.server.errors import MALFORMED, RequestError
from duelist.server.http.uploads import safe_name, temporary_folder

MAX_FILES: Final = 10_000
"""Files per form."""
MAX_PLAN_BYTES: Final = 2**20
_MAX_HEADER_BYTES: Final = 8192
_FILE, _PLAN = "file", "plan"

FORM_SCHEMA: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [_FILE],
                    "properties": {
                        _FILE: {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MAX_FILES,
                            "items": {"type": "string", "format": "binary"},
                            "description": "A table of items, JSON, or media files.",
                        },
                        _PLAN: {
                            "type": "string",
                            "maxLength": MAX_PLAN_BYTES,
                            "description": "Choices that the server should not guess, as JSON; see docs/reference/http-api.md.",
                        },
                    },
                }
            }
        },
    }
}
"""The description of such a form, for OpenAPI."""


class UploadedForm:
    """Parses a form and writes its files into a folder; files of the same name get separate folders."""

    def __init__(self, boundary: bytes, folder: Path) -> None:
        self.paths: list[Path] = []
        self._plan = bytearray()
        self._folder = folder
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._header_size = 0
        self._disposition = b""
        self._file: IO[bytes] | None = None
        self._is_complete = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": lambda *piece: self._read_header(self._header_name, *piece),
                "on_header_value": lambda *piece: self._read_header(self._header_value, *piece),
                "on_header_end": self._end_header,
                "on_headers_finished": self._open_part,
                "on_part_data": self._write_part,
                "on_part_end": self.close,
                "on_end": self._end,
            },
        )

    @property
    def plan(self) -> bytes:
        """The plan, as JSON."""
        return bytes(self._plan) or b"{}"

    def write(self, data: bytes) -> None:
        """Parse a piece of the body."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _malformed(f"The form cannot be read: {error}.") from error

    def finish(self) -> None:
        """Check that the form is complete."""
        if not self._is_complete:
            raise _malformed("The form has no end.")
        if not self.paths:
            raise RequestError(422, "invalid_input", "The form has no file.", "Send one or more parts `file`.", _FILE)

    def close(self) -> None:
        """Close the file of the part that ends."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin_part(self) -> None:
        self._disposition, self._header_size = b"", 0

    def _read_header(self, text: bytearray, data: bytes, start: int, end: int) -> None:
        self._header_size += end - start
        if self._header_size > _MAX_HEADER_BYTES:
            raise _malformed("A part of the form has too long headers.")
        text += data[start:end]

    def _end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _open_part(self) -> None:
        options = parse_options_header(self._disposition)[1]
        name = options.get(b"name", b"").decode(errors="replace")
        if name == _FILE and b"filename" in options:
            self._open_file(options[b"filename"].decode(errors="replace"))
        elif name == _PLAN and not self._plan:
            self._file = None
        else:
            raise RequestError(
                422,
                "invalid_input",
                f"The form has an unexpected part {name[:200]!r}.",
                "Send files as `file` and one `plan`.",
                _FILE if name == _FILE else name[:200] or None,
            )

    def _open_file(self, name: str) -> None:
        if len(self.paths) == MAX_FILES:
            raise RequestError(413, "too_large", f"The form has more than {MAX_FILES} files.", "Send fewer at a time.")
        folder = self._folder / f"part {len(self.paths)}"  # tables cannot refer to such a folder
        folder.mkdir()
        self.paths.append(folder / safe_name(name or f"file-{len(self.paths)}"))
        self._file = self.paths[-1].open("wb")

    def _write_part(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])
            return
        self._plan += data[start:end]
        if len(self._plan) > MAX_PLAN_BYTES:
            raise RequestError(
                413, "too_large", f"The plan is larger than {MAX_PLAN_BYTES} bytes.", "Shorten it.", _PLAN
            )

    def _end(self) -> None:
        self._is_complete = True


@asynccontextmanager
async def uploaded_form(request: Request) -> AsyncIterator[UploadedForm]:
    """Save the files of a form in a temporary folder for the duration of a block."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise RequestError(
            415,
            "unsupported_type",
            f"The content type is {kind.decode(errors='replace')[:100]!r}.",
            "Send multipart/form-data.",
        )
    async with temporary_folder() as folder:
        try:
            form = UploadedForm(options[b"boundary"], folder)
        except FormParserError as error:
            raise _malformed(f"The form cannot be read: {error}.") from error
        try:
            async for chunk in request.stream():
                await asyncio.to_thread(form.write, chunk)
        finally:
            form.close()
        form.finish()
        yield form


def _malformed(message: str) -> RequestError:
    return RequestError(400, MALFORMED, message, "Send a multipart form.")
