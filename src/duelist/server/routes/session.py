"""Signing in and out, and registering."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials

from duelist.server.auth import (
    BEARER,
    OWNER_COOKIE,
    RATER_COOKIE,
    Caller,
    DeskHere,
    address_of,
    caller_of,
    csrf_of,
    hold_back,
    set_cookie,
    too_many,
    unknown_token,
)
from duelist.server.context import Desk
from duelist.server.errors import RequestError
from duelist.server.schemas import common as shapes
from duelist.server.schemas.openapi import IN_STUDY, PUBLIC, SIGNED_IN
from duelist.study import Study
from duelist.study.access import Scope, create_token, list_tokens, revoke_token

router = APIRouter(tags=["sessions"])
OfStudy = Annotated[int | None, Query(ge=1, le=shapes.LARGEST, description="For a rater's cookie: of which study.")]


@router.post("/session", responses=PUBLIC | {401: SIGNED_IN[401]})
async def sign_in(given: shapes.SignIn, request: Request, response: Response, desk: DeskHere) -> shapes.Session:
    """Exchange a token for a cookie."""
    address = address_of(request)
    if desk.failed_signing_in.is_empty(address):
        raise too_many(6.0)
    token = await desk.token(given.token)
    if token is None:
        desk.failed_signing_in.wait(address)
        raise unknown_token()
    set_cookie(response, token, given.token, desk.options.is_https)
    return await _session(desk, Caller(token, given.token, True))


@router.get("/session", responses=SIGNED_IN)
async def who_am_i(
    request: Request,
    desk: DeskHere,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
    study: OfStudy = None,
) -> shapes.Session:
    """Who is signed in, and what to send with what changes something."""
    return await _session(desk, await caller_of(request, desk, bearer, study))


@router.delete("/session", status_code=204, responses=PUBLIC)
async def sign_out(response: Response, desk: DeskHere, study: OfStudy = None) -> None:
    """Forget the cookie: the owner's, or a rater's of one study."""
    name = OWNER_COOKIE if study is None else f"{RATER_COOKIE}{study}"
    response.delete_cookie(name, path="/", secure=desk.options.is_https, httponly=True, samesite="strict")


def _first(request: Request, desk: DeskHere) -> None:
    hold_back(desk.registering, address_of(request))


@router.post("/studies/{study}/register", responses=IN_STUDY, dependencies=[Depends(_first)])
async def register(
    study: shapes.StudyId, given: shapes.Register, request: Request, response: Response, desk: DeskHere
) -> shapes.Session:
    """Become a rater of a study whose owner lets anybody in."""
    name = given.name or f"rater {secrets.token_hex(4)}"
    async with desk.study(study) as opened:
        is_open = opened.study.settings.open_registration
        known = is_open and await opened.read(Study.has_rater, name)
    if not is_open:
        raise RequestError(
            403, "not_allowed", "This study is not open to everybody.", "Ask its owner for a link of your own."
        )
    taken = RequestError(409, "name_taken", f"There is a rater {name!r} already.", "Choose another name.", "name")
    if known or await _has_token(desk, study, name):
        raise taken
    made = await asyncio.to_thread(create_token, desk.storage, Scope.RATER, study, name, "registered")
    # Whoever came at the same moment sees this token, or is seen here: never do two people have one name.
    if await _has_token(desk, study, name, besides=made.token.id):
        await asyncio.to_thread(revoke_token, desk.storage, made.token.id)
        raise taken
    set_cookie(response, made.token, made.secret, desk.options.is_https)
    return await _session(desk, Caller(made.token, made.secret, True))


async def _has_token(desk: Desk, study: int, name: str, besides: str | None = None) -> bool:
    tokens = await asyncio.to_thread(list_tokens, desk.storage, study)
    return any(token.rater == name and token.id != besides for token in tokens)


async def _name(desk: Desk, study: int) -> str:
    async with desk.study(study) as opened:
        return opened.study.name


async def _session(desk: Desk, caller: Caller) -> shapes.Session:
    token = caller.token
    name = None if token.study is None else await _name(desk, token.study)
    return shapes.Session(
        scope=token.scope.value,
        study=token.study,
        study_name=name,
        rater=token.rater,
        csrf=csrf_of(caller.secret),
        expires_at=token.expires_at,
    )
