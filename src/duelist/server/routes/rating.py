"""Rating: ask, vote, undo, release, progress, and media files."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from duelist.core.serialization import to_plain
from duelist.server.auth import Caller, ServerDep, StudyMember, StudyRater
from duelist.server.content import find_media_file, media_type, replace_surrogates
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.file_streams import file_response, open_file
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas import common as schemas
from duelist.server.schemas import participation
from duelist.server.schemas.base import RequestBody
from duelist.server.schemas.openapi import IN_STUDY
from duelist.study import AsyncStudy, Outcome, Study, StudyDuel, Vote

router = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}", tags=["rating"], responses=IN_STUDY)
_MEDIA_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=86400",
    "Content-Disposition": "inline",
}
_ASK_SECONDS = 0.01
"""Raters wait for a multiple of this, since small differences in time would tell kinds of pairs."""
_PRIVILEGED_FIELDS = ("kind", "chosen_by", "propensity", "swapped", "layer", "share")


@router.get("/me")
async def me(
    study: schemas.StudyId,
    caller: StudyRater,
    server: ServerDep,
    rater: Annotated[schemas.Name | None, Query()] = None,
) -> schemas.MeResponse:
    """Return a rater's progress, and the question and guidelines."""
    rater_name = caller.rater(rater)
    async with server.study(study) as opened:
        own = await opened.read(Study.rater_progress, rater_name)
        record = await opened.read(Study.rater, rater_name)
        state = (await opened.read(_state)).value
        departure = await opened.read(Study.departure, rater_name)
        step = await opened.read(Study.next_step, rater_name)
        settings, name = opened.study.settings, opened.study.name
    return schemas.MeResponse(
        rater=rater_name,
        study=study,
        study_name=name,
        state=state,
        question=settings.question,
        guidelines=settings.guidelines,
        criteria=list(settings.criteria),
        answers=[Outcome.FIRST.value, Outcome.SECOND.value, *(answer.value for answer in settings.answers)],
        ask_reason=settings.ask_reason,
        votes=own.votes,
        max_votes=settings.max_votes_per_rater,
        blocked=record.blocked,
        live=name in server.options.live,
        departure=None if departure is None else participation.DepartureSchema.model_validate(to_plain(departure)),
        recent=[
            schemas.RecentVoteSchema(duel_id=_shown_number(server, caller, study, duel), outcome=outcome.value)
            for duel, outcome in own.recent
        ],
        flow=settings.flow.for_raters(),
        step=step,
    )


@router.post("/arrive", status_code=204)
async def arrive(
    study: schemas.StudyId, body: participation.EntryRequest, caller: StudyRater, server: ServerDep
) -> None:
    """Record the URL parameters with which an invited rater came; those recorded already keep their value."""
    async with server.study(study) as opened:
        await opened.write(Study.enter, caller.rater(None), body.parameters, invited=True)


@router.post("/consent", status_code=204)
async def consent(
    study: schemas.StudyId, body: participation.ConsentRequest, caller: StudyRater, server: ServerDep
) -> None:
    """Record whether a rater agrees to the consent form; without agreement their participation ends."""
    async with server.study(study) as opened:
        await opened.write(Study.consent, caller.rater(None), body.version, body.agrees)


@router.post("/answers", status_code=204)
async def answers(
    study: schemas.StudyId, body: participation.AnswersRequest, caller: StudyRater, server: ServerDep
) -> None:
    """Record a rater's answers to the questionnaire as their attributes."""
    async with server.study(study) as opened:
        await opened.write(Study.answer, caller.rater(None), body.answers)


@router.post("/practised", status_code=204)
async def practised(study: schemas.StudyId, caller: StudyRater, server: ServerDep) -> None:
    """Record that a rater has finished the practice pairs."""
    async with server.study(study) as opened:
        await opened.write(Study.finish_practice, caller.rater(None))


def _state(study: Study) -> Any:
    return study.state


@router.post("/ask")
async def ask(
    study: schemas.StudyId, body: schemas.DuelRequest, caller: StudyRater, server: ServerDep
) -> schemas.DuelResponse:
    """Return a duel: the same until it is voted on, released or expired. Only an admin may choose its context or items."""
    if not caller.is_privileged:
        _reject_privileged(body, "candidates", "context")
    started_at = time.monotonic()
    async with server.study(study) as opened:
        secret = b"" if caller.is_privileged else server.secret
        if not caller.is_privileged and opened.study.settings.flow.has_steps:
            await opened.read(Study.check_steps, caller.rater(body.rater))
        working_on = [given_number(server, caller, study, duel) for duel in body.in_progress]
        duel = await opened.ask(caller.rater(body.rater), body.candidates, body.context, working_on, secret)
        response = duel_response(duel, server, opened.study, caller)
    if not caller.is_privileged:
        await asyncio.sleep((started_at - time.monotonic()) % _ASK_SECONDS)
    return response


@router.post("/votes", response_model=schemas.VotesResponse)
async def vote(
    study: schemas.StudyId, body: schemas.VoteRequest, caller: StudyRater, server: ServerDep
) -> dict[str, Any]:
    """Save a vote. It is durable on response; sending it again changes nothing."""
    rater = caller.rater(body.rater)
    if not caller.is_privileged and body.source != "human":
        _reject_privileged(body, "source")
    details: dict[str, Any] = {
        "revise": body.revise,
        "source": body.source,
        "response_seconds": body.response_seconds,
        "reason": body.reason or None,
    }
    if (body.outcome is None) == (body.outcomes is None):
        raise RequestError(
            422,
            "invalid_input",
            "A vote has either `outcome`, or `outcomes` by criterion.",
            "Send one of the two.",
            "outcome",
        )
    duel = given_number(server, caller, study, body.duel)
    async with server.study(study) as opened:
        if not caller.is_privileged:
            _check_offered(opened.study, body)
            if body.revise:
                _reject_live(opened, server)
        if body.outcomes is not None:
            votes = await opened.write(Study.tell_all, duel, body.outcomes, rater, **details)
        else:
            votes = [await opened.tell(duel, body.outcome or "", rater, criterion=body.criterion, **details)]
    return _votes(votes, server, study, caller)


