"""Authentication and authorization: the token check of every request.

A route declares the caller it needs (`StudyAdmin`, `StudyReader`, ...), which runs `require_scope`. Programs send their token in a
header, browsers in a cookie together with a CSRF header.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, NamedTuple

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from duelist.core.errors import UnknownStudy
from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.http.rate_limits import RateLimiter
from duelist.server.http.routing import authenticated
from duelist.server.monitoring.audit import CALLER
from duelist.study.administration.sessions import (
    IDLE_SECONDS,
    create_session,
    find_session,
    needs_rotation,
    rotate_session,
)
from duelist.study.administration.tokens import Scope, Token
from duelist.study.storage import SessionRow
from duelist.study.validation import checked_rater

OWNER_COOKIE: Final = "duelist_owner"
RATER_COOKIE: Final = "duelist_rater_"
CSRF_HEADER: Final = "X-Duelist-CSRF"
_SAFE: Final = ("GET", "HEAD")
NEW_COOKIE: Final = "duelist_new_cookie"
"""The key under which the scope of a request has the cookie that its response sets."""

BEARER = HTTPBearer(auto_error=False, description="A token, for programs.")
_cookie = APIKeyCookie(name=OWNER_COOKIE, auto_error=False, description="For browsers: set by `POST /api/v1/session`.")


class Caller(NamedTuple):
    """The sender of a request: their token, and their session if a cookie came instead of the token."""

    token: Token
    session: SessionRow | None = None

    @property
    def csrf(self) -> str:
        """The value that a page sends with changes: other sites can make a browser send the cookie, but cannot read this value."""
        key = "" if self.session is None else self.session.id
        return hmac.new(key.encode(), b"duelist csrf", hashlib.sha256).hexdigest()

    def rater(self, name: str | None) -> str:
        """Return the rater of a request: the token's rater, or the one that an admin names."""
        own = self.token.rater
        if own is not None:
            if name is not None and checked_rater(name) != own:
                raise RequestError(
                    403, "not_allowed", f"This token is {own!r}'s, not {name!r}'s.", "Omit `rater`.", "rater"
                )
            return own
        if name is None:
            raise RequestError(
                422, "invalid_input", "rater is missing.", "Name the rater: an admin's token has none.", "rater"
            )
        return checked_rater(name)

    @property
    def is_privileged(self) -> bool:
        """Whether responses include arm ids and how a pair was chosen."""
        return self.token.scope is not Scope.RATER


def is_privileged(request: Request) -> bool:
    """Return whether an owner or a reader sent the request; raters and strangers learn less from errors."""
    caller: Caller | None = request.scope.get(CALLER)
    return caller is not None and caller.is_privileged


def server_context(request: Request) -> ServerContext:
    """Return the context that all requests share."""
    return request.app.state.server


ServerDep = Annotated[ServerContext, Depends(server_context)]


def client_address(request: Request) -> str:
    """Return the IP address of the client."""
    return request.client.host if request.client else "unknown"


def is_https(request: Request, server: ServerContext) -> bool:
    """Return whether the browser uses https, by the public address or by what a trusted proxy says; cookies are then secure."""
    return server.options.is_https or request.url.scheme == "https"


def enforce_rate_limit(limiter: RateLimiter, key: str) -> None:
    """Raise an error if this key has used up its requests."""
    wait = limiter.acquire(key)
    if wait > 0:
        raise too_many_requests(wait)


def too_many_requests(wait: float) -> RequestError:
    """Return the error for a client over its rate limit."""
    seconds = max(1, math.ceil(wait))
    return RequestError(
        429,
        "too_many_requests",
        "Too many requests.",
        f"Wait {seconds} s.",
        headers={"Retry-After": str(seconds)},
    )


def require_scope(
    *scopes: Scope, all_studies: bool = False, any_study: bool = False, as_rater: bool = False
) -> Callable[..., Awaitable[Caller]]:
    """Return a dependency that authenticates the caller and checks the scope of their token.

    Parameters
    ----------
    *scopes
        The scopes that are allowed.
    all_studies
        Require a token for all studies.
    any_study
        Accept the token of any study, not only of the one in the path.
    as_rater
        Prefer the cookie of a rater over that of an owner.
    """

    async def check(request: Request) -> Caller:
        server, study = server_context(request), request.path_params.get("study")
        caller = await authenticate(request, server, await BEARER(request), study if as_rater else None)
        token = caller.token
        request.scope["duelist_token"] = token.id
        enforce_rate_limit(server.token_limiter, token.id)
        if token.scope not in scopes:
            allowed_scopes = " or ".join(scopes)
            raise RequestError(
                403,
                "not_allowed",
                f"This needs the scope {allowed_scopes}; the token has {token.scope}.",
                "Use a token with that scope.",
            )
        if token.study is not None and not any_study and (all_studies or str(study) != str(token.study)):
            raise RequestError(
                403, "not_allowed", "This token is for another study.", "Use a token for this study or for all studies."
            )
        return caller

    async def allowed(
        request: Request,
        _bearer_scheme: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
        _cookie_scheme: Annotated[str | None, Security(_cookie)],
    ) -> Caller:
        caller: Caller = authenticated(request)
        return caller

    allowed.authenticate = check  # type: ignore[attr-defined]  # CheckedRoute calls it before it reads the body
    return allowed


