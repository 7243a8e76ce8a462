"""Files that come in and go out: each request has a folder of its own, which goes with it."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from fastapi import Request, UploadFile
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

_COPIED = 1 << 20


@asynccontextmanager
async def folder() -> AsyncIterator[Path]:
    """An empty folder, gone afterwards."""
    path = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="duelist-request-"))
    try:
        yield path
    finally:
        await asyncio.to_thread(shutil.rmtree, path, True)


@asynccontextmanager
async def uploaded(request: Request, name: str) -> AsyncIterator[Path]:
    """The body of a request as a file."""
    async with folder() as where:
        path = where / safe_name(name)
        with path.open("wb") as file:
            async for chunk in request.stream():
                await asyncio.to_thread(file.write, chunk)
        yield path


async def save_parts(parts: list[UploadFile], where: Path) -> list[Path]:
    """The files of a form, under names that are safe; those of one name are told apart."""
    kept: list[Path] = []
    for number, part in enumerate(parts):
        place = where / f"part {number}"  # not a name that a table could have for a folder
        place.mkdir()
        path = place / safe_name(part.filename or f"file-{number}")
        with path.open("wb") as file:
            while chunk := await part.read(_COPIED):
                await asyncio.to_thread(file.write, chunk)
        kept.append(path)
    return kept


def safe_name(name: str) -> str:
    r"""The last part of a path, without what a file system or a message would stumble over.

    >>> safe_name("../../etc/pass wd\n.csv")
    'pass wd_.csv'
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "_", last).strip(". ")
    return cleaned.encode()[-200:].decode(errors="ignore") or "file"


def sent(path: Path, name: str, media_type: str, headers: dict[str, str] | None = None) -> FileResponse:
    """A file to be saved under that name; its folder goes when it has been sent."""
    disposition = f"attachment; filename*=UTF-8''{quote(safe_name(name))}"
    return FileResponse(
        path,
        media_type=media_type,
        headers={"Content-Disposition": disposition, **(headers or {})},
        background=BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True),
    )


async def download_folder() -> Path:
    """An empty folder for a file that is sent; `sent` removes it."""
    return Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="duelist-sent-"))
