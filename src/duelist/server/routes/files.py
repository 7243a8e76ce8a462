"""Files of items: preview them, create a study from them, add them to one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from pydantic import ValidationError

from duelist.core.errors import InvalidInput
from duelist.server.auth import ServerAdmin, ServerDep, StudyAdmin
from duelist.server.content import ContentRenderer
from duelist.server.errors import validation_error_from
from duelist.server.routes.studies import check_policy, creation_options, summary
from duelist.server.schemas import common as schemas
from duelist.server.schemas.analysis import PreviewResponse
from duelist.server.schemas.openapi import IN_STUDY, error_responses
from duelist.server.uploads import save_parts, temporary_folder

router = APIRouter(tags=["files of items"])
Files = Annotated[list[UploadFile], File(description="A table of items, JSON, or media files.", max_length=10_000)]
Plan = Annotated[
    str, Form(description="Choices that the server should not guess, as JSON; see docs/api.md.", max_length=1_000_000)
]


def _parse_plan(text: str) -> schemas.FilePlanRequest:
    try:
        plan = schemas.FilePlanRequest.model_validate_json(text or "{}")
    except ValidationError as error:
        raise validation_error_from(
            error.errors(include_url=False, include_context=False, include_input=False)
        ) from error
    check_policy(plan.policy)
    return plan


def _import_options(plan: schemas.FilePlanRequest) -> dict[str, Any]:
    return {"columns": plan.columns, "features": plan.features, "encoding": plan.encoding}


@router.post("/files/preview", responses=error_responses(401, 403, 422, 501))
async def preview(server: ServerDep, caller: ServerAdmin, file: Files, plan: Plan = "{}") -> PreviewResponse:
    """Return what an import of files would do, without writing anything."""
    file_plan = _parse_plan(plan)
    async with temporary_folder() as folder:
        paths = [str(path) for path in await save_parts(file, folder)]
        task = {"paths": paths, "options": _import_options(file_plan)}
        found = await server.worker.run_task("preview", None, task)
    given = file_plan.model_dump(exclude_unset=True)
    settings = {**found.pop("settings"), **(given.get("settings") or {})}
    found["plan"] = {**given, **({"settings": settings} if settings else {}), **found.pop("options")}
    renderer = ContentRenderer(0, settings.get("show_as", "text"))
    for item in found["items"]:
        item["content"] = renderer.render_arm(item["payload"], item["id"])
    return PreviewResponse.model_validate(found)


@router.post("/files/create", status_code=201, responses=error_responses(401, 403, 409, 422, 501))
async def create(
    request: Request, server: ServerDep, caller: ServerAdmin, file: Files, plan: Plan
) -> schemas.StudyResponse:
    """Create a study from files, all or nothing."""
    file_plan = _parse_plan(plan)
    if file_plan.name is None:
        raise InvalidInput("name is missing.", "Give the study a name.", field="name")
    goal, settings = creation_options(file_plan)
    given = {"name": file_plan.name, "policy": file_plan.policy, "goal": goal, "settings": settings}
    async with temporary_folder() as folder:
        paths = [str(path) for path in await save_parts(file, folder)]
        task = {"paths": paths, "options": _import_options(file_plan), **given}
        study_id = await server.worker.run_task("create", None, task)
    return await summary(server, study_id, request)


@router.post("/studies/{study}/files", responses=IN_STUDY | error_responses(501))
async def add(
    study: schemas.StudyId, server: ServerDep, caller: StudyAdmin, file: Files, plan: Plan = "{}"
) -> schemas.AddedArmsResponse:
    """Add the items of files to a study.

    Their features are made as those of its first items were.
    """
    await server.require_study(study)
    file_plan = _parse_plan(plan)
    async with temporary_folder() as folder:
        paths = [str(path) for path in await save_parts(file, folder)]
        found = await server.worker.run_task("add", study, {"paths": paths, "options": _import_options(file_plan)})
    return schemas.AddedArmsResponse.model_validate(found)
