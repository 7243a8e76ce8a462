"""Live comparison: a rater brings a prompt, two systems answer it; their names are shown after the vote."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query

from duelist.core.errors import SystemFailed
from duelist.server.auth import ServerDep, StudyRater, enforce_rate_limit
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.monitoring.logs import log_event
from duelist.server.routes.rating import duel_response, given_number
from duelist.server.schemas import common as schemas
from duelist.server.schemas.live import LiveRequest, RevealResponse
from duelist.server.schemas.openapi import IN_STUDY
from duelist.study import AsyncStudy, HttpSystem, Study, ask_live
from duelist.study.asking.live import revealed_systems

router = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}/live", tags=["rating"], responses=IN_STUDY)


@router.post("")
async def ask(study: schemas.StudyId, body: LiveRequest, caller: StudyRater, server: ServerDep) -> schemas.DuelResponse:
    """Let two systems answer a prompt, and return their answers as a duel, without names."""
    async with server.study(study) as opened:
        systems = _systems(opened, server.options.live)
        enforce_rate_limit(server.live_limiter, caller.token.id)
        if not caller.is_privileged:
            await opened.read(Study.check_steps, caller.rater(body.rater))
        secret = b"" if caller.is_privileged else server.secret
        call = partial(ask_live, opened.study, body.prompt, caller.rater(body.rater), systems, secret=secret)
        try:
            duel = await asyncio.get_running_loop().run_in_executor(server.live_threads, call)
        except SystemFailed as error:
            log_event("system failed", logging.WARNING, study=study, error=error.message)
            raise
        return duel_response(duel, server, opened.study, caller)


@router.get("/{duel}")
async def reveal(
    study: schemas.StudyId,
    duel: Annotated[int, Path(ge=1, le=schemas.MAX_ID)],
    caller: StudyRater,
    server: ServerDep,
    rater: Annotated[schemas.Name | None, Query()] = None,
) -> RevealResponse:
    """Return the systems of a duel to the rater who has voted on it."""
    async with server.study(study) as opened:
        _systems(opened, server.options.live)
        first, second = await opened.read(
            revealed_systems, given_number(server, caller, study, duel), caller.rater(rater)
        )
    return RevealResponse(first=first, second=second)


def _systems(opened: AsyncStudy, live: Mapping[str, Mapping[str, HttpSystem]]) -> dict[str, HttpSystem]:
    """Return the systems that answer in this study."""
    if opened.name not in live:
        raise RequestError(404, "not_found", "No systems answer live in this study.", "Ask for a pair instead.")
    return dict(live[opened.name])
