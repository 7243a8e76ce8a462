"""What one server process works with: the storage, the studies that are open, tokens, the back office, and who listens."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final

from duelist.errors import UnknownStudy
from duelist.server.content import Shower
from duelist.server.counting import Counting
from duelist.server.errands import Errands
from duelist.server.events import Changes
from duelist.server.limits import Buckets
from duelist.server.options import ServerOptions
from duelist.study import AsyncStudy, Study, load_study_by_id, open_storage
from duelist.study.access import Scope, Token, find_token, token_hash

MOST_OPEN: Final = 64
"""Studies that are kept open; who was used longest ago is closed first."""
TRUSTED_FOR: Final = 2.0
"""Seconds for which what a token allows is remembered: so long one that was revoked at another process may still be taken."""
_BURST: Final = 10.0
_KNOWN: Final = 10_000


class Desk:
    """Everything that requests share."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.storage = open_storage(options.storage)
        self.counting = Counting(self.storage)
        url = options.storage if isinstance(options.storage, str) and options.storage != "memory" else None
        self.errands = Errands(self.storage, url, self.counting)
        self.stopping = asyncio.Event()
        self.by_token = Buckets(options.rate_limit, _BURST * options.rate_limit)
        self.strangers = Buckets(options.rate_limit, _BURST * options.rate_limit)
        self.failed_signing_in = Buckets(1 / 6, 10.0)
        self.registering = Buckets(1.0, 60.0)
        self._studies: OrderedDict[int, AsyncStudy] = OrderedDict()
        self._changes: dict[int, Changes] = {}
        self._opening: dict[int, asyncio.Lock] = {}
        self._tokens: OrderedDict[str, tuple[float, Token]] = OrderedDict()
        self._temporary = None if options.temporary_token is None else token_hash(options.temporary_token)

    # -- studies -------------------------------------------------------------------------

    async def study(self, study_id: int) -> AsyncStudy:
        """The study of that id, open."""
        found = self._studies.get(study_id)
        if found is None:
            async with self._opening.setdefault(study_id, asyncio.Lock()):
                found = self._studies.get(study_id)
                if found is None:
                    try:
                        found = AsyncStudy(await asyncio.to_thread(load_study_by_id, study_id, self.storage))
                    except UnknownStudy:
                        self._opening.pop(study_id, None)
                        raise
                    self._studies[study_id] = found
        self._studies.move_to_end(study_id)
        if len(self._studies) > MOST_OPEN:
            oldest, closed = self._studies.popitem(last=False)
            if not self._changes.get(oldest):
                self._changes.pop(oldest, None)
            await closed.close()
        return found

    async def forget(self, study_id: int) -> None:
        """A study is gone."""
        self._changes.pop(study_id, None)
        closed = self._studies.pop(study_id, None)
        if closed is not None:
            await closed.close()

    def shower(self, study: Study) -> Shower:
        """Makes blocks of the payloads of a study."""
        return Shower(study.id, study.settings.show_as, self.options.media)

    async def changes(self, study_id: int) -> Changes:
        """Those who listen to a study."""
        await self.study(study_id)
        return self._changes.setdefault(study_id, Changes(lambda: self.study(study_id)))

    # -- tokens --------------------------------------------------------------------------

    async def token(self, secret: str) -> Token | None:
        """What a token allows, None if nothing."""
        digest, now = token_hash(secret), time.monotonic()
        if digest == self._temporary:
            return Token("temporary", Scope.ADMIN, None, None, "of this server", datetime.now(UTC))
        known = self._tokens.get(digest)
        if known is not None and now - known[0] < TRUSTED_FOR and known[1].is_valid():
            return known[1]
        found = await asyncio.to_thread(find_token, self.storage, secret)
        if found is None:
            self._tokens.pop(digest, None)
            return None
        self._tokens[digest] = now, found
        self._tokens.move_to_end(digest)
        if len(self._tokens) > _KNOWN:
            self._tokens.popitem(last=False)
        return found

    def forget_tokens(self) -> None:
        """Look every token up again: one was revoked."""
        self._tokens.clear()

    # -- the end -------------------------------------------------------------------------

    async def close(self) -> None:
        """Finish what was begun."""
        self.stopping.set()
        await self.errands.close()
        for study in self._studies.values():
            await study.close()
        self._studies.clear()
        await asyncio.to_thread(self.storage.close)
