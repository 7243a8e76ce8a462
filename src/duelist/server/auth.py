"""Who asks, and whether they may: tokens in headers for programs, in cookies for browsers, which then prove that the page is ours."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, NamedTuple

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from duelist.server.context import ServerContext
from duelist.server.errors import RequestError
from duelist.server.rate_limits import RateLimiter
from duelist.study.access import Scope, Token

OWNER_COOKIE: Final = "duelist_owner"
RATER_COOKIE: Final = "duelist_rater_"
CSRF_HEADER: Final = "X-Duelist-CSRF"
_SAFE: Final = ("GET", "HEAD")
_COOKIE_SECONDS: Final = 400 * 86_400
"""As long as browsers keep any cookie; the token in it may end before."""

BEARER = HTTPBearer(auto_error=False, description="A token, for programs.")
_cookie = APIKeyCookie(name=OWNER_COOKIE, auto_error=False, description="For browsers: set by `POST /api/v1/session`.")


class Caller(NamedTuple):
    """Who asks: by which token, and whether a browser sent it."""

    token: Token
    secret: str
    by_cookie: bool

    def rater(self, named: str | None) -> str:
        """The rater that a request is for: a rater's own name, or whom an admin names."""
        own = self.token.rater
        if own is not None:
            if named is not None and named != own:
                raise RequestError(
                    403, "not_allowed", f"This token is {own!r}'s, not {named!r}'s.", "Leave `rater` out.", "rater"
                )
            return own
        if named is None:
            raise RequestError(
                422, "invalid_input", "rater is missing.", "An admin's request says for which rater it is.", "rater"
            )
        return named

    @property
    def is_privileged(self) -> bool:
        """Whether ids of arms and who chose a pair are shown."""
        return self.token.scope is not Scope.RATER


def server_context(request: Request) -> ServerContext:
    """What this server works with."""
    return request.app.state.server


ServerDep = Annotated[ServerContext, Depends(server_context)]


def client_address(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else "unknown"


def enforce_rate_limit(buckets: RateLimiter, who: str) -> None:
    """Refuse who asks too often."""
    wait = buckets.wait(who)
    if wait > 0:
        raise too_many_requests(wait)


def too_many_requests(wait: float) -> RequestError:
    """What is said to who asks too often."""
    seconds = max(1, math.ceil(wait))
    return RequestError(
        429,
        "too_many_requests",
        "These are too many requests.",
        f"Wait {seconds} s.",
        headers={"Retry-After": str(seconds)},
    )


def require_scope(
    *scopes: Scope, everywhere: bool = False, anywhere: bool = False, rating: bool = False
) -> Callable[..., Awaitable[Caller]]:
    """Lets a request through if its token has one of these scopes: in the study of the path; in all, with `everywhere`; in any.

    `rating` is for what raters do: a rater's cookie goes before an owner's.
    """

    async def allowed(
        request: Request,
        server: ServerDep,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
        _documented: Annotated[str | None, Security(_cookie)],
    ) -> Caller:
        study = request.path_params.get("study")
        caller = await authenticate(request, server, bearer, study if rating else None)
        token = caller.token
        request.scope["duelist_token"] = token.id
        enforce_rate_limit(server.token_limiter, token.id)
        if token.scope not in scopes:
            wanted = " or ".join(scopes)
            raise RequestError(
                403,
                "not_allowed",
                f"This needs the scope {wanted}, and the token has {token.scope}.",
                "Use another token.",
            )
        if token.study is not None and not anywhere and (everywhere or str(study) != str(token.study)):
            raise RequestError(
                403, "not_allowed", "This token is for another study.", "Use a token of this one, or of all."
            )
        return caller

    return allowed


async def authenticate(
    request: Request, server: ServerContext, bearer: HTTPAuthorizationCredentials | None, rating_in: str | int | None
) -> Caller:
    """Who asks; refused if nobody is known."""
    by_cookie = bearer is None
    secret = _cookie_of(request, rating_in) if bearer is None else bearer.credentials
    if secret is None:
        enforce_rate_limit(server.address_limiter, client_address(request))
        raise RequestError(
            401,
            "not_signed_in",
            "This needs a token.",
            "Send `Authorization: Bearer TOKEN`, or sign in.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    token = await server.token(secret)
    if token is None:
        enforce_rate_limit(server.address_limiter, client_address(request))
        raise unknown_token()
    caller = Caller(token, secret, by_cookie)
    if by_cookie and request.method not in _SAFE:
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), csrf_token(secret).encode()):
            raise RequestError(
                403,
                "csrf",
                f"The header {CSRF_HEADER} is missing or wrong.",
                "Send the `csrf` of `GET /api/v1/session`.",
            )
    return caller


def unknown_token() -> RequestError:
    """What is said to who has a token that opens nothing."""
    return RequestError(
        401,
        "token_unknown",
        "The token is not known, was revoked, or has expired.",
        "Ask the owner of the study for a new one.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _cookie_of(request: Request, rating_in: str | int | None) -> str | None:
    own = None if rating_in is None else request.cookies.get(f"{RATER_COOKIE}{rating_in}")
    return own or request.cookies.get(OWNER_COOKIE) or None


def csrf_token(secret: str) -> str:
    """What only a page that may read our answers can know: another site can make a browser send the cookie, but not this."""
    return hmac.new(secret.encode("utf-8", "surrogatepass"), b"duelist csrf", hashlib.sha256).hexdigest()


def cookie_name(token: Token) -> str:
    """Owners have one cookie, raters one for each study."""
    return f"{RATER_COOKIE}{token.study}" if token.scope is Scope.RATER else OWNER_COOKIE


def set_cookie(response: Response, token: Token, secret: str, secure: bool) -> None:
    """Let the browser send the token from now on."""
    response.set_cookie(
        cookie_name(token), secret, max_age=_COOKIE_SECONDS, path="/", secure=secure, httponly=True, samesite="strict"
    )


ADMIN = Scope.ADMIN
READER = Scope.READER
RATER = Scope.RATER
Owner = Annotated[Caller, Depends(require_scope(ADMIN))]
StudyReader = Annotated[Caller, Depends(require_scope(ADMIN, READER))]
StudyRater = Annotated[Caller, Depends(require_scope(ADMIN, RATER, rating=True))]
StudyMember = Annotated[Caller, Depends(require_scope(ADMIN, READER, RATER, rating=True))]
ServerAdmin = Annotated[Caller, Depends(require_scope(ADMIN, everywhere=True))]
ServerReader = Annotated[Caller, Depends(require_scope(ADMIN, READER, everywhere=True))]
