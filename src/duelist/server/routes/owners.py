"""What owners do with raters and gold pairs, and the tokens and links they give away."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request

from duelist.core.errors import UnknownToken
from duelist.server.auth import DeskHere, Looker, Owner, OwnerOfAll
from duelist.server.context import Desk
from duelist.server.errors import RequestError
from duelist.server.schemas import common as shapes
from duelist.server.schemas.openapi import IN_STUDY, refusing
from duelist.study import Study
from duelist.study.access import Scope, Token, create_token, list_tokens, revoke_token
from duelist.study.serialization import plain

router = APIRouter()
_raters = APIRouter(prefix="/studies/{study}/raters", tags=["owners"], responses=IN_STUDY)
_gold = APIRouter(prefix="/studies/{study}/gold", tags=["owners"], responses=IN_STUDY)
_tokens = APIRouter(tags=["tokens"], responses=refusing(401, 403, 404, 409, 422))
TokenId = Annotated[str, Path(max_length=100)]


# -- raters ------------------------------------------------------------------------------


@_raters.post("/block")
async def block(study: shapes.StudyId, given: shapes.Blocked, desk: DeskHere, caller: Owner) -> shapes.Rater:
    """Ask a rater no more, and leave their votes out, or in."""
    await desk.check(study)
    found = await desk.errands.do("block", study, {"rater": given.rater, "keep_votes": given.keep_votes})
    return shapes.Rater.model_validate(found)


@_raters.post("/unblock")
async def unblock(study: shapes.StudyId, given: shapes.RaterName, desk: DeskHere, caller: Owner) -> shapes.Rater:
    """Ask a rater again, and count their votes again, as if nothing had been."""
    await desk.check(study)
    return shapes.Rater.model_validate(await desk.errands.do("unblock", study, {"rater": given.rater}))


@_raters.post("/describe")
async def describe(study: shapes.StudyId, given: shapes.Described, desk: DeskHere, caller: Owner) -> shapes.Rater:
    """Keep attributes of a rater; null takes one away."""

    def say(known: Study) -> object:
        return known.describe_rater(given.rater, **given.attributes)

    async with desk.study(study) as opened:
        return shapes.Rater.model_validate(plain(await opened.write(say)))


@_raters.post("/erase")
async def erase(study: shapes.StudyId, given: shapes.Forgotten, desk: DeskHere, caller: Owner) -> shapes.ErasedRater:
    """Forget who a rater is; their votes stay, their links end. There is no way back."""
    if given.confirm != given.rater:
        raise RequestError(
            409, "confirm", "Erasing a rater cannot be taken back.", "Send their name as `confirm`, too.", "confirm"
        )
    async with desk.study(study) as opened:
        found = await opened.write(Study.erase_rater, given.rater)
    desk.forget_tokens()
    return shapes.ErasedRater(name=found.name, votes=found.votes)


# -- gold pairs --------------------------------------------------------------------------


async def _pairs(desk: Desk, study: int) -> shapes.GoldPairs:
    async with desk.study(study) as opened:
        return shapes.GoldPairs.model_validate({"gold": plain(await opened.read(Study.gold))})


@_gold.get("")
async def gold(study: shapes.StudyId, desk: DeskHere, caller: Looker) -> shapes.GoldPairs:
    """The pairs whose answers are known."""
    return await _pairs(desk, study)


@_gold.post("")
async def add_gold(study: shapes.StudyId, given: shapes.Gold, desk: DeskHere, caller: Owner) -> shapes.GoldPairs:
    """A pair whose answer is known: each rater is asked it once, slipped in among the others."""
    async with desk.study(study) as opened:
        await opened.write(Study.add_gold, given.first, given.second, given.outcome)
    return await _pairs(desk, study)


@_gold.post("/remove")
async def remove_gold(study: shapes.StudyId, given: shapes.Pair, desk: DeskHere, caller: Owner) -> shapes.GoldPairs:
    """Ask a gold pair no more."""
    async with desk.study(study) as opened:
        await opened.write(Study.remove_gold, given.first, given.second)
    return await _pairs(desk, study)


# -- tokens ------------------------------------------------------------------------------


def _shown(token: Token) -> dict[str, object]:
    return plain(token)


async def _made(desk: Desk, study: int | None, given: shapes.NewToken) -> shapes.MadeToken:
    made = await asyncio.to_thread(create_token, desk.storage, given.scope, study, given.rater, given.label, given.days)
    return shapes.MadeToken.model_validate({**_shown(made.token), "token": made.secret})


async def _listed(desk: Desk, study: int | None) -> shapes.Tokens:
    found = await asyncio.to_thread(list_tokens, desk.storage, study)
    return shapes.Tokens.model_validate({"tokens": [_shown(token) for token in found]})


async def _revoke(desk: Desk, token_id: str, study: int | None) -> None:
    known = await asyncio.to_thread(list_tokens, desk.storage, study)
    if all(token.id != token_id for token in known):
        raise UnknownToken(f"There is no token of the id {token_id!r}.", "`GET /api/v1/tokens` lists the tokens.")
    await asyncio.to_thread(revoke_token, desk.storage, token_id)
    desk.forget_tokens()


@_tokens.get("/tokens")
async def tokens(desk: DeskHere, caller: OwnerOfAll) -> shapes.Tokens:
    """All tokens, without their secrets."""
    return await _listed(desk, None)


@_tokens.post("/tokens", status_code=201)
async def make_token(given: shapes.NewToken, desk: DeskHere, caller: OwnerOfAll) -> shapes.MadeToken:
    """A token of all studies; its secret is shown this once."""
    return await _made(desk, None, given)


@_tokens.delete("/tokens/{token}", status_code=204)
async def revoke(token: TokenId, desk: DeskHere, caller: OwnerOfAll) -> None:
    """Refuse a token from now on."""
    await _revoke(desk, token, None)


@_tokens.get("/studies/{study}/tokens")
async def tokens_of_study(study: shapes.StudyId, desk: DeskHere, caller: Owner) -> shapes.Tokens:
    """The tokens of a study, without their secrets."""
    await desk.check(study)
    return await _listed(desk, study)


@_tokens.post("/studies/{study}/tokens", status_code=201)
async def make_token_of_study(
    study: shapes.StudyId, given: shapes.NewToken, desk: DeskHere, caller: Owner
) -> shapes.MadeToken:
    """A token of one study; its secret is shown this once."""
    await desk.check(study)
    return await _made(desk, study, given)


@_tokens.delete("/studies/{study}/tokens/{token}", status_code=204)
async def revoke_of_study(study: shapes.StudyId, token: TokenId, desk: DeskHere, caller: Owner) -> None:
    """Refuse a token of this study from now on."""
    await desk.check(study)
    await _revoke(desk, token, study)


@_tokens.post("/studies/{study}/links", status_code=201)
async def links(
    study: shapes.StudyId, given: shapes.Links, request: Request, desk: DeskHere, caller: Owner
) -> shapes.MadeLinks:
    """A link for each of these raters, to be sent to them; it is shown this once."""
    await desk.check(study)
    made: list[shapes.Link] = []
    for rater in given.raters:
        new = await asyncio.to_thread(create_token, desk.storage, Scope.RATER, study, rater, "link", given.days)
        url = desk.options.link(f"/rate/{study}#{new.secret}", str(request.base_url))
        made.append(shapes.Link(rater=rater, url=url, id=new.token.id, expires_at=new.token.expires_at))
    return shapes.MadeLinks(links=made)


for part in (_raters, _gold, _tokens):
    router.include_router(part)
