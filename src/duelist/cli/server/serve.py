"""`duelist serve` and `duelist demo-server`: the study server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import STORAGE
from duelist.cli.study.options import StorageUrl
from duelist.core.errors import InvalidInput

_SHORTEST_TOKEN = 20


def serve(
    storage: StorageUrl = STORAGE,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Addresses other than localhost need an admin token: see `duelist token create`."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8765,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="DUELIST_PUBLIC_URL", help="Address that browsers use, if it differs from the server's own."
        ),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option("--host-name", help="Host name that requests may use; may be repeated, * allows any."),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(
            help="Folder of images, audio and video files that items may refer to.", exists=True, file_okay=False
        ),
    ] = None,
    rate_limit: Annotated[float, typer.Option(help="Requests per second per token.")] = 50.0,
    largest_upload: Annotated[int, typer.Option(help="Largest upload, in bytes.")] = 256 * 2**20,
    live: Annotated[
        Path | None,
        typer.Option(
            help="JSON file of systems that answer raters' own prompts: see docs/guides/systems.md.", dir_okay=False
        ),
    ] = None,
    proxies: Annotated[str, typer.Option(help="Trusted proxies, comma-separated.")] = "127.0.0.1",
    log_level: Annotated[str, typer.Option(help="Log level: debug, info, warning or error.")] = "info",
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Upgrade the schema of the database first; make a backup before.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="DUELIST_ADMIN_TOKEN",
            hidden=True,
            help="Admin token for this run, instead of a generated one.",
        ),
    ] = None,
) -> None:
    """Serve studies: pages for raters and owners, and an HTTP API. Ctrl-C stops the server.

    On a terminal, without --public-url, it prints a link for you as an admin, valid while it runs.
    """
    with report_errors():
        from duelist.server import ServerOptions
        from duelist.server import serve as run
        from duelist.server.options import LOOPBACK, read_live_systems
        from duelist.study import upgrade_storage

        if token is not None and len(token) < _SHORTEST_TOKEN:
            raise InvalidInput(
                f"DUELIST_ADMIN_TOKEN has {len(token)} characters.",
                f"Give at least {_SHORTEST_TOKEN} random characters.",
            )
        if log_level not in ("debug", "info", "warning", "error"):
            raise InvalidInput(f"--log-level is {log_level!r}.", "Choose one of debug, info, warning, error.")
        if upgrade:
            upgrade_storage(storage)
        options = ServerOptions(
            storage=storage,
            public_url=public_url,
            hosts=(*LOOPBACK, *(host_name or ())),
            media=media,
            rate_limit=rate_limit,
            max_upload_bytes=largest_upload,
            temporary_token=token,
            live={} if live is None else read_live_systems(live),
        )
        run(
            options,
            host,
            port,
            log_level,
            proxies,
            lambda address, secret: _welcome(address, secret, given=token is not None),
            with_link=sys.stdout.isatty() and public_url is None,
        )


def demo_server(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8765,
    folder: Annotated[Path | None, typer.Option(help="Folder to keep the study in; default: a temporary one.")] = None,
) -> None:
    """Serve a demo study with simulated raters. Ctrl-C stops the server."""
    with report_errors():
        from duelist.cli.server.demo_server import run_demo

        run_demo(port, folder, say)


def _welcome(address: str, secret: str | None, given: bool) -> None:
    """Print the address, and the owner's link unless the token was given."""
    if secret is None or given:
        say(f"Serving {address}. Sign in with a token: see `duelist token create`. Ctrl-C stops the server.")
    else:
        say(f"Serving {address}. Ctrl-C stops the server. Your link, valid while it runs:\n  {address}/signin#{secret}")
