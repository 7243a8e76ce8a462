"""`duelist serve` and `duelist token`: the study server and its access tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from duelist.cli.console import out, report_errors, say
from duelist.cli.defaults import STORAGE
from duelist.core.errors import InvalidInput

Url = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
OfStudy = Annotated[str | None, typer.Option("--study", help="Only for this study; default: for all.")]
_SHORTEST_TOKEN = 20


def serve(
    storage: Url = STORAGE,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Other than localhost, it needs a token: see `duelist token create`."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8765,
    public_url: Annotated[
        str | None,
        typer.Option(envvar="DUELIST_PUBLIC_URL", help="Public URL, if the server is behind a proxy."),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option("--host-name", help="Allowed host name; may be repeated, * allows any."),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(
            help="Folder of images, audio and video files that items may refer to.", exists=True, file_okay=False
        ),
    ] = None,
    rate_limit: Annotated[float, typer.Option(help="Requests per second per token.")] = 50.0,
    largest_upload: Annotated[int, typer.Option(help="Maximum size of an uploaded file, in bytes.")] = 256 * 2**20,
    proxies: Annotated[str, typer.Option(help="Trusted proxies, comma-separated.")] = "127.0.0.1",
    log_level: Annotated[str, typer.Option(help="Log level: debug, info, warning or error.")] = "info",
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Upgrade the storage's schema first. Make a backup before.")
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
    """Serve studies: pages for raters and owners, and an HTTP API. Stop with Ctrl-C."""
    with report_errors():
        from duelist.server import ServerOptions
        from duelist.server import serve as run
        from duelist.server.options import LOOPBACK
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
        )
        run(
            options,
            host,
            port,
            log_level,
            proxies,
            lambda address, secret: _welcome(address, secret, given=token is not None),
        )


def demo_server(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8765,
    folder: Annotated[
        Path | None, typer.Option(help="Folder to keep the study in; default: deleted afterwards.")
    ] = None,
) -> None:
    """Serve a demo study with simulated raters."""
    with report_errors():
        from duelist.cli.demo_study import run_demo

        run_demo(port, folder, say)


def _welcome(address: str, secret: str | None, given: bool) -> None:
    """Print the address, and the owner's link unless the token was given."""
    if secret is None or given:
        say(f"Serving {address}. Sign in with a token. Ctrl-C stops the server.")
    else:
        say(f"Serving {address}. Ctrl-C stops the server. Your link, valid while it runs:\n  {address}/signin#{secret}")


tokens = typer.Typer(help="Manage access tokens of the study server.", no_args_is_help=True)


@tokens.command("create")
def create(
    scope: Annotated[str, typer.Argument(help="Scope: admin, reader or rater.")] = "admin",
    study: OfStudy = None,
    rater: Annotated[str | None, typer.Option("--rater", "-r", help="Name of the rater, for scope rater.")] = None,
    label: Annotated[str | None, typer.Option(help="Note to remember it by.")] = None,
    days: Annotated[float | None, typer.Option(help="Days until it expires.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Create a token. It is shown only once: the server keeps a hash."""
    from duelist.study import load_study, open_storage
    from duelist.study.administration.tokens import create_token

    with report_errors():
        opened = open_storage(storage)
        study_id = None if study is None else load_study(study, opened).id
        made = create_token(opened, scope, study_id, rater, label, days)
        if as_json:
            say(json.dumps({"id": made.token.id, "scope": made.token.scope, "study": study_id, "token": made.secret}))
        elif rater is not None:
            say(f"{rater}'s link is the server's address and /rate/{study_id}#{made.secret}")
        else:
            say(f"token {made.token.id} ({made.token.scope}): {made.secret}")


@tokens.command("list")
def list_(study: OfStudy = None, storage: Url = STORAGE) -> None:
    """List the tokens, without their secrets."""
    from duelist.study import list_studies, load_study, open_storage
    from duelist.study.administration.tokens import list_tokens

    with report_errors():
        opened = open_storage(storage, create=False)
        names = {each.id: each.name for each in list_studies(opened, include_archived=True)}
        table = Table("id", "scope", "study", "rater", "label", "created", "state")
        for each in list_tokens(opened, None if study is None else load_study(study, opened).id):
            state = "revoked" if each.revoked else "valid" if each.is_valid() else "expired"
            where = "all" if each.study is None else names.get(each.study, "")
            created = f"{each.created_at:%Y-%m-%d %H:%M} UTC"
            table.add_row(each.id, each.scope, where, each.rater or "", each.label or "", created, state)
        out.print(table)


@tokens.command("revoke")
def revoke(token: Annotated[str, typer.Argument(help="Token id.")], storage: Url = STORAGE) -> None:
    """Revoke a token."""
    from duelist.study import open_storage
    from duelist.study.administration.tokens import revoke_token

    with report_errors():
        revoke_token(open_storage(storage, create=False), token)
        say(f"token {token} is revoked; running servers notice within two seconds")
