"""Tokens, and links that have a token for one rater."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from duelist.core.errors import UnknownToken
from duelist.core.serialization import to_plain
from duelist.server.auth import ServerAdmin, ServerDep, StudyAdmin
from duelist.server.context import ServerContext
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import error_responses
from duelist.study.administration.tokens import Scope, create_token, list_tokens, revoke_token

router = APIRouter(route_class=CheckedRoute, tags=["tokens"], responses=error_responses(401, 403, 404, 409, 422))
TokenId = Annotated[str, Path(max_length=100)]


async def _create(server: ServerContext, study: int | None, body: schemas.CreateTokenRequest) -> dict[str, Any]:
    made = await asyncio.to_thread(create_token, server.storage, body.scope, study, body.rater, body.label, body.days)
    return {**to_plain(made.token), "token": made.secret}


async def _list(server: ServerContext, study: int | None) -> schemas.TokensResponse:
    tokens = await asyncio.to_thread(list_tokens, server.storage, study)
    if study is None and server.temporary_token is not None:
        tokens.append(server.temporary_token)
    return schemas.TokensResponse(tokens=tokens)


async def _revoke(server: ServerContext, token_id: str, study: int | None) -> None:
    tokens = await asyncio.to_thread(list_tokens, server.storage, study)
    if all(token.id != token_id for token in tokens):
        raise UnknownToken(f"There is no token with the id {token_id!r}.", "`GET /api/v1/tokens` lists the tokens.")
    await asyncio.to_thread(revoke_token, server.storage, token_id)
    server.clear_token_cache()


@router.get("/tokens")
async def list_all_tokens(server: ServerDep, caller: ServerAdmin) -> schemas.TokensResponse:
    """List all tokens, without their secrets."""
    return await _list(server, None)


@router.post("/tokens", status_code=201, response_model=schemas.NewTokenResponse)
async def create_server_token(
    body: schemas.CreateTokenRequest, server: ServerDep, caller: ServerAdmin
) -> dict[str, Any]:
    """Create a token for all studies; its secret is shown only once."""
    return await _create(server, None, body)


@router.delete("/tokens/{token}", status_code=204)
async def revoke_server_token(token: TokenId, server: ServerDep, caller: ServerAdmin) -> None:
    """Revoke a token; that of the running server, until it starts again."""
    if server.temporary_token is not None and token == server.temporary_token.id:
        server.revoke_temporary_token()
    else:
        await _revoke(server, token, None)


@router.get("/studies/{study}/tokens")
async def list_study_tokens(study: schemas.StudyId, server: ServerDep, caller: StudyAdmin) -> schemas.TokensResponse:
    """List the tokens of a study, without their secrets."""
    await server.require_study(study)
    return await _list(server, study)


@router.post("/studies/{study}/tokens", status_code=201, response_model=schemas.NewTokenResponse)
async def create_study_token(
    study: schemas.StudyId, body: schemas.CreateTokenRequest, server: ServerDep, caller: StudyAdmin
) -> dict[str, Any]:
    """Create a token for one study; its secret is shown only once."""
    await server.require_study(study)
    return await _create(server, study, body)


@router.delete("/studies/{study}/tokens/{token}", status_code=204)
async def revoke_study_token(study: schemas.StudyId, token: TokenId, server: ServerDep, caller: StudyAdmin) -> None:
    """Revoke a token of this study."""
    await server.require_study(study)
    await _revoke(server, token, study)


@router.post("/studies/{study}/links", status_code=201)
async def create_links(
    study: schemas.StudyId, body: schemas.CreateLinksRequest, request: Request, server: ServerDep, caller: StudyAdmin
) -> schemas.LinksResponse:
    """Create a personal link for each of these raters; it is shown only once."""
    await server.require_study(study)
    created: list[schemas.LinkSchema] = []
    for rater in body.raters:
        new = await asyncio.to_thread(create_token, server.storage, Scope.RATER, study, rater, "link", body.days)
        url = server.options.page_url(f"/rate/{study}#{new.secret}", str(request.base_url))
        created.append(schemas.LinkSchema(rater=rater, url=url, id=new.token.id, expires_at=new.token.expires_at))
    return schemas.LinksResponse(links=created)
