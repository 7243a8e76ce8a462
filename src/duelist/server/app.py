"""The FastAPI application: routes, error handlers and middleware."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from duelist import __version__
from duelist.core.errors import DuelistError, StorageError
from duelist.server.auth import is_privileged
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError, error_body, error_response, rater_error, validation_error_from
from duelist.server.http.middleware import RequestMiddleware
from duelist.server.monitoring.logs import log_event
from duelist.server.options import ServerOptions
from duelist.server.routes import (
    analysis,
    arms,
    files,
    live,
    pages,
    planning,
    raters,
    rating,
    service,
    session,
    studies,
    tokens,
)

_CODES = {
    400: "malformed",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_type",
    422: "invalid_input",
}


def make_app(options: ServerOptions) -> FastAPI:
    """Return the application; `app.state.server` is its `ServerContext`."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        await server.worker.start()
        yield
        await server.close()

    server = ServerContext(options)
    app = FastAPI(
        title="duelist",
        version=__version__,
        summary="Studies of pairwise preferences, over HTTP.",
        openapi_url=None,  # `service.description` returns it, encoded once
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=running,
    )
    app.state.server = server
    for part in (session, rating, live, studies, arms, files, planning, analysis, raters, tokens, service):
        app.include_router(part.router, prefix="/api/v1")
    app.include_router(service.metrics_router)
    pages.add_pages(app)
    _explain_errors(app)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(RequestMiddleware, server=server)
    return app


def _wants_page(request: Request) -> bool:
    """Return whether an HTML page is wanted: programs get errors as JSON on any path."""
    own = request.url.path.startswith(("/api/", "/assets/"))
    return request.method == "GET" and not own and "text/html" in request.headers.get("accept", "")


def _explain_errors(app: FastAPI) -> None:
    @app.exception_handler(DuelistError)
    async def library_error(request: Request, error: DuelistError) -> JSONResponse:
        if isinstance(error, StorageError):
            log_event("storage failed", logging.WARNING, code=error.code, error=error.message)
        explain = error_response if is_privileged(request) else rater_error
        status, body = explain(error)
        return JSONResponse(body, status, headers={"Retry-After": "1"} if status == 503 else None)

    @app.exception_handler(RequestError)
    async def request_error(request: Request, error: RequestError) -> JSONResponse:
        return JSONResponse(error.body, error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def validation_error(request: Request, error: RequestValidationError) -> JSONResponse:
        found = validation_error_from(error.errors())
        return JSONResponse(found.body, found.status_code)

    @app.exception_handler(HTTPException)
    async def framework_error(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404 and _wants_page(request):
            return pages.not_found_page(request)
        code = _CODES.get(error.status_code, "malformed")
        body = error_body(code, f"{error.detail}.", "docs/reference/http-api.md lists every path.")
        return JSONResponse(body, error.status_code, headers=error.headers)
