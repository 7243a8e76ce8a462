"""Files of arms: looked at, made into a study, added to one."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile

from duelist.server.auth import DeskHere, Owner, OwnerOfAll
from duelist.server.content import Shower
from duelist.server.errors import RequestError
from duelist.server.routes.studies import check_policy, summary
from duelist.server.schemas import common as shapes
from duelist.server.schemas.openapi import IN_STUDY, refusing
from duelist.server.schemas.readings import Preview
from duelist.server.uploads import folder, keep_parts

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


@router.post("/files/preview", responses=refusing(401, 403, 422, 501))
async def preview(desk: DeskHere, caller: OwnerOfAll, file: Files, plan: Plan = "{}") -> Preview:
    """What files are understood as; nothing is written."""
    chosen = _plan(plan)
    async with folder() as where:
        paths = [str(path) for path in await keep_parts(file, where)]
        found = await desk.errands.do("preview", None, {"paths": paths, "plan": chosen})
    show = Shower(0, (found["plan"].get("settings") or {}).get("show_as", "text"))
    for arm in found["arms"]:
        arm["content"] = show.arm(arm["payload"], arm["id"])
    return Preview.model_validate(found)


@router.post("/files/create", status_code=201, responses=refusing(401, 403, 409, 422, 501))
async def create(request: Request, desk: DeskHere, caller: OwnerOfAll, file: Files, plan: Plan) -> shapes.Study:
    """Make a study from files: all of it, or nothing."""
    chosen = _plan(plan)
    async with folder() as where:
        paths = [str(path) for path in await keep_parts(file, where)]
        made = await desk.errands.do("create", None, {"paths": paths, "plan": chosen})
    return await summary(desk, made, request)


@router.post("/studies/{study}/files", responses=IN_STUDY | refusing(501))
async def add(study: shapes.StudyId, desk: DeskHere, caller: Owner, file: Files, plan: Plan = "{}") -> shapes.Added:
    """Add the arms of files to a study, with features made as those of its first arms were."""
    await desk.check(study)
    chosen = _plan(plan)
    async with folder() as where:
        paths = [str(path) for path in await keep_parts(file, where)]
        found = await desk.errands.do("add", study, {"paths": paths, "plan": chosen})
    return shapes.Added.model_validate(found)
