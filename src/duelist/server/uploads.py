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

from fastapi import Request, UploadFile
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

_COPIED = 1 << 20


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


async def save_parts(parts: list[UploadFile], target: Path) -> list[Path]:
    """Save the files of a form under safe names; files of the same name get separate folders."""
    paths: list[Path] = []
    for number, part in enumerate(parts):
        part_folder = target / f"part {number}"  # tables cannot refer to such a folder
        part_folder.mkdir()
        path = part_folder / safe_name(part.filename or f"file-{number}")
        with path.open("wb") as file:
            while chunk := await part.read(_COPIED):
                await asyncio.to_thread(file.write, chunk)
        paths.append(path)
    return paths


def safe_name(name: str) -> str:
    r"""Return the last part of a path without control characters, shortened.

    >>> safe_name("../../etc/pass wd\n.csv")
    'pass wd_.csv'
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "_", last).strip(". ")
    return cleaned.encode()[-200:].decode(errors="ignore") or "file"


def file_response(path: Path, name: str, media_type: str, headers: dict[str, str] | None = None) -> FileResponse:
    """Return a download; its folder is deleted afterwards."""
    disposition = f"attachment; filename*=UTF-8''{quote(safe_name(name))}"
    return FileResponse(
        path,
        media_type=media_type,
        headers={"Content-Disposition": disposition, **(headers or {})},
        background=BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True),
    )


async def download_folder() -> Path:
    """Create an empty folder for a download; `file_response` deletes it."""
    return Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="duelist-sent-"))
