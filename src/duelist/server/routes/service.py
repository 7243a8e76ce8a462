"""The server itself: whether it is well, its numbers, and its pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from duelist import __version__
from duelist.server.auth import ServerDep, ServerReader
from duelist.server.errors import RequestError
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import ERROR_SCHEMA, error_responses

PAGES: Final = Path(__file__).parents[1] / "pages"
router = APIRouter(tags=["server"])
numbers = APIRouter(tags=["server"])


@router.get("/health", responses=error_responses() | ERROR_SCHEMA)
async def health(server: ServerDep) -> schemas.HealthResponse:
    """Whether the server and its storage answer."""
    if server.stopping.is_set():
        raise RequestError(503, "stopping", "The server is stopping.", "Ask another one.")
    await asyncio.to_thread(server.storage.find_study, "")
    return schemas.HealthResponse(status="ok", version=__version__)


@numbers.get("/metrics", response_class=PlainTextResponse, responses=error_responses(401, 403))
async def metrics(server: ServerDep, caller: ServerReader) -> Response:
    """What Prometheus reads."""
    body = await asyncio.to_thread(server.metrics.text)
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


_PAGES: Final = {
    "/": "studies.html",
    "/signin": "sign-in.html",
    "/new": "new-study.html",
    "/study/{study}": "dashboard.html",
    "/rate/{study}": "rate.html",
}


def add_pages(app: FastAPI) -> None:
    """The pages, and what they load: files of the package, the same for everybody."""
    for path, name in _PAGES.items():
        app.add_api_route(path, _page(name), methods=["GET"], include_in_schema=False, response_class=FileResponse)
    app.mount("/assets", StaticFiles(directory=PAGES / "assets", check_dir=False), name="assets")


def not_found_page() -> FileResponse:
    """What somebody sees who has gone astray."""
    return FileResponse(PAGES / "not-found.html", 404, media_type="text/html; charset=utf-8")


def _page(name: str) -> Callable[[], Awaitable[FileResponse]]:
    async def page() -> FileResponse:
        if not (PAGES / name).is_file():
            raise RequestError(404, "not_found", f"The page {name} is not installed.", "Install duelist whole.")
        return FileResponse(PAGES / name, media_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache"})

    return page
