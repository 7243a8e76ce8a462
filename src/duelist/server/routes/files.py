"""Files of items: preview them, create a study from them, add them to one."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError

from duelist.core.errors import InvalidInput
from duelist.server.auth import ServerAdmin, ServerDep, StudyAdmin
from duelist.server.content import ContentRenderer
from duelist.server.errors import validation_error_from
from duelist.server.http.bodies import parse_json
from duelist.server.http.forms import FORM_SCHEMA, UploadedForm, uploaded_form
from duelist.server.http.routing import CheckedRoute
from duelist.server.routes.studies import check_policy, creation_options, summary
from duelist.server.schemas import common as schemas
from duelist.server.schemas.analysis import PreviewResponse
from duelist.server.schemas.openapi import IN_STUDY, error_responses

router = APIRouter(route_class=CheckedRoute, tags=["files of items"])


def _parse_plan(text: bytes) -> schemas.FilePlanRequest:
    try:
        plan = schemas.FilePlanRequest.model_validate(parse_json(text))
    except ValidationError as error:
        raise validation_error_from(
            error.errors(include_url=False, include_context=False, include_input=False)
        ) from error
    check_policy(plan.policy)
    return plan


def _import_options(plan: schemas.FilePlanRequest) -> dict[str, Any]:
    return {"columns": plan.columns, "features": plan.features, "encoding": plan.encoding, "systems": plan.systems}


def _task(form: UploadedForm, plan: schemas.FilePlanRequest) -> dict[str, Any]:
    options = {"columns": plan.columns, "features": plan.features, "encoding": plan.encoding}
    return {"paths": [str(path) for path in form.paths], "options": options}


@router.post("/files/preview", responses=error_responses(401, 403, 415, 422, 501), openapi_extra=FORM_SCHEMA)
async def preview(request: Request, server: ServerDep, caller: ServerAdmin) -> PreviewResponse:
    """Return what an import of files would do, without writing anything."""
    async with uploaded_form(request) as form:
        file_plan = _parse_plan(form.plan)
        found = await server.worker.run_task("preview", None, _task(form, file_plan))
    given = file_plan.model_dump(exclude_unset=True)
    settings = {**found.pop("settings"), **(given.get("settings") or {})}
    found["plan"] = {**given, **({"settings": settings} if settings else {}), **found.pop("options")}
    renderer = ContentRenderer(0, settings.get("show_as", "text"))
    for item in found["items"]:
        item["content"] = renderer.render_arm(item["payload"], item["id"])
    return PreviewResponse.model_validate(found)


@router.post(
    "/files/create", status_code=201, responses=error_responses(401, 403, 409, 415, 422, 501), openapi_extra=FORM_SCHEMA
)
async def create(request: Request, server: ServerDep, caller: ServerAdmin) -> schemas.StudyResponse:
    """Create a study from files, all or nothing."""
    async with uploaded_form(request) as form:
        file_plan = _parse_plan(form.plan)
        if file_plan.name is None:
            raise InvalidInput("name is missing.", "Give the study a name.", field="name")
        goal, settings = creation_options(file_plan)
        given = {"name": file_plan.name, "policy": file_plan.policy, "goal": goal, "settings": settings}
        study_id = await server.worker.run_task("create", None, {**_task(form, file_plan), **given})
    return await summary(server, study_id, request)


@router.post("/studies/{study}/files", responses=IN_STUDY | error_responses(415, 501), openapi_extra=FORM_SCHEMA)
async def add(
    study: schemas.StudyId, request: Request, server: ServerDep, caller: StudyAdmin
) -> schemas.AddedArmsResponse:
    """Add the items of files to a study.

    Their features are made as those of its first items were.
    """
    await server.require_study(study)
    async with uploaded_form(request) as form:
        found = await server.worker.run_task("add", study, _task(form, _parse_plan(form.plan)))
    return schemas.AddedArmsResponse.model_validate(found)
