"""Uploaded and downloaded files, in a temporary folder per request."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send


@asynccontextmanager
async def temporary_folder() -> AsyncIterator[Path]:
    """Create an empty folder for the duration of a block."""
    path = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="duelist-request-"))
    try:
        yield path
    finally:
        await asyncio.to_thread(shutil.rmtree, path, True)


@asynccontextmanager
async def uploaded_file(request: Request, name: str) -> AsyncIterator[Path]:
    """Save the body of a request as a file for the duration of a block."""
    async with temporary_folder() as target:
        path = target / safe_name(name)
        with path.open("wb") as file:
            async for chunk in request.stream():
                await asyncio.to_thread(file.write, chunk)
        yield path


def safe_name(name: str) -> str:
    r"""Return the last part of a path without control characters, shortened.

    >>> safe_name("../../etc/pass wd\n.csv")
    'pass wd_.csv'
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "_", last).strip(". ")
    return cleaned.encode()[-200:].decode(errors="ignore") or "file"


def file_response(path: Path, name: str, media_type: str, headers: dict[str, str] | None = None) -> FileResponse:
    """Return a download; its folder is deleted afterwards, whatever happens."""
    disposition = f"attachment; filename*=UTF-8''{quote(safe_name(name))}"
    return _Download(path, media_type=media_type, headers={"Content-Disposition": disposition, **(headers or {})})


class _Download(FileResponse):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            shutil.rmtree(Path(self.path).parent, ignore_errors=True)


@asynccontextmanager
async def download_folder() -> AsyncIterator[Path]:
    """Create an empty folder for a download, which `file_response` deletes; an error in the block deletes it, too."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="duelist-sent-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
