"""Plans of studies before their first vote."""

from __future__ import annotations

from fastapi import APIRouter

from duelist.server.auth import ServerAdmin, ServerDep
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas.openapi import error_responses
from duelist.server.schemas.planning import StudyPlanRequest, StudyPlanResponse

router = APIRouter(route_class=CheckedRoute, tags=["studies"])


@router.post("/plan", responses=error_responses(401, 403, 422))
async def plan(body: StudyPlanRequest, server: ServerDep, caller: ServerAdmin) -> StudyPlanResponse:
    """Simulate studies, and return how many votes such a study needs and its chance of a decision."""
    return StudyPlanResponse.model_validate(await server.worker.run_task("plan", None, body.model_dump()))
