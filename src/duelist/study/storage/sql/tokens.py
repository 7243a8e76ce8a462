"""SQL statements for tokens and media files, and the storage of tokens in a database."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from duelist.study.storage.sql.tables import media, tokens
from duelist.study.storage.tokens import KeepsTokens, TokenRow

_ADD: Final = sa.insert(tokens)
_FIND: Final = sa.select(*(tokens.c[name] for name in TokenRow._fields)).where(tokens.c.hash == given("digest"))
_ALL: Final = sa.select(*(tokens.c[name] for name in TokenRow._fields))
_REVOKE: Final = (
    sa.update(tokens)
    .where(tokens.c.id == given("which"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=given("now"))
)
_IS_THERE: Final = sa.select(tokens.c.id).where(tokens.c.id == given("which"))
DROP_TOKENS_OF: Final = sa.delete(tokens).where(
    tokens.c.study_id == given("study", type_=sa.BigInteger), tokens.c.rater == given("who")
)

_study: Any = given("study", type_=sa.BigInteger)
MEDIA_KEYS: Final = sa.select(media.c.key).where(media.c.study_id == _study)
MEDIA: Final = sa.select(media.c.key, media.c.name, media.c.type, media.c.body).where(
    media.c.study_id == _study, media.c.key == given("which")
)
ADD_MEDIA: Final = sa.insert(media)


class SqlTokens(KeepsTokens):
    """Tokens in a database."""

    _writer: sa.Engine
    _reader: sa.Engine

    @abstractmethod
    def _begun(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """A transaction, in the storage's own way."""

    def add_token(self, row: TokenRow) -> None:
        """One more."""
        with self._begun(self._writer) as connection:
            connection.execute(_ADD, row._asdict())

    def find_token(self, digest: str) -> TokenRow | None:
        """The token of that hash, whatever became of it."""
        with self._begun(self._reader) as connection:
            found = connection.execute(_FIND, {"digest": digest}).first()
        return None if found is None else TokenRow(*found)

    def tokens(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        with self._begun(self._reader) as connection:
            found = [TokenRow(*row) for row in connection.execute(_ALL)]
        return sorted(found, key=lambda row: (row.created_at, row.id))

    def revoke_token(self, token_id: str, at: int) -> bool:
        """Note that a token is refused from now on; whether there is one of that id."""
        with self._begun(self._writer) as connection:
            connection.execute(_REVOKE, {"which": token_id, "now": at})
            return connection.execute(_IS_THERE, {"which": token_id}).first() is not None
