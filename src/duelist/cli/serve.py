"""`duelist serve` and `duelist token`: a server for raters and owners, and the tokens that open it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from duelist.cli.console import kind_errors, out, say
from duelist.cli.defaults import STORAGE
from duelist.core.errors import InvalidInput

Url = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
OfStudy = Annotated[str | None, typer.Option("--study", help="Only for this study; for all, if you do not say.")]
_SHORTEST_TOKEN = 20


def serve(
    storage: Url = STORAGE,
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond this machine only with a token, see `duelist token create`.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8765,
    public_url: Annotated[
        str | None,
        typer.Option(envvar="DUELIST_PUBLIC_URL", help="The address that people use, if a proxy stands before."),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option("--host-name", help="A name that the server may be called by; may be repeated, * for any."),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(help="A folder of images, sounds and films that arms may name.", exists=True, file_okay=False),
    ] = None,
    rate_limit: Annotated[float, typer.Option(help="Requests a second of one token.")] = 50.0,
    largest_upload: Annotated[int, typer.Option(help="Bytes that a file may have.")] = 256 * 2**20,
    proxies: Annotated[str, typer.Option(help="Addresses of proxies to believe, with commas between.")] = "127.0.0.1",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Bring the storage's schema up to date first. Make a backup before.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="DUELIST_ADMIN_TOKEN",
            hidden=True,
            help="An admin's token of this run, instead of one that is made up.",
        ),
    ] = None,
) -> None:
    """Serve studies to raters and owners: pages for people, HTTP for programs. Ctrl-C stops it when all is written."""
    with kind_errors():
        from duelist.server import ServerOptions
        from duelist.server import serve as run
        from duelist.server.options import LOOPBACK
        from duelist.study import upgrade_storage

        if token is not None and len(token) < _SHORTEST_TOKEN:
            raise InvalidInput(
                f"DUELIST_ADMIN_TOKEN has {len(token)} characters.", f"Give at least {_SHORTEST_TOKEN}, by chance."
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8765,
    folder: Annotated[
        Path | None, typer.Option(help="Keep the study here; gone afterwards, if you do not say.")
    ] = None,
) -> None:
    """A study server with a study that lives: real answers to compare, and made-up raters who vote."""
    with kind_errors():
        from duelist.cli.demo_study import run_demo

        run_demo(port, folder, say)


def _welcome(address: str, secret: str | None, given: bool) -> None:
    """Where to begin; a token that somebody gave us is not told again."""
    if secret is None or given:
        say(f"duelist serves {address}; sign in there with a token, Ctrl-C stops it")
    else:
        say(
            f"duelist serves {address}; Ctrl-C stops it. Your own link, for as long as it runs:\n  {address}/signin#{secret}"
        )


tokens = typer.Typer(help="Tokens of the study server: who may do what.", no_args_is_help=True)


@tokens.command("create")
def create(
    scope: Annotated[str, typer.Argument(help="admin, reader or rater.")] = "admin",
    study: OfStudy = None,
    rater: Annotated[str | None, typer.Option("--rater", "-r", help="For a rater's: the name it votes under.")] = None,
    label: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    days: Annotated[float | None, typer.Option(help="Refuse it after so many days.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Make a token. It is shown this once: only its hash is kept."""
    from duelist.study import load_study, open_storage
    from duelist.study.access import create_token

    with kind_errors():
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
    """The tokens there are, without their secrets."""
    from duelist.study import list_studies, load_study, open_storage
    from duelist.study.access import list_tokens

    with kind_errors():
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
def revoke(token: Annotated[str, typer.Argument(help="The id of a token.")], storage: Url = STORAGE) -> None:
    """Refuse a token from now on."""
    from duelist.study import open_storage
    from duelist.study.access import revoke_token

    with kind_errors():
        revoke_token(open_storage(storage, create=False), token)
        say(f"token {token} is refused from now on; a server that runs notices within two seconds")
