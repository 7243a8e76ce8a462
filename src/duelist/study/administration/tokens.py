"""Access tokens for the studies of a storage, each with a scope, for one study or for all.

A token is shown once, when it is created; the storage has only its hash. Its 256 random bits cannot be guessed, so a fast hash is enough.

    created = create_token(storage, Scope.RATER, study=study.id, rater="ana")
    created.secret                         # send it to ana
    find_token(storage, created.secret)    # the token, None if it is not valid
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
from duelist.study.storage.encoding import from_microseconds
from duelist.study.validation import checked_rater, checked_text, one_of

PREFIX: Final = "duelist_"
"""The prefix of every token, so that scanners for leaked secrets find it."""
_DAY: Final = 86_400 * 1_000_000
_MAX_DAYS: Final = 36_500


class Scope(StrEnum):
    """ADMIN may do everything, READER may read everything, RATER may vote in one study under one name."""

    ADMIN = "admin"
    READER = "reader"
    RATER = "rater"


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret; `study` is the id of its study, None for all studies."""

    id: str
    scope: Scope
    study: int | None
    rater: str | None
    label: str | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked: bool = False

    def is_valid(self, now: float | None = None) -> bool:
        """Whether the token is neither revoked nor expired."""
        at = time.time() if now is None else now
        return not self.revoked and (self.expires_at is None or at < self.expires_at.timestamp())


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token with its secret, which cannot be recovered later."""

    token: Token
    secret: str

    def __repr__(self) -> str:  # keeps the secret out of logs
        return f"NewToken({self.token!r}, secret=...)"


def create_token(
    storage: Storage,
    scope: Scope | str,
    study: int | None = None,
    rater: str | None = None,
    label: str | None = None,
    days: float | None = None,
) -> NewToken:
    """Create a token.

    Parameters
    ----------
    storage
        Where the token is stored.
    scope
        "admin", "reader" or "rater".
    study
        The id of the study that it is for, None for all; a rater's token is always for one study.
    rater
        The name of the rater, for a rater's token.
    label
        A note on what it is for.
    days
        How long it is valid; None: forever.
    """
    scope = one_of(Scope, "scope", scope)
    if (scope is Scope.RATER) != (rater is not None) or (scope is Scope.RATER and study is None):
        raise InvalidInput(
            f"scope is {scope.value!r} and rater {rater!r}.",
            "A rater's token names the rater and the study, and no other names a rater.",
            field="scope",
        )
    if rater is not None:
        rater = checked_rater(rater)
    if label is not None:
        checked_text("label", label)
    if days is not None and (isinstance(days, bool) or not 0 < days <= _MAX_DAYS):
        raise InvalidInput(
            f"days is {days!r}.", f"Give a number of days up to {_MAX_DAYS}, or leave it out.", field="days"
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    now = round(time.time() * 1e6)
    expires = None if days is None else now + round(days * _DAY)
    row = TokenRow(token_hash(secret), secrets.token_hex(6), scope.value, study, rater, label, now, expires)
    storage.add_token(row)
    return NewToken(_token(row), secret)


def find_token(storage: Storage, secret: str) -> Token | None:
    """Return the valid token with that secret, or None."""
    return find_token_by_hash(storage, token_hash(secret))


def find_token_by_hash(storage: Storage, digest: str) -> Token | None:
    """Return the valid token of that hash, or None."""
    row = storage.find_token(digest)
    token = None if row is None else _token(row)
    return token if token is not None and token.is_valid() else None


def list_tokens(storage: Storage, study: int | None = None) -> list[Token]:
    """Return all tokens, or those of one study, oldest first."""
    return [_token(row) for row in storage.tokens() if study is None or row.study_id == study]


def revoke_token(storage: Storage, token_id: str) -> None:
    """Revoke a token."""
    if not storage.revoke_token(token_id, round(time.time() * 1e6)):
        raise UnknownToken(
            f"There is no token of the id {token_id!r}.", "`list_tokens` lists the tokens.", code="unknown_token.id"
        )


def token_hash(secret: str) -> str:
    """Return the hash of a token, which the storage has in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: TokenRow) -> Token:
    expires = None if row.expires_at is None else from_microseconds(row.expires_at)
    revoked = row.revoked_at is not None
    return Token(
        row.id,
        Scope(row.scope),
        row.study_id,
        row.rater,
        row.label,
        from_microseconds(row.created_at),
        expires,
        revoked,
    )