async def authenticate(
    request: Request, server: ServerContext, bearer: HTTPAuthorizationCredentials | None, rater_study: str | int | None
) -> Caller:
    """Return the caller by their token; check the CSRF header of a cookie."""
    if bearer is None:
        caller = await _caller_of_cookie(request, server, rater_study)
    else:
        found = await server.find_token(bearer.credentials)
        caller = None if found is None else Caller(found)
    if caller is None and bearer is None and _cookie_of(request, rater_study) is None:
        enforce_rate_limit(server.address_limiter, client_address(request))
        raise RequestError(
            401,
            "not_signed_in",
            "This needs a token.",
            "Send `Authorization: Bearer TOKEN`, or sign in.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if caller is None:
        enforce_rate_limit(server.address_limiter, client_address(request))
        raise unknown_token()
    if caller.session is not None and request.method not in _SAFE:
        sent = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(sent.encode("utf-8", "replace"), caller.csrf.encode()):
            raise RequestError(
                403,
                "csrf",
                f"The header {CSRF_HEADER} is missing or wrong.",
                "Send the `csrf` of `GET /api/v1/session`.",
            )
    return caller


def unknown_token() -> RequestError:
    """Return the error for a token that is not valid."""
    return RequestError(
        401,
        "token_unknown",
        "The token is unknown, revoked or expired.",
        "Ask the owner of the study for a new one.",
        headers={"WWW-Authenticate": "Bearer"},
    )


async def _caller_of_cookie(request: Request, server: ServerContext, rater_study: str | int | None) -> Caller | None:
    """Return the caller by their session, whose secret is replaced if it is old."""
    secret = _cookie_of(request, rater_study)
    session = None if secret is None else await asyncio.to_thread(find_session, server.storage, secret)
    token = None if session is None else await server.find_token_by_hash(session.token)
    if secret is None or session is None or token is None:
        return None
    if needs_rotation(session, secret):
        new = await asyncio.to_thread(rotate_session, server.storage, secret)
        if new is not None:
            request.scope[NEW_COOKIE] = await _cookie_header(request, server, token, new)
    return Caller(token, session)


def _cookie_of(request: Request, rater_study: str | int | None) -> str | None:
    own = None if rater_study is None else request.cookies.get(f"{RATER_COOKIE}{rater_study}")
    return own or request.cookies.get(OWNER_COOKIE) or None


def cookie_name(token: Token) -> str:
    """Return the name of a token's cookie: owners have one, raters one per study."""
    return f"{RATER_COOKIE}{token.study}" if token.scope is Scope.RATER else OWNER_COOKIE


async def start_session(request: Request, server: ServerContext, token: Token, digest: str) -> Caller:
    """Start a session for the token with this hash, end the browser's earlier one, and set the cookie of the response."""
    await end_session(request, server, cookie_name(token))
    session, secret = await asyncio.to_thread(create_session, server.storage, digest)
    request.scope[NEW_COOKIE] = await _cookie_header(request, server, token, secret)
    return Caller(token, session)


async def end_session(request: Request, server: ServerContext, cookie: str) -> None:
    """End the session of a cookie, if there is one."""
    secret = request.cookies.get(cookie)
    session = None if not secret else await asyncio.to_thread(find_session, server.storage, secret)
    if session is not None:
        await asyncio.to_thread(server.storage.end_session, session.id)


async def _cookie_header(request: Request, server: ServerContext, token: Token, secret: str) -> bytes:
    """Return the header that stores the secret of a session; a rater's works in frames of the sites that their study names."""
    embedded = token.scope is Scope.RATER and await is_embedded(server, token.study)
    return cookie_header(cookie_name(token), secret, is_https(request, server), embedded)


async def is_embedded(server: ServerContext, study: int | None) -> bool:
    """Return whether other sites may show the rater page of a study in a frame."""
    if study is None:
        return False
    try:
        async with server.study(study) as opened:
            return bool(opened.study.settings.recruiting.embed_in)
    except UnknownStudy:
        return False


def cookie_header(name: str, secret: str, secure: bool, embedded: bool = False) -> bytes:
    """Return the header that stores the secret of a session in a browser; an empty secret deletes it.

    In a frame of another site, browsers keep a cookie only if it is secure and separate for each such site ("partitioned"). The CSRF
    token then is what keeps other sites from acting for a rater.

    >>> cookie_header("duelist_rater_1", "s", secure=True, embedded=True).decode()
    'duelist_rater_1=s; HttpOnly; Max-Age=2592000; Path=/; SameSite=none; Secure; Partitioned'
    """
    response, is_framed = Response(), secure and embedded
    response.set_cookie(
        name,
        secret,
        max_age=round(IDLE_SECONDS) if secret else 0,
        path="/",
        secure=secure,
        httponly=True,
        samesite="none" if is_framed else "strict",
    )
    return response.headers["set-cookie"].encode() + (b"; Partitioned" if is_framed else b"")


ADMIN = Scope.ADMIN
READER = Scope.READER
RATER = Scope.RATER
StudyAdmin = Annotated[Caller, Depends(require_scope(ADMIN))]
StudyReader = Annotated[Caller, Depends(require_scope(ADMIN, READER))]
StudyRater = Annotated[Caller, Depends(require_scope(ADMIN, RATER, as_rater=True))]
StudyMember = Annotated[Caller, Depends(require_scope(ADMIN, READER, RATER, as_rater=True))]
ServerAdmin = Annotated[Caller, Depends(require_scope(ADMIN, all_studies=True))]
ServerReader = Annotated[Caller, Depends(require_scope(ADMIN, READER, all_studies=True))]
