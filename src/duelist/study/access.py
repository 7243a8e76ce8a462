"""Who may do what with the studies of a storage: tokens, each with a scope, in one study or in all.

A token is shown once, when it is made; the storage keeps its hash. It has 256 bits by chance, so a fast hash is enough: there is
nothing to guess.

    made = create_token(storage, Scope.RATER, study=study.id, rater="ana")
    made.secret                         # to be sent to ana
    find_token(storage, made.secret)    # what it allows, None if nothing
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from duelist.core.errors import InvalidInput, UnknownToken
from duelist.study.storage import Storage, TokenRow
from duelist.study.times import moment
from duelist.study.validation import checked_rater, checked_text, one_of

PREFIX: Final = "duelist_"
"""What every token begins with, so that those who look for leaked secrets find it."""
_DAY: Final = 86_400 * 1_000_000
_MOST_DAYS: Final = 36_500


class Scope(StrEnum):
    """ADMIN does everything; READER looks at everything; RATER answers, in one study and under one name."""

    ADMIN = "admin"
    READER = "reader"
    RATER = "rater"


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token. `study` is the id of the only study that it is for, None for all of them."""

    id: str
    scope: Scope
    study: int | None
    rater: str | None
    label: str | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked: bool = False

    def is_valid(self, now: float | None = None) -> bool:
        """Whether it opens anything at this moment."""
        at = time.time() if now is None else now
        return not self.revoked and (self.expires_at is None or at < self.expires_at.timestamp())


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made; nobody can find out its secret later."""

    token: Token
    secret: str

    def __repr__(self) -> str:  # a secret has no business in a log
        return f"NewToken({self.token!r}, secret=...)"


def create_token(
    storage: Storage,
    scope: Scope | str,
    study: int | None = None,
    rater: str | None = None,
    label: str | None = None,
    days: float | None = None,
) -> NewToken:
    """A new token.

    Parameters
    ----------
    storage
        Where it is kept.
    scope
        "admin", "reader" or "rater".
    study
        The id of the only study it is for; a rater's is always for one.
    rater
        The name under which a rater's token votes.
    label
        What it is for, in the owner's words.
    days
        After so many it is refused; None for never.
    """
    scope = one_of(Scope, "scope", scope)
    if (scope is Scope.RATER) != (rater is not None) or (scope is Scope.RATER and study is None):
        raise InvalidInput(
            f"scope is {scope.value!r} and rater {rater!r}.",
            "A rater's token names the rater and the study, and no other names a rater.",
            field="scope",
        )
    if rater is not None:
        checked_rater(rater)
    if label is not None:
        checked_text("label", label)
    if days is not None and (isinstance(days, bool) or not 0 < days <= _MOST_DAYS):
        raise InvalidInput(
            f"days is {days!r}.", f"Give a number of days up to {_MOST_DAYS}, or leave it out.", field="days"
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    now = round(time.time() * 1e6)
    expires = None if days is None else now + round(days * _DAY)
    row = TokenRow(token_hash(secret), secrets.token_hex(6), scope.value, study, rater, label, now, expires)
    storage.add_token(row)
    return NewToken(_token(row), secret)


def find_token(storage: Storage, secret: str) -> Token | None:
    """What a token allows at this moment; None if it was never made, was revoked, or has expired."""
    row = storage.find_token(token_hash(secret))
    token = None if row is None else _token(row)
    return token if token is not None and token.is_valid() else None


def list_tokens(storage: Storage, study: int | None = None) -> list[Token]:
    """All tokens, oldest first; or those of one study."""
    return [_token(row) for row in storage.tokens() if study is None or row.study_id == study]


def revoke_token(storage: Storage, token_id: str) -> None:
    """Refuse a token from now on."""
    if not storage.revoke_token(token_id, round(time.time() * 1e6)):
        raise UnknownToken(
            f"There is no token of the id {token_id!r}.", "`list_tokens` lists the tokens.", code="unknown_token.id"
        )


def token_hash(secret: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: TokenRow) -> Token:
    expires = None if row.expires_at is None else moment(row.expires_at)
    revoked = row.revoked_at is not None
    return Token(row.id, Scope(row.scope), row.study_id, row.rater, row.label, moment(row.created_at), expires, revoked)
