"""Files of arms: looked at, made into a study, added to one."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile

from duelist.server.auth import ServerAdmin, ServerDep, StudyAdmin
from duelist.server.content import ContentRenderer
from duelist.server.errors import RequestError
from duelist.server.routes.studies import check_policy, summary
from duelist.server.schemas import common as schemas
from duelist.server.schemas.analysis import PreviewResponse
from duelist.server.schemas.openapi import IN_STUDY, error_responses
from duelist.server.uploads import save_parts, temporary_folder

router = APIRouter(tags=["files of arms"])
Files = Annotated[list[UploadFile], File(description="A table of arms, JSON, or media files.", max_length=10_000)]
Plan = Annotated[str, Form(description="What is not to be guessed: JSON, see docs/api.md.", max_length=1_000_000)]
_LISTED = ("name", "goal", "policy", "settings", "columns", "features", "encoding")


def _plan(text: str) -> dict[str, Any]:
    try:
        plan = json.loads(text or "{}")
    except ValueError as error:
        raise RequestError(422, "invalid_input", f"plan is not JSON: {error}.", "Send an object.", "plan") from error
    if not isinstance(plan, dict) or not all(
        isinstance(plan.get(part) or {}, dict) for part in ("settings", "columns", "features")
    ):
        raise RequestError(
            422, "invalid_input", "plan is not an object of objects.", f"It may have {', '.join(_LISTED)}.", "plan"
        )
    wanted = plan.get("settings") or {}
    if "feature_recipe" in wanted or "gold" in wanted:
        raise RequestError(
            422, "invalid_input", "plan.settings has what the server makes itself.", "Leave it out.", "plan"
        )
    check_policy(plan.get("policy"))
    return plan


@router.post("/files/preview", responses=error_responses(401, 403, 422, 501))
async def preview(server: ServerDep, caller: ServerAdmin, file: Files, plan: Plan = "{}") -> PreviewResponse:
    """What files are understood as; nothing is written."""
    chosen = _plan(plan)
    async with temporary_folder() as where:
        paths = [str(path) for path in await save_parts(file, where)]
        found = await server.worker.run_task("preview", None, {"paths": paths, "plan": chosen})
    show = ContentRenderer(0, (found["plan"].get("settings") or {}).get("show_as", "text"))
    for arm in found["arms"]:
        arm["content"] = show.render_arm(arm["payload"], arm["id"])
    return PreviewResponse.model_validate(found)


@router.post("/files/create", status_code=201, responses=error_responses(401, 403, 409, 422, 501))
async def create(
    request: Request, server: ServerDep, caller: ServerAdmin, file: Files, plan: Plan
) -> schemas.StudyResponse:
    """Make a study from files: all of it, or nothing."""
    chosen = _plan(plan)
    async with temporary_folder() as where:
        paths = [str(path) for path in await save_parts(file, where)]
        made = await server.worker.run_task("create", None, {"paths": paths, "plan": chosen})
    return await summary(server, made, request)


@router.post("/studies/{study}/files", responses=IN_STUDY | error_responses(501))
async def add(
    study: schemas.StudyId, server: ServerDep, caller: StudyAdmin, file: Files, plan: Plan = "{}"
) -> schemas.AddedArmsResponse:
    """Add the arms of files to a study, with features made as those of its first arms were."""
    await server.require_study(study)
    chosen = _plan(plan)
    async with temporary_folder() as where:
        paths = [str(path) for path in await save_parts(file, where)]
        found = await server.worker.run_task("add", study, {"paths": paths, "plan": chosen})
    return schemas.AddedArmsResponse.model_validate(found)
