"""Browser sessions: short-lived secrets that stand for a token and rotate, so that a stolen cookie soon becomes useless.

A session ends on sign-out, after 30 days without use, and when its token is revoked or expires.
"""

from __future__ import annotations

import secrets
import time
from typing import Final, NamedTuple

from duelist.study.administration.tokens import token_hash
from duelist.study.storage import SessionRow, Storage

ROTATE_SECONDS: Final = 3600.0
"""Age at which a secret is replaced by the next request."""
GRACE_SECONDS: Final = 60.0
"""Seconds for which the previous secret stays valid, for requests in flight."""
IDLE_SECONDS: Final = 30 * 86_400.0
"""Seconds without a request after which a session ends."""


class NewSession(NamedTuple):
    """A new session, and the secret that its browser keeps."""

    row: SessionRow
    secret: str


def create_session(storage: Storage, token_digest: str) -> NewSession:
    """Create a session for the token with this hash."""
    now, secret = _now(), secrets.token_urlsafe(32)
    row = SessionRow(
        secrets.token_hex(16), token_hash(secret), None, token_digest, now, now + round(IDLE_SECONDS * 1e6)
    )
    storage.add_session(row, now)
    return NewSession(row, secret)


def find_session(storage: Storage, secret: str) -> SessionRow | None:
    """Return the valid session with that secret."""
    row = storage.find_session(token_hash(secret))
    return row if row is not None and is_valid(row, secret) else None


def is_valid(row: SessionRow, secret: str) -> bool:
    """Return whether a session has not expired and the secret is its own, or was until just now."""
    now = _now()
    return now < row.expires_at and (token_hash(secret) == row.hash or now < row.rotated_at + GRACE_SECONDS * 1e6)


def needs_rotation(row: SessionRow, secret: str) -> bool:
    """Return whether this is the current secret and due for rotation."""
    return token_hash(secret) == row.hash and _now() > row.rotated_at + ROTATE_SECONDS * 1e6


def rotate_session(storage: Storage, secret: str) -> str | None:
    """Replace the secret of a session and return the new one; None if another request has just done that."""
    now, new = _now(), secrets.token_urlsafe(32)
    is_ours = storage.rotate_session(token_hash(secret), token_hash(new), now, now + round(IDLE_SECONDS * 1e6))
    return new if is_ours else None


def _now() -> int:
    return round(time.time() * 1e6)
