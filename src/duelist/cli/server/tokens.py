"""`duelist token`: access tokens of the study server."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say, say_table
from duelist.cli.defaults import STORAGE
from duelist.cli.study.options import StorageUrl

OfStudy = Annotated[str | None, typer.Option("--study", help="Only for this study; default: for all.")]
app = typer.Typer(help="Manage access tokens of the study server.", no_args_is_help=True)


@app.command("create")
def create(
    scope: Annotated[str, typer.Argument(help="Scope: admin, reader or rater.")] = "admin",
    study: OfStudy = None,
    rater: Annotated[str | None, typer.Option("--rater", "-r", help="Name of the rater, for scope rater.")] = None,
    label: Annotated[str | None, typer.Option(help="Note on what the token is for.")] = None,
    days: Annotated[float | None, typer.Option(help="Days until the token expires; default: never.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Create a token. It is shown only once: the database stores its hash."""
    from duelist.study import load_study, open_storage
    from duelist.study.administration.tokens import create_token

    with report_errors():
        opened = open_storage(storage)
        study_id = None if study is None else load_study(study, opened).id
        made = create_token(opened, scope, study_id, rater, label, days)
        if as_json:
            say(json.dumps({"id": made.token.id, "scope": made.token.scope, "study": study_id, "token": made.secret}))
        elif rater is not None:
            say(f"link for {rater}: the address of the server, then /rate/{study_id}#{made.secret}")
        else:
            say(f"token {made.token.id} ({made.token.scope}): {made.secret}")


@app.command("list")
def list_(study: OfStudy = None, storage: StorageUrl = STORAGE) -> None:
    """List the tokens, without their secrets."""
    from duelist.study import list_studies, load_study, open_storage
    from duelist.study.administration.tokens import list_tokens

    with report_errors():
        opened = open_storage(storage, create=False)
        names = {each.id: each.name for each in list_studies(opened, include_archived=True)}
        rows = []
        for each in list_tokens(opened, None if study is None else load_study(study, opened).id):
            state = "revoked" if each.revoked else "valid" if each.is_valid() else "expired"
            where = "all" if each.study is None else names.get(each.study, "")
            created = f"{each.created_at:%Y-%m-%d %H:%M} UTC"
            rows.append((each.id, each.scope, where, each.rater or "", each.label or "", created, state))
        say_table(("id", "scope", "study", "rater", "label", "created", "state"), rows)


@app.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(help="Id of the token.", show_default=False)], storage: StorageUrl = STORAGE
) -> None:
    """Revoke a token. Servers accept it for at most two more seconds."""
    from duelist.study import open_storage
    from duelist.study.administration.tokens import revoke_token

    with report_errors():
        revoke_token(open_storage(storage, create=False), token)
        say(f"token {token} is revoked")
