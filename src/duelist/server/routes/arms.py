"""Arms: list, add, retire and activate them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from duelist.server.auth import ServerDep, StudyAdmin, StudyReader
from duelist.server.errors import RequestError
from duelist.server.http.bodies import MAX_JSON_ARMS, UPLOAD, BodyLimit, allow_body
from duelist.server.http.routing import CheckedRoute
from duelist.server.http.uploads import uploaded_file
from duelist.server.schemas import common as schemas
from duelist.server.schemas.analysis import LabelsResponse
from duelist.server.schemas.openapi import IN_STUDY, error_responses
from duelist.server.worker.arms import add_arms_to, read_as
from duelist.study import AsyncStudy, Study

router = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}", tags=["arms"], responses=IN_STUDY)
BATCH_SIZE = 1000
"""Arms of a stream per transaction, between which raters get their turn."""
_BATCH_BYTES = 8 * 2**20
_MAX_LINE_BYTES = 2**20


@router.get("/arms", response_model=schemas.ArmsResponse)
async def arms(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    after: Annotated[int | None, Query(ge=0, le=schemas.MAX_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    context: Annotated[schemas.Name | None, Query()] = None,
    search: Annotated[str | None, Query(max_length=200)] = None,
) -> dict[str, Any]:
    """Return a page of arms in the order they were added."""
    async with server.study(study) as opened:
        show = server.renderer(opened.study)
    given = {"after": after, "limit": limit, "context": context, "search": search}
    found = await server.worker.run_task(
        "arms", study, {name: value for name, value in given.items() if value is not None}
    )
    shown = [{**arm, "content": show.render_arm(arm["payload"], arm["id"])} for arm in found["arms"]]
    return {"arms": shown, "next": found["next"], "total": found["total"]}


@router.get("/arms/labels")
async def labels(study: schemas.StudyId, server: ServerDep, caller: StudyReader) -> LabelsResponse:
    """Return what names each arm to people: its id with the beginning of its text, and the address of its picture."""
    async with server.study(study) as opened:
        show = server.renderer(opened.study)
    found = await server.worker.run_task("labels", study, {})
    return LabelsResponse(
        labels={arm: [label, picture and show.address_of(picture)] for arm, (label, picture) in found["labels"].items()}
    )


@router.post(
    "/arms",
    responses=error_responses(401, 403, 404, 409, 415, 422),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": schemas.AddArmsRequest.model_json_schema(ref_template="#/components/schemas/{model}")
                },
                "application/x-ndjson": {"schema": {"type": "string", "description": "One arm per line, as JSON."}},
                "text/csv": {
                    "schema": {"type": "string", "description": "A table, as `duelist study add-items` reads it."}
                },
            },
        }
    },
)
async def add_arms(
    study: schemas.StudyId, request: Request, server: ServerDep, caller: StudyAdmin
) -> schemas.AddedArmsResponse:
    """Add arms as JSON or as a table, all or none; or as a stream of JSON lines of any length."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    async with server.study(study) as opened:
        if kind == "application/json":
            allow_body(request, BodyLimit(MAX_JSON_ARMS, UPLOAD.seconds), server.options.max_upload_bytes)
            async with uploaded_file(request, "arms.json") as path:
                found = await server.worker.run_task("add-json", study, {"path": str(path)})
            return schemas.AddedArmsResponse.model_validate(found)
        if kind in ("application/x-ndjson", "application/jsonl"):
            return await _add_stream(opened, request)
        if kind == "text/csv":
            async with uploaded_file(request, "arms.csv") as path:
                found = await server.worker.run_task("add", study, {"paths": [str(path)], "options": {}})
            return schemas.AddedArmsResponse.model_validate(found)
    raise RequestError(
        415,
        "unsupported_type",
        f"Arms cannot have the content type {kind!r}.",
        "Send application/json, application/x-ndjson or text/csv.",
    )


async def _add(opened: AsyncStudy, arms: list[schemas.NewArmSchema]) -> schemas.AddedArmsResponse:
    """Add arms of a stream."""
    added = await opened.write(lambda study: add_arms_to(study, schemas.AddArmsRequest(arms=arms, prompts=None)))
    return schemas.AddedArmsResponse(added=added, existing=len(arms) - added)


async def _add_stream(opened: AsyncStudy, request: Request) -> schemas.AddedArmsResponse:
    total = schemas.AddedArmsResponse(added=0, existing=0)
    batch: list[schemas.NewArmSchema] = []
    number, size = 0, 0
    async for line in _lines(request):
        number, size = number + 1, size + len(line)
        if not line.strip():
            continue
        try:
            batch.append(read_as(schemas.NewArmSchema, line))
        except RequestError as error:
            message = (
                f"Line {number}: {error.detail} {total.added + total.existing} arms of earlier lines have been added."
            )
            hint = "Correct the line, and send all of it again."
            raise RequestError(422, "invalid_input", message, hint, error.body["error"]["field"]) from error
        if len(batch) == BATCH_SIZE or size > _BATCH_BYTES:
            total = _sum(total, await _add(opened, batch))
            batch, size = [], 0
    return _sum(total, await _add(opened, batch)) if batch else total


def _sum(one: schemas.AddedArmsResponse, other: schemas.AddedArmsResponse) -> schemas.AddedArmsResponse:
    return schemas.AddedArmsResponse(added=one.added + other.added, existing=one.existing + other.existing)


async def _lines(request: Request) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in request.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if max(map(len, (rest, *whole))) > _MAX_LINE_BYTES:
            raise RequestError(413, "too_large", "A line is too long.", f"Give an arm at most {_MAX_LINE_BYTES} bytes.")
    if rest:
        yield rest


@router.post("/arms/retire")
async def retire(
    study: schemas.StudyId, body: schemas.ArmIdsRequest, server: ServerDep, caller: StudyAdmin
) -> schemas.ArmCountsResponse:
    """Retire arms: they are not asked about any more."""
    async with server.study(study) as opened:
        await opened.write(Study.retire, body.ids)
        return await _retired(opened)


@router.post("/arms/activate")
async def activate(
    study: schemas.StudyId, body: schemas.ArmIdsRequest, server: ServerDep, caller: StudyAdmin
) -> schemas.ArmCountsResponse:
    """Activate retired arms."""
    async with server.study(study) as opened:
        await opened.write(Study.activate, body.ids)
        return await _retired(opened)


async def _retired(opened: AsyncStudy) -> schemas.ArmCountsResponse:
    every = await opened.read(Study.arms)
    return schemas.ArmCountsResponse(arms=len(every), retired=sum(arm.retired for arm in every))
