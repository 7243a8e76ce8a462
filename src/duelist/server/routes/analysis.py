"""Results of a study, computed by the background worker; the log, export and import."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import FileResponse

from duelist.server.auth import ADMIN, ServerDep, StudyAdmin, StudyReader
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.http.uploads import download_folder, file_response, safe_name, uploaded_file
from duelist.server.schemas import common as schemas
from duelist.server.schemas.analysis import (
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
from duelist.server.schemas.openapi import IN_STUDY
from duelist.study.analysis import Calibration, GoodnessOfFit, Leaderboard, LeaderboardByCategory, RegretEstimate
from duelist.study.formats import check_export_options, check_suffix, get_format

router = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}", tags=["analysis"])
Top = Annotated[int | None, Query(ge=1, le=100_000, description="Only this many of the best arms.")]
Delta = Annotated[float, Query(gt=0, lt=1, description="The error rate.")]
Level = Annotated[float | None, Query(gt=0, lt=1, description="Level of the intervals.")]
Clusters = Annotated[bool, Query(description="Count votes of one rater, or on one prompt, as dependent.")]
RaterModelChoice = Annotated[
    Literal["auto"] | bool,
    Query(description="Whether to estimate how raters differ; `auto` does if a test says that they do."),
]
Ridge = Annotated[float | None, Query(ge=1e-9, le=1e6, description="Precision of the prior.")]
Name = Annotated[schemas.Name | None, Query()]
Labels = Annotated[bool, Query(description="Name arms by their id and the beginning of their text.")]
_MAX_ID = schemas.MAX_ID


def _vote_filter(
    caller: StudyReader,
    context: Annotated[schemas.Name | None, Query(description="Only this context.")] = None,
    criterion: Annotated[schemas.Name | None, Query(description="The criterion; the first by default.")] = None,
    without: Annotated[list[schemas.Name] | None, Query(description="Further raters to exclude.")] = None,
    everyone: Annotated[bool, Query(description="Include votes of excluded raters.")] = False,
    retired: Annotated[bool, Query(description="Include retired arms.")] = False,
    category: Annotated[schemas.Name | None, Query(description="Only prompts of this category.")] = None,
    by: Annotated[
        Literal["system", "item"] | None,
        Query(description="Analyse systems (the default where arms have systems) or single items."),
    ] = None,
    labels: Labels = False,
    where: Annotated[
        list[schemas.Name] | None,
        Query(description="A condition on an attribute of raters, such as age >= 30; may be repeated."),
    ] = None,
) -> dict[str, Any]:
    if where and caller.token.scope is not ADMIN:  # results by attribute would tell who answered what
        raise RequestError(
            403, "not_allowed", "Attributes of raters are for admins of the study.", "Leave out `where`.", "where"
        )
    given = {
        "where": where,
        "context": context,
        "criterion": criterion,
        "without": without,
        "everyone": everyone,
        "retired": retired,
        "category": category,
        "by": by,
        "labels": labels,
    }
    return {name: value for name, value in given.items() if value not in (None, False)}


VoteFilter = Annotated[dict[str, Any], Depends(_vote_filter)]


Covariates = Annotated[
    list[schemas.Name] | None,
    Query(description="What is excluded from utilities: side, length, markdown, or a column of numbers."),
]


def _error_rate(
    delta: Delta = 0.05,
    tolerance: Annotated[
        float, Query(ge=0, description="Accept an arm that is worse than the best by at most this much.")
    ] = 0.0,
    unit: Annotated[Literal["utility", "chance"], Query(description="Unit of the tolerance.")] = "utility",
) -> dict[str, Any]:
    return {"delta": delta, "tolerance": tolerance, "unit": unit}


ErrorRate = Annotated[dict[str, Any], Depends(_error_rate)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match")]


def _responses(model: Any) -> dict[int | str, dict[str, Any]]:
    unchanged = {304: {"description": "Not changed since the response with that ETag."}}
    return IN_STUDY | {200: {"model": model, "description": "The result."}} | unchanged


async def _run_query(
    server: ServerContext, study: int, query: str, given: dict[str, Any], if_none_match: str | None = None, **more: Any
) -> Response:
    await server.require_study(study)
    wanted = given | {name: value for name, value in more.items() if value is not None}
    revision = if_none_match.strip('W/"') if if_none_match else None
    found = await server.worker.run_query(study, query, wanted, revision)
    headers = {"ETag": f'W/"{found.revision}"', "Cache-Control": "no-cache"} if found.revision else {}
    if found.body is None:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type="application/json", headers=headers)


@router.get("/leaderboard", responses=_responses(Leaderboard))
async def leaderboard(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    top: Top = None,
    level: Level = None,
    ridge: Ridge = None,
    clusters: Clusters = True,
    covariates: Covariates = None,
    rater_model: RaterModelChoice = "auto",
) -> Response:
    """Return the leaderboard."""
    more = {
        "top": top,
        "level": level,
        "ridge": ridge,
        "covariates": covariates,
        "clusters": clusters,
        "rater_model": rater_model,
    }
    return await _run_query(server, study, "leaderboard", votes, if_none_match, **more)


@router.get("/leaderboard-by-category", responses=_responses(LeaderboardByCategory))
async def leaderboard_by_category(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    level: Level = None,
    ridge: Ridge = None,
    clusters: Clusters = True,
    covariates: Covariates = None,
    rater_model: RaterModelChoice = "auto",
) -> Response:
    """Return the leaderboard of systems on all prompts and on those of each category."""
    more = {"level": level, "ridge": ridge, "covariates": covariates, "clusters": clusters, "rater_model": rater_model}
    return await _run_query(server, study, "leaderboard-by-category", votes, if_none_match, **more)


@router.get("/can-stop", responses=_responses(CanStopResponse))
async def can_stop(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    error_rate: ErrorRate,
    if_none_match: IfNoneMatch = None,
    goal: Literal["best", "rank", "learn", "serve"] | None = None,
    top: Annotated[
        int | None,
        Query(ge=1, le=100_000, description="Number of places for the goal rank; by default the study's, else all."),
    ] = None,
    clusters: Clusters = True,
    covariates: Covariates = None,
    rater_model: RaterModelChoice = "auto",
) -> Response:
    """Return whether there are enough votes for the goal, and how many more are expected."""
    more = {"goal": goal, "top": top, "covariates": covariates, "clusters": clusters, "rater_model": rater_model}
    return await _run_query(server, study, "can-stop", votes, if_none_match, **more, **error_rate)


@router.get("/recommend", responses=_responses(RecommendationResponse))
async def recommend(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    error_rate: ErrorRate,
    if_none_match: IfNoneMatch = None,
    clusters: Clusters = True,
    covariates: Covariates = None,
    rater_model: RaterModelChoice = "auto",
) -> Response:
    """Return the recommended arm, and those that are not ruled out."""
    fit = {"covariates": covariates, "clusters": clusters, "rater_model": rater_model}
    return await _run_query(server, study, "recommend", votes, if_none_match, **fit, **error_rate)


@router.get("/progress", responses=_responses(ProgressResponse))
async def progress(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    error_rate: ErrorRate,
    if_none_match: IfNoneMatch = None,
    clusters: Clusters = True,
    covariates: Covariates = None,
    rater_model: RaterModelChoice = "auto",
) -> Response:
    """Return how close the study is to a decision on its best arm."""
    fit = {"covariates": covariates, "clusters": clusters, "rater_model": rater_model}
    return await _run_query(server, study, "progress", votes, if_none_match, **fit, **error_rate)


@router.get("/win-matrix", responses=_responses(WinMatrixResponse))
async def win_matrix(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    top: Top = None,
) -> Response:
    """Return the counts of votes per pair, arms by rank."""
    return await _run_query(server, study, "win-matrix", votes, if_none_match, top=top)


@router.get("/win-chances", responses=_responses(WinChancesResponse))
async def win_chances(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    top: Top = 100,
) -> Response:
    """Return the probabilities of a win and of a tie per pair, arms by rank."""
    return await _run_query(server, study, "win-chances", votes, if_none_match, top=top)


@router.get("/history", responses=_responses(HistoryResponse))
async def history(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    points: Annotated[int | None, Query(ge=2, le=500)] = None,
    top: Top = None,
) -> Response:
    """Return each arm's probability of being the best over the votes."""
    return await _run_query(server, study, "history", votes, if_none_match, points=points, top=top)


