"""Studies: create, change, delete, copy, archive and back up; options; events."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from duelist.core.serialization import to_plain
from duelist.policies import parse_policy, registered_policy
from duelist.server.auth import (
    ADMIN,
    BEARER,
    RATER,
    READER,
    Caller,
    ServerAdmin,
    ServerDep,
    StudyAdmin,
    StudyReader,
    authenticate,
    require_scope,
)
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.events import MAX_SUBSCRIBERS, MAX_SUBSCRIPTIONS, StudyEvents
from duelist.server.http.routing import CheckedRoute
from duelist.server.http.uploads import download_folder, file_response, uploaded_file
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import IN_STUDY, SIGNED_IN, Responses, error_responses
from duelist.study import GOALS, SERVICES, Study, StudySettings, create_study, delete_study, policy_names
from duelist.study.administration.archive import read_manifest
from duelist.study.formats import FORMATS
from duelist.study.items.features import FEATURE_KINDS
from duelist.study.languages import LANGUAGES, load_catalogue
from duelist.study.participation.recruiting import ENDINGS, Ending

router = APIRouter(route_class=CheckedRoute, tags=["studies"])
_FILE: Responses = {200: {"content": {"application/octet-stream": {}}, "description": "The file."}}


def check_policy(policy: str | None) -> None:
    """Raise InvalidInput for a policy that is not registered; a request must not import a module."""
    if policy is not None:
        parse_policy(policy, registered_policy)


def creation_options(
    given: schemas.CreateStudyRequest | schemas.FilePlanRequest,
) -> tuple[str | None, dict[str, Any]]:
    """Return the goal and the settings with which a study is created."""
    settings = {} if given.settings is None else given.settings.model_dump(exclude_unset=True)
    if settings.get("arm_effects") is None:
        settings.pop("arm_effects", None)  # the goal decides
    other_goal = settings.pop("goal", None)
    return given.goal or other_goal, settings


async def summary(
    server: ServerContext, study_id: int, request: Request, with_codes: bool = True
) -> schemas.StudyResponse:
    """Return the summary of a study, with completion codes or without."""
    rows = {row.id: row for row in await asyncio.to_thread(server.storage.list_studies)}
    if study_id not in rows:
        server.forget_study(study_id)
        await server.require_study(study_id)  # raises UnknownStudy
    return _study_response(rows[study_id], server, request, with_codes)


def _study_response(row: Any, server: ServerContext, request: Request, with_codes: bool) -> schemas.StudyResponse:
    settings = {name: value for name, value in to_plain(row.settings).items() if name not in ("gold", "feature_recipe")}
    if not with_codes:  # they are worth money to participants, and a shared link of results has a reader's token
        settings["recruiting"] |= dict.fromkeys(ENDINGS, to_plain(Ending()))
    return schemas.StudyResponse(
        id=row.id,
        name=row.name,
        state=row.state.value,
        created_at=datetime.fromtimestamp(row.created_at / 1e6, UTC),
        arms=row.counters.n_arms,
        duels=row.counters.n_duels,
        votes=row.counters.n_votes,
        settings=settings,
        rate_url=server.options.page_url(f"/rate/{row.id}", str(request.base_url)),
    )


@router.get("/studies", responses=SIGNED_IN)
async def studies(
    request: Request,
    server: ServerDep,
    caller: Annotated[Caller, Depends(require_scope(ADMIN, READER, any_study=True))],
    archived: Annotated[bool, Query(description="Also list archived studies.")] = False,
) -> schemas.StudiesResponse:
    """List the studies that the token may see, oldest first."""
    rows = await asyncio.to_thread(server.storage.list_studies)
    own = caller.token.study
    shown = [row for row in rows if (own is None or row.id == own) and (archived or row.state != "archived")]
    with_codes = caller.token.scope is ADMIN
    return schemas.StudiesResponse(studies=[_study_response(row, server, request, with_codes) for row in shown])


@router.post("/studies", status_code=201, responses=error_responses(401, 403, 409, 422))
async def create(
    body: schemas.CreateStudyRequest, request: Request, server: ServerDep, caller: ServerAdmin
) -> schemas.StudyResponse:
    """Create a study."""
    check_policy(body.policy)
    goal, settings = creation_options(body)

    def make() -> int:
        return create_study(body.name, server.storage, body.policy, body.load_if_exists, goal, **settings).id

    return await summary(server, await asyncio.to_thread(make), request)


@router.get("/studies/{study}", responses=IN_STUDY)
async def read(
    study: schemas.StudyId, request: Request, server: ServerDep, caller: StudyReader
) -> schemas.StudyResponse:
    """Return a study. Completion codes and their addresses are for admins."""
    return await summary(server, study, request, with_codes=caller.token.scope is ADMIN)


@router.patch("/studies/{study}", responses=IN_STUDY)
async def change(
    study: schemas.StudyId, body: schemas.UpdateStudyRequest, request: Request, server: ServerDep, caller: StudyAdmin
) -> schemas.StudyResponse:
    """Change settings, name and state of a study, in this order."""
    async with server.study(study) as opened:
        if body.settings is not None:
            changes = body.settings.model_dump(exclude_unset=True)
            await opened.write(lambda opened: opened.change(**changes))
        if body.name is not None:
            await opened.write(Study.rename, body.name)
        if body.state is not None:
            verb = {"open": Study.open, "paused": Study.pause, "ended": Study.end, "archived": Study.archive}
            await opened.write(verb[body.state])
    return await summary(server, study, request)


@router.delete("/studies/{study}", status_code=204, responses=IN_STUDY)
async def delete(
    study: schemas.StudyId,
    server: ServerDep,
    caller: ServerAdmin,
    confirm: Annotated[str, Query(description="The name of the study, as a confirmation.")] = "",
) -> None:
    """Delete a study and all its votes permanently."""
    async with server.study(study) as opened:
        name = opened.study.name
    if confirm != name:
        raise RequestError(
            409, "confirm", "This deletes the study and all its votes.", f"Send confirm={name!r}.", "confirm"
        )
    await asyncio.to_thread(delete_study, name, server.storage)
    server.forget_study(study)


@router.post("/studies/restore", status_code=201, responses=error_responses(401, 403, 409, 422))
async def restore(
    request: Request, server: ServerDep, caller: ServerAdmin, name: Annotated[schemas.Name | None, Query()] = None
) -> schemas.StudyResponse:
    """Create a study from an archive in the body."""
    async with uploaded_file(request, "study.duelist") as path:
        manifest = await asyncio.to_thread(read_manifest, path)
        check_policy(manifest.settings.policy)
        study_id = await server.worker.run_task("restore", None, {"path": str(path), "name": name})
    return await summary(server, study_id, request)


@router.post("/studies/{study}/copy", status_code=201, responses=IN_STUDY)
async def copy(
    study: schemas.StudyId, body: schemas.CopyStudyRequest, request: Request, server: ServerDep, caller: ServerAdmin
) -> schemas.StudyResponse:
    """Copy a study."""
    await server.require_study(study)
    return await summary(server, await server.worker.run_task("copy", study, {"name": body.name}), request)


@router.get("/studies/{study}/archive", response_class=FileResponse, responses=IN_STUDY | _FILE)
async def archive(study: schemas.StudyId, server: ServerDep, caller: StudyAdmin) -> FileResponse:
    """Download a study as an archive."""
    async with server.study(study) as opened:
        name = opened.study.name
    return await _download(server, "archive", study, f"{name}.duelist")


@router.get("/backup", response_class=FileResponse, responses=error_responses(401, 403) | _FILE)
async def backup(server: ServerDep, caller: ServerAdmin) -> FileResponse:
    """Download all studies as one SQLite file."""
    return await _download(server, "backup", None, f"duelist-{datetime.now(UTC):%Y-%m-%d}.db")


async def _download(server: ServerContext, task: str, study: int | None, name: str) -> FileResponse:
    async with download_folder() as folder:
        path = folder / f"{task}{Path(name).suffix}"
        await server.worker.run_task(task, study, {"path": str(path)})
        return file_response(path, name, "application/octet-stream")


@router.get("/choices", responses=SIGNED_IN)
async def choices(
    caller: Annotated[Caller, Depends(require_scope(ADMIN, READER, RATER, any_study=True))],
) -> dict[str, Any]:
    """List goals, policies, formats, kinds of features, languages and default settings."""
    defaults = to_plain(StudySettings(policy=""))
    names = [field.name for field in fields(StudySettings) if field.name not in ("policy", "gold", "feature_recipe")]
    return {
        "goals": [to_plain(goal) for goal in GOALS.values()],
        "policies": policy_names(),
        "formats": [{"name": f.name, "summary": f.summary, "read": f.read is not None} for f in FORMATS.values()],
        "features": [
            to_plain(kind) | {"available": kind.is_installed, "missing": kind.missing} for kind in FEATURE_KINDS
        ],
        "languages": [{"code": code, "name": load_catalogue(code)["language.name"]} for code in LANGUAGES],
        "settings": {name: defaults[name] for name in names},
        "services": [to_plain(each) for each in SERVICES.values()],
    }


@router.get("/languages/{language}", responses=SIGNED_IN)
async def sentences(
    language: Literal["en", "de", "fr", "es", "pt", "zh", "ar"],
    caller: Annotated[Caller, Depends(require_scope(ADMIN, READER, RATER, any_study=True))],
) -> dict[str, str | dict[str, str]]:
    """Return the sentences of the rater page in a language, by key."""
    return load_catalogue(language)


@router.get(
    "/studies/{study}/events",
    response_class=StreamingResponse,
    responses=IN_STUDY | {200: {"content": {"text/event-stream": {}}, "description": "One event per change."}},
)
async def events(study: schemas.StudyId, request: Request, server: ServerDep, caller: StudyReader) -> StreamingResponse:
    """Stream changes of a study as server-sent events."""
    changes = await server.events(study)
    if len(changes) >= MAX_SUBSCRIBERS or server.open_streams[caller.token.id] >= MAX_SUBSCRIPTIONS:
        raise RequestError(
            429,
            "too_many_requests",
            f"Too many event streams are open: at most {MAX_SUBSCRIBERS} per study and {MAX_SUBSCRIPTIONS} per token.",
            "Close a dashboard.",
            headers={"Retry-After": "30"},
        )
    return _EventStream(server, request, caller.token.id, changes)


class _EventStream(StreamingResponse):
    """The events of a study, counted while they are open."""

    def __init__(self, server: ServerContext, request: Request, token_id: str, changes: StudyEvents) -> None:
        super().__init__(
            _events(server, request, changes),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
        )
        self._server, self._token_id = server, token_id
        server.open_streams[token_id] += 1
        server.metrics.listening.inc()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._server.open_streams -= Counter([self._token_id])  # without those that have none left
            self._server.metrics.listening.dec()


async def _events(server: ServerContext, request: Request, changes: StudyEvents) -> AsyncIterator[str]:
    """Yield events until the token or the session that asked for them ends."""

    async def is_allowed() -> bool:
        try:
            await authenticate(request, server, await BEARER(request), None)
        except RequestError:
            return False
        return True

    async with aclosing(changes.subscribe(server.stopping, is_allowed)) as stream:
        async for event in stream:
            yield event
