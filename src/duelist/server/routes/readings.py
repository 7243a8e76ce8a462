"""Everything that can be read of a study: `duelist.server.worker.readings` makes it, in the back office."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import FileResponse

from duelist.server.auth import Owner, ServerDep, StudyReader
from duelist.server.context import ServerContext
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import IN_STUDY
from duelist.server.schemas.readings import (
    CanStopResponse,
    ContextsResponse,
    ExplanationResponse,
    HistoryResponse,
    LogResponse,
    ProgressResponse,
    QueueResponse,
    RatersResponse,
    RecommendationResponse,
    WinChancesResponse,
    WinMatrixResponse,
)
from duelist.server.uploads import download_folder, safe_name, sent, uploaded
from duelist.study.analysis import Calibration, Leaderboard, RegretEstimate
from duelist.study.formats import get_format

router = APIRouter(prefix="/studies/{study}", tags=["readings"])
Top = Annotated[int | None, Query(ge=1, le=100_000, description="Only the best so many.")]
Delta = Annotated[float, Query(gt=0, lt=1, description="The error rate.")]
Ridge = Annotated[float | None, Query(gt=0, le=1e6, description="1 / the variance of the prior.")]
Name = Annotated[schemas.Name | None, Query()]
_MAX_ID = schemas.MAX_ID


def _scope(
    context: Annotated[schemas.Name | None, Query(description="Only this group of arms.")] = None,
    criterion: Annotated[schemas.Name | None, Query(description="Which question; the first by default.")] = None,
    without: Annotated[list[schemas.Name] | None, Query(description="Raters to leave out, too.")] = None,
    everyone: Annotated[bool, Query(description="Count raters who are left out.")] = False,
    retired: Annotated[bool, Query(description="Rank retired arms, too.")] = False,
) -> dict[str, Any]:
    given = {"context": context, "criterion": criterion, "without": without, "everyone": everyone, "retired": retired}
    return {name: value for name, value in given.items() if value not in (None, False)}


Scope = Annotated[dict[str, Any], Depends(_scope)]


def _certainty(
    delta: Delta = 0.05,
    tolerance: Annotated[float, Query(ge=0, description="How much better another arm may be.")] = 0.0,
    unit: Annotated[Literal["utility", "chance"], Query(description="What the tolerance is in.")] = "utility",
) -> dict[str, Any]:
    return {"delta": delta, "tolerance": tolerance, "unit": unit}


Certain = Annotated[dict[str, Any], Depends(_certainty)]
Have = Annotated[str | None, Header(alias="If-None-Match")]


def _documented(model: Any) -> dict[int | str, dict[str, Any]]:
    unchanged = {304: {"description": "Nothing has changed since the answer with that ETag."}}
    return IN_STUDY | {200: {"model": model, "description": "The reading."}} | unchanged


async def _answer(
    server: ServerContext, study: int, reading: str, given: dict[str, Any], have: str | None = None, **more: Any
) -> Response:
    await server.check(study)
    wanted = given | {name: value for name, value in more.items() if value is not None}
    seen = have.strip('W/"') if have else None
    found = await server.worker.read(study, reading, wanted, seen)
    headers = {"ETag": f'W/"{found.stamp}"', "Cache-Control": "no-cache"} if found.stamp else {}
    if found.body is None:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type="application/json", headers=headers)


@router.get("/leaderboard", responses=_documented(Leaderboard))
async def leaderboard(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    scope: Scope,
    have: Have = None,
    top: Top = None,
    level: Annotated[float | None, Query(gt=0, lt=1, description="Of the intervals.")] = None,
    ridge: Ridge = None,
) -> Response:
    """Arms by utility, with intervals, rank ranges and the chance of being best."""
    return await _answer(server, study, "leaderboard", scope, have, top=top, level=level, ridge=ridge)


@router.get("/can-stop", responses=_documented(CanStopResponse))
async def can_stop(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    scope: Scope,
    certainty: Certain,
    have: Have = None,
    goal: Literal["best", "rank", "learn", "serve"] | None = None,
    top: Annotated[
        int | None,
        Query(ge=1, le=100_000, description="How many places the goal rank is about; the study's own, else all."),
    ] = None,
) -> Response:
    """Whether there are votes enough, in one sentence, and how many are still expected."""
    return await _answer(server, study, "can-stop", scope, have, goal=goal, top=top, **certainty)


@router.get("/recommend", responses=_documented(RecommendationResponse))
async def recommend(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, certainty: Certain, have: Have = None
) -> Response:
    """The arm to name now, and those that are not ruled out."""
    return await _answer(server, study, "recommend", scope, have, **certainty)


@router.get("/progress", responses=_documented(ProgressResponse))
async def progress(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, certainty: Certain, have: Have = None
) -> Response:
    """How near the study is to knowing its best arm."""
    return await _answer(server, study, "progress", scope, have, **certainty)


@router.get("/win-matrix", responses=_documented(WinMatrixResponse))
async def win_matrix(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, have: Have = None, top: Top = None
) -> Response:
    """Who won against whom, arms in the order of their rank."""
    return await _answer(server, study, "win-matrix", scope, have, top=top)


@router.get("/win-chances", responses=_documented(WinChancesResponse))
async def win_chances(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, have: Have = None, top: Top = 100
) -> Response:
    """Who would win against whom, and the chance of a tie."""
    return await _answer(server, study, "win-chances", scope, have, top=top)


@router.get("/history", responses=_documented(HistoryResponse))
async def history(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    scope: Scope,
    have: Have = None,
    points: Annotated[int | None, Query(ge=2, le=500)] = None,
    top: Top = None,
) -> Response:
    """The chance of being best, vote by vote."""
    return await _answer(server, study, "history", scope, have, points=points, top=top)


@router.get("/calibration", responses=_documented(Calibration))
async def calibration(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    scope: Scope,
    have: Have = None,
    bins: Annotated[int | None, Query(ge=1, le=100)] = None,
) -> Response:
    """Whether votes come out as often as predicted."""
    return await _answer(server, study, "calibration", scope, have, bins=bins)


@router.get("/regret", responses=_documented(RegretEstimate))
async def regret(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, have: Have = None
) -> Response:
    """What the policy's choices cost, by those that chance made."""
    return await _answer(server, study, "regret", scope, have)