@router.get("/calibration", responses=_responses(Calibration))
async def calibration(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    bins: Annotated[int | None, Query(ge=1, le=100)] = None,
) -> Response:
    """Return predicted against observed frequencies of votes."""
    return await _run_query(server, study, "calibration", votes, if_none_match, bins=bins)


@router.get("/goodness-of-fit", responses=_responses(GoodnessOfFit))
async def goodness_of_fit(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    votes: VoteFilter,
    if_none_match: IfNoneMatch = None,
    covariates: Covariates = None,
) -> Response:
    """Return tests of the model of votes, with one sentence of advice."""
    return await _run_query(server, study, "goodness-of-fit", votes, if_none_match, covariates=covariates)


@router.get("/regret", responses=_responses(RegretEstimate))
async def regret(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, votes: VoteFilter, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the estimated regret of the policy, from random pairs."""
    return await _run_query(server, study, "regret", votes, if_none_match)


@router.get("/raters", responses=_responses(RatersResponse))
async def raters(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, votes: VoteFilter, if_none_match: IfNoneMatch = None
) -> Response:
    """Return pace, side bias, agreement and reliability of raters, and who is flagged; only admins see their attributes."""
    is_admin = caller.token.scope is ADMIN
    return await _run_query(server, study, "raters", votes, if_none_match, personal=is_admin)


@router.get("/queue", responses=_responses(QueueResponse))
async def queue(study: schemas.StudyId, server: ServerDep, caller: StudyReader) -> Response:
    """Return pending, expired and returned duels."""
    return await _run_query(server, study, "queue", {})


@router.get("/log", responses=_responses(LogResponse))
async def log(
    study: schemas.StudyId,
    server: ServerDep,
    caller: StudyReader,
    if_none_match: IfNoneMatch = None,
    before: Annotated[int | None, Query(ge=1, le=_MAX_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    rater: Name = None,
    arm: Name = None,
    outcome: schemas.OutcomeName | None = None,
    context: Name = None,
    criterion: Name = None,
    kind: Literal["normal", "gold", "repeat"] | None = None,
) -> Response:
    """Return a page of the vote log, newest first."""
    wanted = {"rater": rater, "arm": arm, "outcome": outcome, "context": context, "criterion": criterion, "kind": kind}
    return await _run_query(server, study, "log", {}, if_none_match, before=before, limit=limit, **wanted)


@router.get("/duels/{duel}/explanation", responses=_responses(ExplanationResponse))
async def explanation(
    study: schemas.StudyId,
    duel: Annotated[int, Path(ge=1, le=_MAX_ID)],
    server: ServerDep,
    caller: StudyReader,
    if_none_match: IfNoneMatch = None,
    labels: Labels = False,
) -> Response:
    """Explain why a pair was asked."""
    return await _run_query(server, study, "explanation", {"duel": duel, "labels": labels}, if_none_match)


@router.get("/contexts", responses=_responses(ContextsResponse))
async def contexts(
    study: schemas.StudyId, server: ServerDep, caller: StudyReader, if_none_match: IfNoneMatch = None
) -> Response:
    """List contexts and their payloads."""
    return await _run_query(server, study, "contexts", {}, if_none_match)


ExportFormat = Annotated[str, Path(max_length=50)]


def _export_options(form: ExportFormat, request: Request) -> dict[str, Any]:
    words = {"true": True, "false": False}
    given = {name: value for name, value in request.query_params.items() if name != "suffix"}
    options = {name: words.get(value, value) for name, value in given.items()}
    check_export_options(form, options)
    return options


_export_options.takes_any_query = True  # type: ignore[attr-defined]  # the format knows its options
ExportOptions = Annotated[dict[str, Any], Depends(_export_options)]


@router.get(
    "/export/{form}",
    response_class=FileResponse,
    responses=IN_STUDY | {200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
)
async def export(
    study: schemas.StudyId,
    form: ExportFormat,
    options: ExportOptions,
    server: ServerDep,
    caller: StudyReader,
    suffix: Annotated[
        str | None,
        Query(pattern=r"^(\.[a-z]{1,8}){1,2}$", description="Ending of the file, such as .parquet or .csv.gz."),
    ] = None,
) -> FileResponse:
    """Export votes in a format, whose options are query parameters; only admins get what is known of raters."""
    async with server.study(study) as opened:
        name = opened.study.name
    ending = suffix or get_format(form).suffixes[0]
    check_suffix(form, f"votes{ending}")
    async with download_folder() as folder:
        path = folder / f"votes{ending}"
        task = {"format": form, "path": str(path), "options": options, "personal": caller.token.scope is ADMIN}
        report = await server.worker.run_task("export", study, task)
        headers = {"X-Duelist-Export-Report": json.dumps(report)}
        return file_response(path, f"{name} {form}{ending}", "application/octet-stream", headers)


@router.post("/import", response_model=schemas.ImportResponse, responses=IN_STUDY)
async def import_votes(
    study: schemas.StudyId,
    request: Request,
    server: ServerDep,
    caller: StudyAdmin,
    form: Annotated[str | None, Query(alias="format", max_length=50)] = None,
    filename: Annotated[
        str, Query(max_length=300, description="The name of the file, whose suffix tells what it is.")
    ] = "votes",
    skip_duplicates: Annotated[bool, Query(description="Skip votes that the log has already.")] = True,
    column: Annotated[
        list[str] | None,
        Query(max_length=20, description="FIELD=COLUMN, if a column of a table has another name; may be repeated."),
    ] = None,
    timezone: Annotated[
        str | None, Query(max_length=100, description="The zone of times without an offset, such as Europe/Berlin.")
    ] = None,
) -> Any:
    """Import the votes of a file, which is the body of the request."""
    await server.require_study(study)
    async with uploaded_file(request, safe_name(filename)) as path:
        pairs = [each.partition("=") for each in column or ()]
        columns = {name: theirs for name, _, theirs in pairs if theirs}
        options = {"columns": columns} if columns else {}
        task = {
            "format": form,
            "path": str(path),
            "skip_duplicates": skip_duplicates,
            "options": options,
            "timezone": timezone,
        }
        return await server.worker.run_task("import", study, task)
