"""What owners do with raters and gold pairs, and the tokens and links they give away."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from duelist.core.errors import UnknownToken
from duelist.server.auth import Owner, ServerAdmin, ServerDep, StudyReader
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.schemas import common as schemas
from duelist.server.schemas.openapi import IN_STUDY, error_responses
from duelist.study import Erasure, Rater, Study
from duelist.study.access import Scope, create_token, list_tokens, revoke_token
from duelist.study.serialization import from_plain, plain

router = APIRouter()
_raters = APIRouter(prefix="/studies/{study}/raters", tags=["owners"], responses=IN_STUDY)
_gold = APIRouter(prefix="/studies/{study}/gold", tags=["owners"], responses=IN_STUDY)
_tokens = APIRouter(tags=["tokens"], responses=error_responses(401, 403, 404, 409, 422))
TokenId = Annotated[str, Path(max_length=100)]


# -- raters ------------------------------------------------------------------------------


@_raters.post("/block")
async def block(study: schemas.StudyId, given: schemas.BlockRequest, server: ServerDep, caller: Owner) -> Rater:
    """Ask a rater no more, and leave their votes out, or in."""
    await server.check(study)
    found = await server.worker.run_task("block", study, {"rater": given.rater, "keep_votes": given.keep_votes})
    return from_plain(Rater, found)


@_raters.post("/reinstate")
async def reinstate(study: schemas.StudyId, given: schemas.ReinstateRequest, server: ServerDep, caller: Owner) -> Rater:
    """Ask a rater again, and count their votes again, as if nothing had been."""
    await server.check(study)
    return from_plain(Rater, await server.worker.run_task("reinstate", study, {"rater": given.rater}))


@_raters.post("/describe")
async def describe(
    study: schemas.StudyId, given: schemas.DescribeRaterRequest, server: ServerDep, caller: Owner
) -> Rater:
    """Keep attributes of a rater; null takes one away."""

    def describe_rater(opened: Study) -> Rater:
        return opened.describe_rater(given.rater, **given.attributes)

    async with server.study(study) as opened:
        return await opened.write(describe_rater)


@_raters.post("/erase")
async def erase(study: schemas.StudyId, given: schemas.EraseRaterRequest, server: ServerDep, caller: Owner) -> Erasure:
    """Forget who a rater is; their votes stay, their links end. There is no way back."""
    if given.confirm != given.rater:
        raise RequestError(
            409, "confirm", "Erasing a rater cannot be taken back.", "Send their name as `confirm`, too.", "confirm"
        )
    async with server.study(study) as opened:
        found = await opened.write(Study.erase_rater, given.rater)
    server.forget_tokens()
    return found


# -- gold pairs --------------------------------------------------------------------------


async def _pairs(server: ServerContext, study: int) -> schemas.GoldPairsResponse:
    async with server.study(study) as opened:
        return schemas.GoldPairsResponse.model_validate({"gold": plain(await opened.read(Study.gold))})


@_gold.get("")
async def gold(study: schemas.StudyId, server: ServerDep, caller: StudyReader) -> schemas.GoldPairsResponse:
    """The pairs whose answers are known."""
    return await _pairs(server, study)


@_gold.post("")
async def add_gold(
    study: schemas.StudyId, given: schemas.GoldPairSchema, server: ServerDep, caller: Owner
) -> schemas.GoldPairsResponse:
    """A pair whose answer is known: each rater is asked it once, slipped in among the others."""
    async with server.study(study) as opened:
        await opened.write(Study.add_gold, given.first, given.second, given.outcome)
    return await _pairs(server, study)


@_gold.post("/remove")
async def remove_gold(
    study: schemas.StudyId, given: schemas.PairRequest, server: ServerDep, caller: Owner
) -> schemas.GoldPairsResponse:
    """Ask a gold pair no more."""
    async with server.study(study) as opened:
        await opened.write(Study.remove_gold, given.first, given.second)
    return await _pairs(server, study)


# -- tokens ------------------------------------------------------------------------------


async def _made(server: ServerContext, study: int | None, given: schemas.CreateTokenRequest) -> dict[str, Any]:
    made = await asyncio.to_thread(
        create_token, server.storage, given.scope, study, given.rater, given.label, given.days
    )
    return {**plain(made.token), "token": made.secret}


async def _listed(server: ServerContext, study: int | None) -> schemas.TokensResponse:
    found = await asyncio.to_thread(list_tokens, server.storage, study)
    return schemas.TokensResponse(tokens=found)


async def _revoke(server: ServerContext, token_id: str, study: int | None) -> None:
    known = await asyncio.to_thread(list_tokens, server.storage, study)
    if all(token.id != token_id for token in known):
        raise UnknownToken(f"There is no token of the id {token_id!r}.", "`GET /api/v1/tokens` lists the tokens.")
    await asyncio.to_thread(revoke_token, server.storage, token_id)
    server.forget_tokens()


@_tokens.get("/tokens")
async def tokens(server: ServerDep, caller: ServerAdmin) -> schemas.TokensResponse:
    """All tokens, without their secrets."""
    return await _listed(server, None)


@_tokens.post("/tokens", status_code=201, response_model=schemas.NewTokenResponse)
async def make_token(given: schemas.CreateTokenRequest, server: ServerDep, caller: ServerAdmin) -> dict[str, Any]:
    """A token of all studies; its secret is shown this once."""
    return await _made(server, None, given)


@_tokens.delete("/tokens/{token}", status_code=204)
async def revoke(token: TokenId, server: ServerDep, caller: ServerAdmin) -> None:
    """Refuse a token from now on."""
    await _revoke(server, token, None)


@_tokens.get("/studies/{study}/tokens")
async def tokens_of_study(study: schemas.StudyId, server: ServerDep, caller: Owner) -> schemas.TokensResponse:
    """The tokens of a study, without their secrets."""
    await server.check(study)
    return await _listed(server, study)


@_tokens.post("/studies/{study}/tokens", status_code=201, response_model=schemas.NewTokenResponse)
async def make_token_of_study(
    study: schemas.StudyId, given: schemas.CreateTokenRequest, server: ServerDep, caller: Owner
) -> dict[str, Any]:
    """A token of one study; its secret is shown this once."""
    await server.check(study)
    return await _made(server, study, given)


@_tokens.delete("/studies/{study}/tokens/{token}", status_code=204)
async def revoke_of_study(study: schemas.StudyId, token: TokenId, server: ServerDep, caller: Owner) -> None:
    """Refuse a token of this study from now on."""
    await server.check(study)
    await _revoke(server, token, study)


@_tokens.post("/studies/{study}/links", status_code=201)
async def links(
    study: schemas.StudyId, given: schemas.CreateLinksRequest, request: Request, server: ServerDep, caller: Owner
) -> schemas.LinksResponse:
    """A link for each of these raters, to be sent to them; it is shown this once."""
    await server.check(study)
    made: list[schemas.LinkSchema] = []
    for rater in given.raters:
        new = await asyncio.to_thread(create_token, server.storage, Scope.RATER, study, rater, "link", given.days)
        url = server.options.link(f"/rate/{study}#{new.secret}", str(request.base_url))
        made.append(schemas.LinkSchema(rater=rater, url=url, id=new.token.id, expires_at=new.token.expires_at))
    return schemas.LinksResponse(links=made)


for part in (_raters, _gold, _tokens):
    router.include_router(part)
