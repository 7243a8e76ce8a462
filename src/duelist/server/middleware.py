"""Middleware: host check, body size, security headers, request log and metrics."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from duelist.server.context import ServerContext
from duelist.server.errors import RequestError, error_body
from duelist.server.monitoring.logs import log_event

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_JSON_BYTES: Final = 8 * 2**20
UPLOAD_PATHS: Final = ("/files/", "/files", "/arms", "/import", "/restore")
"""Ends of the paths that accept files or streams."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


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
        headers = dict(scope["headers"])

        async def respond(message: Message) -> None:
            nonlocal status, has_started
            if message["type"] == "http.response.start":
                has_started = True
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *((n, v) for n, v in _HEADERS if n not in present)]
                if b"cache-control" not in present:
                    caching = b"no-store" if scope["path"].startswith("/api/") else b"no-cache"  # revalidated by ETag
                    message["headers"].append((b"cache-control", caching))
            await send(message)

        try:
            if not self._server.options.allows_host(headers.get(b"host", b"").decode("latin-1")):
                await _send_error(
                    respond,
                    400,
                    "malformed",
                    "The Host header of the request is not a name of this server.",
                    "Use the server's address, or allow the name with --host-name.",
                )
            else:
                await self._app(scope, self._limit_body(scope, headers, receive), respond)
        except Exception:  # noqa: BLE001  (the client gets an error body, the log the traceback)
            log_event("failed", logging.ERROR, exc_info=True, path=scope["path"])
            if not has_started:
                await _send_error(
                    respond,
                    500,
                    "internal",
                    "Internal server error.",
                    "Try again; the log of the server has the details.",
                )
        finally:
            self._record(scope, status, time.perf_counter() - started_at)

    def _limit_body(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        is_upload = scope["method"] == "POST" and scope["path"].rstrip("/").endswith(UPLOAD_PATHS)
        is_upload = is_upload or "/files/" in scope["path"]
        limit = self._server.options.max_upload_bytes if is_upload else MAX_JSON_BYTES
        content_length = headers.get(b"content-length", b"0")
        received = 0

        async def limited() -> Message:
            nonlocal received
            if content_length.isdigit() and int(content_length) > limit:
                raise too_large(limit)
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise too_large(limit)
            return message

        return limited

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        metrics = self._server.metrics
        metrics.requests.labels(scope["method"], route, str(status)).inc()
        if not route.endswith("/events"):
            metrics.seconds.labels(scope["method"], route).observe(seconds)
        client = scope.get("client")
        log_event(
            "request",
            logging.INFO if status < 500 else logging.ERROR if status == 500 else logging.WARNING,
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(1000 * seconds, 1),
            client=client[0] if client else None,
            token=scope.get("duelist_token"),
        )


def too_large(limit: int) -> RequestError:
    """Return the error for a body that is larger than the server takes."""
    return RequestError(413, "too_large", f"The body is larger than {limit} bytes.", "Send less at a time.")


async def _send_error(send: Send, status: int, code: str, message: str, hint: str) -> None:
    body = json.dumps(error_body(code, message, hint)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