def _reject_privileged(body: RequestBody, *fields: str) -> None:
    """Raise an error for a field with which a rater would choose pairs or pretend to be another rater."""
    field = next((name for name in fields if getattr(body, name) is not None), None)
    if field is not None:
        raise RequestError(
            403, "not_allowed", f"A rater's token cannot send {field}.", f"Remove {field} from the request.", field
        )


def _reject_live(opened: AsyncStudy, server: ServerContext) -> None:
    """Raise an error where raters have seen the names of systems after their vote."""
    if opened.name in server.options.live:
        raise RequestError(
            403, "not_allowed", "Votes of this study are final.", "Names are shown after a vote, which then stays."
        )


def _check_offered(study: Study, body: schemas.VoteRequest) -> None:
    """Raise an error for an outcome that the study does not offer its raters."""
    offered = {Outcome.FIRST, Outcome.SECOND, *study.settings.answers}
    given = [body.outcome] if body.outcomes is None else body.outcomes.values()
    other = next((outcome for outcome in given if outcome not in offered), None)
    if other is not None:
        listed = ", ".join(outcome.value for outcome in Outcome if outcome in offered)
        raise RequestError(422, "invalid_input", f"This study does not offer {other!r}.", f"Send {listed}.", "outcome")


@router.post("/undo", response_model=schemas.VotesResponse)
async def undo(
    study: schemas.StudyId, body: schemas.UndoRequest, caller: StudyRater, server: ServerDep
) -> dict[str, Any]:
    """Undo a vote."""
    duel = given_number(server, caller, study, body.duel)
    async with server.study(study) as opened:
        if not caller.is_privileged:
            _reject_live(opened, server)
        undone = await opened.undo(duel, caller.rater(body.rater), body.criterion)
    return _votes([undone], server, study, caller)


@router.post("/release", status_code=204)
async def release(study: schemas.StudyId, body: schemas.ReleaseRequest, caller: StudyRater, server: ServerDep) -> None:
    """Return a duel without a vote."""
    async with server.study(study) as opened:
        await opened.write(Study.release, given_number(server, caller, study, body.duel), caller.rater(body.rater))


@router.get(
    "/media/{key:path}",
    response_class=Response,
    responses={
        200: {"content": {"*/*": {}}, "description": "The file."},
        206: {"content": {"*/*": {}}, "description": "The requested range."},
        416: {"description": "The range is outside the file.", "model": schemas.ErrorResponse},
    },
)
async def media(
    study: schemas.StudyId,
    key: Annotated[str, Path(max_length=4000)],
    request: Request,
    caller: StudyMember,
    server: ServerDep,
) -> Response:
    """Return a media file, sandboxed so that no script in it runs."""
    kind = media_type(key)
    if kind is None:
        raise RequestError(404, "not_found", f"There is no file {key!r}.", "Use the name in the payload of an item.")
    name = key if caller.is_privileged else server.hidden_names.reveal(study, key)
    found = None if name is None else find_media_file(server.options.media, name)
    if found is not None:
        file = await asyncio.to_thread(open_file, found)
    else:
        async with server.study(study) as opened:

            async def read() -> bytes:
                return (await opened.read(Study.media, key)).body

            file = await server.stored_files.file(f"{study}/{key}", read)
    return file_response(file, kind, _MEDIA_HEADERS, request.headers.get("range"))


def duel_response(duel: StudyDuel, server: ServerContext, study: Study, caller: Caller) -> schemas.DuelResponse:
    """Return a duel as this caller may see it."""
    show = server.renderer(study, for_rater=not caller.is_privileged)
    body: dict[str, Any] = {
        "id": _shown_number(server, caller, study.id, duel.id),
        "context": duel.context if caller.is_privileged else None,
        "prompt": None if duel.prompt is None else show.render(duel.prompt),
        "rater": duel.rater,
        "asked_at": duel.asked_at,
        "deadline": duel.deadline,
    }
    for side, arm in (("first", duel.first), ("second", duel.second)):
        content = {"content": show.render_arm(arm.payload, arm.id)}
        body[side] = {**to_plain(arm), **content} if caller.is_privileged else content
    if caller.is_privileged:
        body |= {name: to_plain(getattr(duel, name)) for name in _PRIVILEGED_FIELDS} | {"prompt_payload": duel.prompt}
    return schemas.DuelResponse.model_validate(dict(replace_surrogates(body)))


def _votes(votes: list[Vote], server: ServerContext, study: int, caller: Caller) -> dict[str, Any]:
    if caller.is_privileged:
        return {"votes": votes}
    rows = [{name: getattr(vote, name) for name in schemas.RATER_VOTE_FIELDS} for vote in votes]
    return {"votes": [{**row, "duel_id": _shown_number(server, caller, study, row["duel_id"])} for row in rows]}


def _shown_number(server: ServerContext, caller: Caller, study: int, duel: int) -> int:
    """Return the number by which the caller knows a duel."""
    return duel if caller.is_privileged else server.hidden_numbers.hide(study, duel)


def given_number(server: ServerContext, caller: Caller, study: int, duel: int) -> int:
    """Return the number of a duel that the caller knows by this one."""
    return duel if caller.is_privileged else server.hidden_numbers.reveal(study, duel)
