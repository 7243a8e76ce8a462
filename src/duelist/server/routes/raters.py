"""Raters and gold pairs, as an owner manages them."""

from __future__ import annotations

from fastapi import APIRouter

from duelist.core.serialization import from_plain, to_plain
from duelist.server.auth import ServerDep, StudyAdmin, StudyReader
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.routing import CheckedRoute
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import IN_STUDY
from duelist.study import Erasure, Rater, Study

router = APIRouter(route_class=CheckedRoute)
_raters = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}/raters", tags=["raters"], responses=IN_STUDY)
_gold = APIRouter(route_class=CheckedRoute, prefix="/studies/{study}/gold", tags=["raters"], responses=IN_STUDY)


# -- raters ------------------------------------------------------------------------------


@_raters.post("/block")
async def block(study: schemas.StudyId, body: schemas.BlockRequest, server: ServerDep, caller: StudyAdmin) -> Rater:
    """Block a rater; with `exclude_votes`, also exclude their votes."""
    await server.require_study(study)
    found = await server.worker.run_task("block", study, {"rater": body.rater, "exclude_votes": body.exclude_votes})
    return from_plain(Rater, found)


@_raters.post("/reinstate")
async def reinstate(
    study: schemas.StudyId, body: schemas.ReinstateRequest, server: ServerDep, caller: StudyAdmin
) -> Rater:
    """Undo block and exclusion of a rater."""
    await server.require_study(study)
    return from_plain(Rater, await server.worker.run_task("reinstate", study, {"rater": body.rater}))


@_raters.post("/describe")
async def describe(
    study: schemas.StudyId, body: schemas.DescribeRaterRequest, server: ServerDep, caller: StudyAdmin
) -> Rater:
    """Set attributes of a rater; null removes one."""

    def describe_rater(opened: Study) -> Rater:
        return opened.describe_rater(body.rater, **body.attributes)

    async with server.study(study) as opened:
        return await opened.write(describe_rater)


@_raters.post("/erase")
async def erase(
    study: schemas.StudyId, body: schemas.EraseRaterRequest, server: ServerDep, caller: StudyAdmin
) -> Erasure:
    """Replace a rater's name with a pseudonym and revoke their links; this cannot be undone."""
    if body.confirm != body.rater:
        raise RequestError(
            409, "confirm", "Erasing a rater cannot be undone.", "Repeat the name as `confirm`.", "confirm"
        )
    async with server.study(study) as opened:
        found = await opened.write(Study.erase_rater, body.rater)
    server.clear_token_cache()
    return found


# -- gold pairs --------------------------------------------------------------------------


async def _gold_pairs(server: ServerContext, study: int) -> schemas.GoldPairsResponse:
    async with server.study(study) as opened:
        return schemas.GoldPairsResponse.model_validate({"gold": to_plain(await opened.read(Study.gold))})


@_gold.get("")
async def gold(study: schemas.StudyId, server: ServerDep, caller: StudyReader) -> schemas.GoldPairsResponse:
    """Return the gold pairs: those with a known outcome."""
    return await _gold_pairs(server, study)


@_gold.post("")
async def add_gold(
    study: schemas.StudyId, body: schemas.GoldPairSchema, server: ServerDep, caller: StudyAdmin
) -> schemas.GoldPairsResponse:
    """Add a gold pair, which each rater is asked once among other pairs."""
    async with server.study(study) as opened:
        await opened.write(Study.add_gold, body.first, body.second, body.outcome)
    return await _gold_pairs(server, study)


@_gold.post("/remove")
async def remove_gold(
    study: schemas.StudyId, body: schemas.PairRequest, server: ServerDep, caller: StudyAdmin
) -> schemas.GoldPairsResponse:
    """Remove a gold pair."""
    async with server.study(study) as opened:
        await opened.write(Study.remove_gold, body.first, body.second)
    return await _gold_pairs(server, study)


for part in (_raters, _gold):
    router.include_router(part)
