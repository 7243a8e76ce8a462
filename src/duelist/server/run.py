"""Run a server: bind a socket, create a temporary token, stop gracefully."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Final

import uvicorn

from duelist.core.errors import InvalidInput
from duelist.server.app import make_app
from duelist.server.http.connections import KEEP_ALIVE_SECONDS, protocol_for
from duelist.server.http.middleware import MAX_HEADER_BYTES, MAX_TARGET_BYTES
from duelist.server.monitoring.logs import log_event, log_to_stderr
from duelist.server.options import LOOPBACK, ServerOptions
from duelist.study import open_storage
from duelist.study.administration.tokens import PREFIX, Scope, list_tokens

SHUTDOWN_SECONDS: Final = 10
"""Seconds that running requests have to finish when the server stops."""


class _Server(uvicorn.Server):
    """A uvicorn server that ends event streams first, which would delay its shutdown."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal to stop."""
        self._stopping()
        super().handle_exit(sig, frame)


def serve(
    options: ServerOptions,
    host: str = "127.0.0.1",
    port: int = 8765,
    log_level: str = "info",
    proxies: str = "127.0.0.1",
    on_start: Callable[[str, str | None], None] | None = None,
    with_link: bool = True,
) -> None:
    """Serve until SIGINT or SIGTERM; running requests finish, new ones are rejected.

    Parameters
    ----------
    options
        Options of the server.
    host, port
        The address to listen on. Any address but loopback requires an admin token in the storage. Port 0 picks a free port.
    log_level
        "debug", "info", "warning" or "error".
    proxies
        Trusted proxies, comma-separated.
    on_start
        Called with the server's address, and the secret of its temporary token if it has one.
    with_link
        Whether a server on loopback makes a temporary admin token. Without it, signing in needs a token: others may find a link that is
        printed into a log, or that a proxy makes valid for everyone.
    """
    options = _with_token(options, host, with_link)
    log_to_stderr(log_level)
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1])
    app = make_app(options)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=protocol_for(app.state.server.metrics),
        ws="none",
        h11_max_incomplete_event_size=MAX_HEADER_BYTES + MAX_TARGET_BYTES,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        proxy_headers=True,
        forwarded_allow_ips=proxies,
        lifespan="on",
    )
    server = _Server(config, app.state.server.stopping.set)
    log_event("listening", address=address, public=options.public_url)
    if on_start is not None:
        on_start(address, options.temporary_token)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again at the end
        asyncio.run(server.serve(sockets=[listening]))


def _with_token(options: ServerOptions, host: str, with_link: bool) -> ServerOptions:
    """Create a temporary token on loopback; on other addresses, require an admin token."""
    if is_loopback(host):
        needs_token = with_link and not options.temporary_token
        return replace(options, temporary_token=PREFIX + secrets.token_urlsafe(32)) if needs_token else options
    tokens = list_tokens(open_storage(options.storage))
    if not options.temporary_token and not any(token.scope is Scope.ADMIN and token.is_valid() for token in tokens):
        raise InvalidInput(
            f"host is {host!r}, which other machines can reach, but the storage has no admin token.",
            "Create one with `duelist token create`, set DUELIST_ADMIN_TOKEN, or listen on 127.0.0.1.",
            field="host",
        )
    return replace(options, hosts=options.hosts if set(options.hosts) - set(LOOPBACK) else (*options.hosts, host))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio disables Nagle's algorithm, which delays responses by 40 ms, only if the protocol is given.
        listening = socket.socket(info[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(info[4])
    except (OSError, OverflowError) as error:
        raise InvalidInput(
            f"Cannot listen on {host} port {port}: {error}.", "Choose another port with --port."
        ) from error
    listening.set_inheritable(True)
    return listening


def _address(host: str, port: int) -> str:
    displayed = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104  (compared only)
    return f"http://[{displayed}]:{port}" if ":" in displayed else f"http://{displayed}:{port}"