@router.get("/raters", responses=_documented(RatersResponse))
async def raters(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, scope: Scope, have: Have = None
) -> Response:
    """Pace, side, agreement with others, with oneself and with known answers, and who stands out."""
    return await _answer(server, study, "raters", scope, have)


@router.get("/queue", responses=_documented(QueueResponse))
async def queue(study: schemas.StudyId, server: ServerDep, caller: StudyReader) -> Response:
    """What is out, and what came back."""
    return await _answer(server, study, "queue", {})


@router.get("/log", responses=_documented(LogResponse))
async def log(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    have: Have = None,
    before: Annotated[int | None, Query(ge=1, le=_MAX_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    rater: Name = None,
    arm: Name = None,
    outcome: schemas.OutcomeName | None = None,
    context: Name = None,
    criterion: Name = None,
    kind: Literal["normal", "gold", "repeat"] | None = None,
) -> Response:
    """The log, newest first."""
    wanted = {"rater": rater, "arm": arm, "outcome": outcome, "context": context, "criterion": criterion, "kind": kind}
    return await _answer(server, study, "log", {}, have, before=before, limit=limit, **wanted)


@router.get("/duels/{duel}/explanation", responses=_documented(ExplanationResponse))
async def explanation(
    study: schemas.StudyId,
    duel: Annotated[int, Path(ge=1, le=_MAX_ID)],
    server: ServerDep,
    caller: StudyReader,
    have: Have = None,
) -> Response:
    """Why a pair was asked."""
    return await _answer(server, study, "explanation", {"duel": duel}, have)


@router.get("/contexts", responses=_documented(ContextsResponse))
async def contexts(study: schemas.StudyId, server: ServerDep, caller: StudyReader, have: Have = None) -> Response:
    """The groups of arms, and what they are."""
    return await _answer(server, study, "contexts", {}, have)


@router.get(
    "/export/{form}",
    response_class=FileResponse,
    responses=IN_STUDY | {200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
)
async def export(
    study: schemas.StudyId,
    form: Annotated[str, Path(max_length=50)],
    request: Request,
    server: ServerDep,
    caller: StudyReader,
) -> FileResponse:
    """The votes, for other tools; the options of the format are parameters of the query."""
    get_format(form)
    async with server.study(study) as opened:
        name = opened.study.name
    words = {"true": True, "false": False}
    options = {key: words.get(value, value) for key, value in request.query_params.items()}
    ending = {"csv": "csv", "evalica": "csv", "arena": "json", "label-studio": "json"}.get(form, "jsonl")
    path = await download_folder() / f"votes.{ending}"
    written = await server.worker.run_task("export", study, {"format": form, "path": str(path), "options": options})
    said = {"X-Duelist-Written": json.dumps(written)}
    return sent(path, f"{name} {form}.{ending}", "application/octet-stream", said)


@router.post("/import", response_model=schemas.ImportResponse, responses=IN_STUDY)
async def import_votes(
    study: schemas.StudyId,
    request: Request,
    server: ServerDep,
    caller: Owner,
    form: Annotated[str | None, Query(alias="format", max_length=50)] = None,
    filename: Annotated[
        str, Query(max_length=300, description="What the file is called; its end says what it is.")
    ] = "votes",
    again: Annotated[bool, Query(description="Count what is in the log already, too.")] = False,
) -> Any:
    """Take the votes of a file, the body of the request, into the log; what is there is not counted twice."""
    await server.check(study)
    async with uploaded(request, safe_name(filename)) as path:
        return await server.worker.run_task("import", study, {"format": form, "path": str(path), "again": again})
