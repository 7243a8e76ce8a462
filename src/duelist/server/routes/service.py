"""Health, metrics and the audit log of the server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse

from duelist import __version__
from duelist.server.auth import ServerAdmin, ServerDep, ServerReader, StudyAdmin
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import ERROR_SCHEMA, error_responses

router = APIRouter(route_class=CheckedRoute, tags=["server"])
metrics_router = APIRouter(route_class=CheckedRoute, tags=["server"])


@router.get("/health", responses=error_responses() | ERROR_SCHEMA)
async def health(server: ServerDep) -> schemas.HealthResponse:
    """Return 200 if the server, its storage and its background worker respond. They are asked at most once per second."""
    if server.stopping.is_set():
        raise RequestError(503, "stopping", "The server is stopping.", "Try another server process.")
    if not await server.health.is_responding():
        raise RequestError(
            503, "worker_down", "The background worker does not respond.", "It is restarted; raters are not affected."
        )
    return schemas.HealthResponse(status="ok", version=__version__)


@router.get("/openapi.json", include_in_schema=False)
async def description(request: Request, server: ServerDep) -> Response:
    """Return the OpenAPI description."""
    return Response(await server.api_description(request.app.openapi), media_type="application/json")


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
