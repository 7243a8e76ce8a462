"""What one server process works with: the storage, the studies that are open, tokens, the back office, and who listens."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final
from weakref import WeakValueDictionary

from duelist.server.content import ContentRenderer
from duelist.server.events import StudyEvents
from duelist.server.monitoring.metrics import Metrics
from duelist.server.options import ServerOptions
from duelist.server.rate_limits import RateLimiter
from duelist.server.worker.client import WorkerClient
from duelist.study import AsyncStudy, Storage, Study, load_study_by_id, open_storage
from duelist.study.access import Scope, Token, find_token, token_hash

MAX_IDLE_STUDIES: Final = 64
"""Studies that are kept open though nobody uses them; who was used longest ago is closed first.

Those in use do not count: however many are listened to, others are not closed after each request, to be opened for the next."""
TOKEN_CACHE_SECONDS: Final = 2.0
"""Seconds for which what a token allows is remembered: so long one that was revoked at another process may still be taken."""
_BURST: Final = 10.0
_KNOWN: Final = 10_000


class _OpenStudy:
    """A study that is open, or about to be, and how many use it."""

    def __init__(self) -> None:
        self.study: AsyncStudy | None = None
        self.users = 0
        self._opening = asyncio.Lock()

    async def opened(self, study_id: int, storage: Storage) -> AsyncStudy:
        """The study; whoever comes first opens it."""
        async with self._opening:
            if self.study is None:
                self.study = AsyncStudy(await asyncio.to_thread(load_study_by_id, study_id, storage))
            return self.study


class ServerContext:
    """Everything that requests share."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.storage = open_storage(options.storage)
        self.metrics = Metrics(self.storage)
        url = options.storage if isinstance(options.storage, str) and options.storage != "memory" else None
        self.worker = WorkerClient(self.storage, url, self.metrics)
        self.stopping = asyncio.Event()
        self.token_limiter = RateLimiter(options.rate_limit, _BURST * options.rate_limit)
        self.address_limiter = RateLimiter(options.rate_limit, _BURST * options.rate_limit)
        self.sign_in_limiter = RateLimiter(1 / 6, 10.0)
        self.registration_limiter = RateLimiter(1.0, 60.0)
        self._places: OrderedDict[int, _OpenStudy] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._changes: WeakValueDictionary[int, StudyEvents] = WeakValueDictionary()  # as long as anybody has them
        self._tokens: OrderedDict[str, tuple[float, Token]] = OrderedDict()
        self._temporary = None if options.temporary_token is None else token_hash(options.temporary_token)

    # -- studies -------------------------------------------------------------------------

    @asynccontextmanager
    async def study(self, study_id: int) -> AsyncIterator[AsyncStudy]:
        """The study of that id, open as long as the block lasts: what takes several steps is not left with a closed one between them."""
        place = self._places.setdefault(study_id, _OpenStudy())
        place.users += 1
        try:
            yield await place.opened(study_id, self.storage)
        finally:
            place.users -= 1
            self._leave(study_id, place)

    async def check(self, study_id: int) -> None:
        """Refuse the id of a study that is not there."""
        async with self.study(study_id):
            pass

    def forget(self, study_id: int) -> None:
        """A study is gone; whoever still uses it is the last."""
        self._changes.pop(study_id, None)
        place = self._places.pop(study_id, None)
        if place is not None and not place.users:
            self._close(place)

    def _leave(self, study_id: int, place: _OpenStudy) -> None:
        if self._places.get(study_id) is not place:  # it was forgotten meanwhile
            if not place.users:
                self._close(place)
        elif place.study is None and not place.users:  # it could not be opened
            del self._places[study_id]
        else:
            self._places.move_to_end(study_id)
            if self._is_idle(study_id):
                self._close_surplus()

    def _is_idle(self, study_id: int) -> bool:
        """Whether nobody uses a study. To listen is to use it: closed between two looks, it would be read anew twice a second."""
        return not self._places[study_id].users and not self._changes.get(study_id)

    def _close_surplus(self) -> None:
        idle = [study_id for study_id in self._places if self._is_idle(study_id)]
        for study_id in idle[: max(len(idle) - MAX_IDLE_STUDIES, 0)]:
            self._close(self._places.pop(study_id))

    def _close(self, place: _OpenStudy) -> None:
        """Nobody waits until the threads of a study that they do not use have ended, nor can they break that off by leaving."""
        study, place.study = place.study, None
        if study is not None:
            closing = asyncio.create_task(study.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def renderer(self, study: Study) -> ContentRenderer:
        """Makes blocks of the payloads of a study."""
        return ContentRenderer(study.id, study.settings.show_as, self.options.media)

    async def changes(self, study_id: int) -> StudyEvents:
        """Those who listen to a study."""
        await self.check(study_id)
        return self._changes.setdefault(study_id, StudyEvents(lambda: self.study(study_id)))

    # -- tokens --------------------------------------------------------------------------

    async def token(self, secret: str) -> Token | None:
        """What a token allows, None if nothing."""
        digest, now = token_hash(secret), time.monotonic()
        if digest == self._temporary:
            return Token("temporary", Scope.ADMIN, None, None, "of this server", datetime.now(UTC))
        known = self._tokens.get(digest)
        if known is not None and now - known[0] < TOKEN_CACHE_SECONDS and known[1].is_valid():
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
        await self.worker.close()
        for study_id in list(self._places):
            self._close(self._places.pop(study_id))
        await asyncio.gather(*self._closing)
        await asyncio.to_thread(self.storage.close)
