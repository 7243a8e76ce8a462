"""What a storage keeps beside studies: tokens that say who may do what, and files that raters are shown.

A storage need not: one that does not says so, and serves everything but the study server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Never

from duelist.core.errors import StorageError


class TokenRow(NamedTuple):
    """What is kept of a token: its hash, what it allows, and until when. Without a study it is one of all studies."""

    hash: str
    id: str
    scope: str
    study_id: int | None
    rater: str | None
    label: str | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class MediaRow(NamedTuple):
    """A file that raters are shown."""

    key: str
    name: str
    type: str
    body: bytes


def _refuse(what: str) -> Never:
    raise StorageError(f"This storage keeps no {what}.", "Use SQLite or PostgreSQL.")


class KeepsTokens:
    """The part of a storage that keeps tokens."""

    def add_token(self, row: TokenRow) -> None:
        """One more."""
        _refuse("tokens")

    def find_token(self, digest: str) -> TokenRow | None:
        """The token of that hash, whatever became of it."""
        _refuse("tokens")

    def tokens(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        _refuse("tokens")

    def revoke_token(self, token_id: str, at: int) -> bool:
        """Note that a token is refused from now on; whether there is one of that id."""
        _refuse("tokens")


class KeepsMedia:
    """The part of a transaction that keeps files."""

    def media_keys(self) -> list[str]:
        """The keys of all files, in order."""
        return []

    def media(self, key: str) -> MediaRow | None:
        """The file of that key."""
        _refuse("files")

    def add_media(self, rows: Sequence[MediaRow]) -> None:
        """Keep files; one that is there already stays."""
        _refuse("files")
