"""Middleware: checks of host and length, security headers, request log and metrics."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

from starlette.requests import ClientDisconnect

from duelist.server.auth import NEW_COOKIE
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.bodies import BodyStream
from duelist.server.monitoring.logs import log_event

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_TARGET_BYTES: Final = 16 * 2**10
"""Limit of a path with its query."""
MAX_HEADER_BYTES: Final = 32 * 2**10
"""Limit of all headers of a request."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_NO_FRAMES: Final = "frame-ancestors 'none'"
_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_CLIENT_CLOSED: Final = 499
"""Status in log and metrics of a request whose client closed the connection before the response."""
_MAX_LOGGED_PATH: Final = 500


def framed_policy(hosts: Sequence[str]) -> str:
    """Return the content security policy of a page that these hosts may show in a frame.

    >>> framed_policy(["https://lab.example.org"]).split("; ")[-2]
    'frame-ancestors https://lab.example.org'
    """
    return POLICY.replace(_NO_FRAMES, f"frame-ancestors {' '.join(hosts)}") if hosts else POLICY


class RequestMiddleware:
    """Checks every request, and completes, logs and counts every response."""

    def __init__(self, app: App, server: ServerContext) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_at = time.perf_counter()
        status, has_started = 500, False
        body = BodyStream(scope, receive)

        async def respond(message: Message) -> None:
            nonlocal status, has_started
            if message["type"] == "http.response.start":
                has_started = True
                status = message["status"]
                message["headers"] = [*message["headers"], *_missing_headers(scope, message["headers"], body)]
            await send(message)

        try:
            error = self._find_error(scope)
            if error is None:
                await self._app(scope, body.receive, respond)
            else:
                await _send_error(respond, error)
        except ClientDisconnect:
            status = _CLIENT_CLOSED
        except Exception:  # noqa: BLE001  (the client gets an error body, the log the traceback)
            log_event("failed", logging.ERROR, exc_info=True, path=scope["path"][:_MAX_LOGGED_PATH])
            if not has_started:
                hint = "Try again; the log of the server has the details."
                await _send_error(respond, RequestError(500, "internal", "Internal server error.", hint))
        finally:
            self._record(scope, status, time.perf_counter() - started_at)

    def _find_error(self, scope: Scope) -> RequestError | None:
        """Return the error in the head of a request, or None."""
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
            return RequestError(
                414, "too_large", f"The address is longer than {MAX_TARGET_BYTES} bytes.", "Shorten the query."
            )
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            return RequestError(
                431, "too_large", f"The headers are longer than {MAX_HEADER_BYTES} bytes.", "Delete the site's cookies."
            )
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._server.options.allows_host(hosts[0]):
            return RequestError(
                400,
                "malformed",
                f"The Host header {', '.join(hosts)[:200]!r} is not a name of this server.",
                "Use the server's address, or allow the name with --host-name.",
            )
        return None

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        metrics = self._server.metrics
        method = scope["method"] if scope["method"] in _METHODS else "other"
        metrics.requests.labels(method, route, str(status)).inc()
        if not route.endswith("/events"):
            metrics.seconds.labels(method, route).observe(seconds)
        client = scope.get("client")
        log_event(
            "request",
            logging.INFO if status < 500 else logging.ERROR if status == 500 else logging.WARNING,
            method=method,
            path=scope["path"][:_MAX_LOGGED_PATH],
            status=status,
            ms=round(1000 * seconds, 1),
            client=client[0] if client else None,
            token=scope.get("duelist_token"),
        )


def _missing_headers(scope: Scope, given: list[tuple[bytes, bytes]], body: BodyStream) -> list[tuple[bytes, bytes]]:
    """Return the headers that every response has, without those that are given."""
    present = {name for name, _ in given}
    headers = [(name, value) for name, value in _HEADERS if name not in present]
    if NEW_COOKIE in scope:
        headers.append((b"set-cookie", scope[NEW_COOKIE]))
    if b"cache-control" not in present:
        caching = b"no-store" if scope["path"].startswith("/api/") else b"no-cache"  # revalidated by ETag
        headers.append((b"cache-control", caching))
    if not body.is_complete:  # the rest will not be read
        headers.append((b"connection", b"close"))
    return headers


async def _send_error(send: Send, error: RequestError) -> None:
    body = json.dumps(error.body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
