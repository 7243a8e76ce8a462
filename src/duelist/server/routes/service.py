"""Health, metrics and pages of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Query, Response
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from duelist import __version__
from duelist.server.auth import ServerAdmin, ServerDep, ServerReader, StudyAdmin
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import ERROR_SCHEMA, error_responses

PAGES: Final = Path(__file__).parents[1] / "pages"
router = APIRouter(route_class=CheckedRoute, tags=["server"])
metrics_router = APIRouter(route_class=CheckedRoute, tags=["server"])


@router.get("/health", responses=error_responses() | ERROR_SCHEMA)
async def health(server: ServerDep) -> schemas.HealthResponse:
    """Return 200 if the server, its storage and its background worker respond."""
    if server.stopping.is_set():
        raise RequestError(503, "stopping", "The server is stopping.", "Try another server process.")
    await asyncio.to_thread(server.storage.find_study, "")
    if not await server.worker.is_responding():
        raise RequestError(
            503, "worker_down", "The background worker does not respond.", "It is restarted; raters are not affected."
        )
    return schemas.HealthResponse(status="ok", version=__version__)


@metrics_router.get("/metrics", response_class=PlainTextResponse, responses=error_responses(401, 403))
async def metrics(server: ServerDep, caller: ServerReader) -> Response:
    """Return metrics in the format of Prometheus."""
    body = await asyncio.to_thread(server.metrics.text)
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _actions(server: ServerContext, study: int | None, before: int | None, limit: int) -> schemas.ActionsResponse:
    rows = await asyncio.to_thread(server.storage.actions, study, before, limit)
    actions = [
        schemas.ActionSchema(
            number=row.number or 0,
            at=datetime.fromtimestamp(row.at / 1e6, UTC),
            token=row.token,
            label=row.label,
            address=row.address,
            action=row.action,
            study=row.study_id,
            subject=row.subject,
        )
        for row in rows
    ]
    return schemas.ActionsResponse(actions=actions, next=rows[-1].number if len(rows) == limit else None)


Before = Annotated[int | None, Query(ge=1, le=schemas.MAX_ID)]
Limit = Annotated[int, Query(ge=1, le=1000)]


@router.get("/audit", responses=error_responses(401, 403))
async def audit_log(
    server: ServerDep, caller: ServerAdmin, before: Before = None, limit: Limit = 100
) -> schemas.ActionsResponse:
    """Return what owners and readers did on this server, newest first."""
    return await _actions(server, None, before, limit)


@router.get("/studies/{study}/audit", responses=error_responses(401, 403, 404))
async def audit_log_of_study(
    study: schemas.StudyId, server: ServerDep, caller: StudyAdmin, before: Before = None, limit: Limit = 100
) -> schemas.ActionsResponse:
    """Return what owners and readers did with a study, newest first."""
    await server.require_study(study)
    return await _actions(server, study, before, limit)


_PAGES: Final = {
    "/": "studies.html",
    "/signin": "sign-in.html",
    "/new": "new-study.html",
    "/study/{study}": "dashboard.html",
    "/rate/{study}": "rate.html",
}


def add_pages(app: FastAPI) -> None:
    """Add the static pages and their assets."""
    for path, name in _PAGES.items():
        app.add_api_route(path, _page(name), methods=["GET"], include_in_schema=False, response_class=FileResponse)
    app.mount("/assets", StaticFiles(directory=PAGES / "assets", check_dir=False), name="assets")


def not_found_page() -> FileResponse:
    """Return the page for unknown addresses."""
    return FileResponse(PAGES / "not-found.html", 404, media_type="text/html; charset=utf-8")


def _page(name: str) -> Callable[[], Awaitable[FileResponse]]:
    async def page() -> FileResponse:
        if not (PAGES / name).is_file():
            raise RequestError(404, "not_found", f"The page {name} is not installed.", "Reinstall duelist.")
        return FileResponse(PAGES / name, media_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache"})

    return page
