"""Sessions: sign in, sign out and register."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials

from duelist.core.serialization import to_plain
from duelist.server.auth import (
    BEARER,
    OWNER_COOKIE,
    RATER_COOKIE,
    Caller,
    ServerDep,
    authenticate,
    client_address,
    cookie_header,
    end_session,
    enforce_rate_limit,
    is_embedded,
    is_https,
    start_session,
    unknown_token,
)
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.monitoring.audit import CALLER
from duelist.server.schemas import common as schemas
from duelist.server.schemas import participation
from duelist.server.schemas.openapi import IN_STUDY, PUBLIC, SIGNED_IN
from duelist.study import Study, StudyState
from duelist.study.administration.tokens import Scope, create_token, list_tokens, token_hash
from duelist.study.validation import checked_rater

router = APIRouter(route_class=CheckedRoute, tags=["sessions"])
RaterStudy = Annotated[int | None, Query(ge=1, le=schemas.MAX_ID, description="The study of a rater's cookie.")]


def _check_origin(request: Request, server: ServerDep) -> None:
    """Raise an error for a page of another site, which could sign its visitors in as another user."""
    origin = request.headers.get("origin")
    if not server.options.allows_origin(origin, request.headers["host"]):
        shown = (origin or "")[:200]
        raise RequestError(403, "csrf", f"A page of {shown!r} cannot sign in here.", "Sign in on this server's page.")


_SAME_ORIGIN = Depends(_check_origin)


@router.post("/session", responses=SIGNED_IN, dependencies=[_SAME_ORIGIN])
async def sign_in(body: schemas.SignInRequest, request: Request, server: ServerDep) -> schemas.SessionResponse:
    """Exchange a token for a cookie. Only failures are limited by address: people behind one address do not lock each other out."""
    token = await server.find_token(body.token)
    if token is None:
        enforce_rate_limit(server.sign_in_limiter, client_address(request))
        raise unknown_token()
    caller = await start_session(request, server, token, token_hash(body.token))
    request.scope[CALLER] = caller
    return await _session(server, caller)


@router.get("/session", responses=SIGNED_IN)
async def get_session(
    request: Request,
    server: ServerDep,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
    study: RaterStudy = None,
) -> schemas.SessionResponse:
    """Return the signed-in user and the CSRF token for changes."""
    return await _session(server, await authenticate(request, server, bearer, study))


@router.delete("/session", status_code=204, responses=PUBLIC)
async def sign_out(request: Request, response: Response, server: ServerDep, study: RaterStudy = None) -> None:
    """End the session of the owner, or of a rater of one study, and delete its cookie."""
    name = OWNER_COOKIE if study is None else f"{RATER_COOKIE}{study}"
    await end_session(request, server, name)
    cookie = cookie_header(name, "", is_https(request, server), await is_embedded(server, study))
    response.headers.append("set-cookie", cookie.decode())


def _limit_registrations(request: Request, server: ServerDep) -> None:
    enforce_rate_limit(server.registration_limiter, client_address(request))


@router.post(
    "/studies/{study}/register", responses=IN_STUDY, dependencies=[_SAME_ORIGIN, Depends(_limit_registrations)]
)
async def register(
    study: schemas.StudyId, body: schemas.RegisterRequest, request: Request, server: ServerDep
) -> schemas.SessionResponse:
    """Register as a rater of a study that is open to anyone; one who came with a participant's id may come back with it."""
    async with server.study(study) as opened:
        entry = await opened.write(Study.entry, body.parameters)
        if not entry.is_open_to_anyone:
            raise RequestError(
                403, "not_allowed", "This study is not open for registration.", "Ask its owner for a personal link."
            )
        if entry.needs_participant and entry.rater is None:
            raise RequestError(
                422,
                "participant_missing",
                "The address has no participant's id.",
                "Open the study from the page of the recruiting service.",
                "parameters",
            )
        name = checked_rater(entry.rater or body.name or f"rater {secrets.token_hex(4)}")
        taken = RequestError(409, "name_taken", f"There is a rater {name!r} already.", "Choose another name.", "name")
        if not entry.returns and await _has_token(server, study, name):
            raise taken
        await opened.write(Study.enter, name, body.parameters)
    created = await asyncio.to_thread(create_token, server.storage, Scope.RATER, study, name, "registered")
    return await _session(server, await start_session(request, server, created.token, token_hash(created.secret)))


def _limit_visits(request: Request, server: ServerDep) -> None:
    """Raise an error for very many visits; apart from registrations, so that a classroom can do both."""
    enforce_rate_limit(server.address_limiter, client_address(request))


@router.post("/studies/{study}/entry", responses=IN_STUDY, dependencies=[Depends(_limit_visits)])
async def entry(
    study: schemas.StudyId, body: participation.EntryRequest, server: ServerDep
) -> participation.EntryResponse:
    """Say whether and how a person without a personal link may enter."""
    async with server.study(study) as opened:
        found = await opened.write(Study.entry, body.parameters)
    is_public = found.is_open_to_anyone
    return participation.EntryResponse(
        may_enter=is_public and found.state is StudyState.OPEN,
        is_open_to_anyone=is_public,
        needs_participant=is_public and found.needs_participant and found.rater is None,
        asks_name=is_public and found.asks_name and not found.needs_participant,
        departure=participation.DepartureSchema.model_validate(to_plain(found.departure))
        if is_public and found.departure
        else None,
    )


async def _has_token(server: ServerContext, study: int, name: str) -> bool:
    tokens = await asyncio.to_thread(list_tokens, server.storage, study)
    return any(token.rater == name for token in tokens)


async def _name(server: ServerContext, study: int) -> str:
    async with server.study(study) as opened:
        return opened.study.name


async def _session(server: ServerContext, caller: Caller) -> schemas.SessionResponse:
    token = caller.token
    name = None if token.study is None else await _name(server, token.study)
    return schemas.SessionResponse(
        scope=token.scope.value,
        study=token.study,
        study_name=name,
        rater=token.rater,
        csrf=caller.csrf,
        expires_at=token.expires_at,
    )
