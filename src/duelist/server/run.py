"""Running a server: where it listens, with which token, and how it stops."""

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
from duelist.server.monitoring.logs import log_event, log_to_stderr
from duelist.server.options import LOOPBACK, ServerOptions
from duelist.study import open_storage
from duelist.study.access import PREFIX, Scope, list_tokens

GRACE: Final = 10
"""Seconds in which requests that have begun may end when the server is told to stop."""


class _Server(uvicorn.Server):
    """Tells those who listen to events that the server stops: they would keep it waiting."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop."""
        self._stopping()
        super().handle_exit(sig, frame)


def serve(
    options: ServerOptions,
    host: str = "127.0.0.1",
    port: int = 8765,
    log_level: str = "info",
    proxies: str = "127.0.0.1",
    on_start: Callable[[str, str | None], None] | None = None,
) -> None:
    """Serve until a signal says stop (SIGINT or SIGTERM). What was begun is finished, and nothing new is taken.

    Parameters
    ----------
    options
        How the server is set up.
    host, port
        Where it listens. Beyond this machine only if the storage has a token of an admin; port 0 for any that is free.
    log_level
        "debug", "info", "warning" or "error".
    proxies
        Addresses of proxies that are believed when they say who asks.
    on_start
        Is told the server's address, and the secret of its temporary token if it has one.
    """
    options = _with_token(options, host)
    log_to_stderr(log_level)
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1])
    app = make_app(options)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=75,
        proxy_headers=True,
        forwarded_allow_ips=proxies,
        lifespan="on",
    )
    server = _Server(config, app.state.server.stopping.set)
    log_event("listening", address=address, public=options.public_url)
    if on_start is not None:
        on_start(address, options.temporary_token)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises what it caught again, when all is done
        asyncio.run(server.serve(sockets=[listening]))


def _with_token(options: ServerOptions, host: str) -> ServerOptions:
    """Beyond this machine nobody is let in without a token; on it, one is made where there is none."""
    if is_loopback(host):
        return (
            options if options.temporary_token else replace(options, temporary_token=PREFIX + secrets.token_urlsafe(32))
        )
    kept = list_tokens(open_storage(options.storage))
    if not options.temporary_token and not any(token.scope is Scope.ADMIN and token.is_valid() for token in kept):
        raise InvalidInput(
            f"host is {host!r}, which others can reach, and this storage has no admin's token.",
            "Make one with `duelist token create`, set DUELIST_ADMIN_TOKEN, or listen on 127.0.0.1.",
            field="host",
        )
    return replace(options, hosts=options.hosts if set(options.hosts) - set(LOOPBACK) else (*options.hosts, host))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With its protocol named, or asyncio does not switch Nagle's algorithm off, and every answer waits 40 ms for one.
        listening = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"Cannot listen on {host} port {port}: {error}.", "Choose another with --port.") from error
    listening.set_inheritable(True)
    return listening


def _address(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104  (compared, not listened on)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
