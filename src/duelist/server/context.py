"""The context that all requests of a server process share."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final
from weakref import WeakValueDictionary

from duelist.server.content import ContentRenderer
from duelist.server.events import StudyEvents
from duelist.server.hidden_names import HiddenNames, HiddenNumbers
from duelist.server.http.file_streams import FileCache
from duelist.server.http.rate_limits import RateLimiter
from duelist.server.monitoring.health import Health
from duelist.server.monitoring.metrics import Metrics
from duelist.server.options import ServerOptions
from duelist.server.worker.client import WorkerClient
from duelist.study import AsyncStudy, Storage, Study, load_study_by_id, open_storage
from duelist.study.administration.tokens import Scope, Token, find_token_by_hash, token_hash

LIVE_RATE: Final = 0.1
"""Prompts per second and rater, after a burst of `LIVE_BURST`."""
LIVE_BURST: Final = 10.0
LIVE_PAIRS: Final = 16
"""Pairs of live answers that are waited for at once; others queue."""
MAX_IDLE_STUDIES: Final = 64
"""Idle studies that stay open; the least recently used is closed first. Studies in use do not count."""
TOKEN_CACHE_SECONDS: Final = 2.0
"""Seconds for which a token is cached, and so may outlive its revocation by another process."""
_BURST: Final = 10.0
_MAX_CACHED_TOKENS: Final = 10_000


class _StudyHandle:
    """A study that is open or being opened, and the number of its users."""

    def __init__(self) -> None:
        self.study: AsyncStudy | None = None
        self.users = 0
        self._opening = asyncio.Lock()

    async def opened(self, study_id: int, storage: Storage, clock: Callable[[], float] | None) -> AsyncStudy:
        """Return the study; the first caller opens it."""
        async with self._opening:
            if self.study is None:
                self.study = AsyncStudy(await asyncio.to_thread(load_study_by_id, study_id, storage, clock))
            return self.study


class ServerContext:
    """Storage, open studies, token cache, worker, limits and metrics of a process."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.storage = open_storage(options.storage)
        self.metrics = Metrics(self.storage)
        url = options.storage if isinstance(options.storage, str) and options.storage != "memory" else None
        self.worker = WorkerClient(self.storage, url, self.metrics)
        self.stored_files = FileCache()
        """Media files that are stored with studies."""
        self.stopping = asyncio.Event()
        self.token_limiter = RateLimiter(options.rate_limit, _BURST * options.rate_limit)
        self.address_limiter = RateLimiter(options.rate_limit, _BURST * options.rate_limit)
        self.sign_in_limiter = RateLimiter(1 / 6, 10.0)
        self.registration_limiter = RateLimiter(1.0, 60.0)
        self.live_limiter = RateLimiter(LIVE_RATE, LIVE_BURST)
        self.live_threads = ThreadPoolExecutor(LIVE_PAIRS, thread_name_prefix="duelist-live")
        self._open_studies: OrderedDict[int, _StudyHandle] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self.health = Health(self._is_responding)
        self._api_description: bytes | None = None
        self.open_streams = Counter[str]()
        """Open event streams by token."""
        self._events: WeakValueDictionary[int, StudyEvents] = WeakValueDictionary()  # kept while subscribed to
        self._token_cache: OrderedDict[str, tuple[float, Token]] = OrderedDict()
        self.temporary_token: Token | None = None
        """The admin token of this run, which is in no storage."""
        self._temporary_token_hash = None if options.temporary_token is None else token_hash(options.temporary_token)
        if options.temporary_token is not None:
            label = "of the running server"
            self.temporary_token = Token("temporary", Scope.ADMIN, None, None, label, datetime.now(UTC))

    # -- studies -------------------------------------------------------------------------

    @asynccontextmanager
    async def study(self, study_id: int) -> AsyncIterator[AsyncStudy]:
        """Open a study for the duration of a block."""
        handle = self._open_studies.setdefault(study_id, _StudyHandle())
        handle.users += 1
        try:
            yield await handle.opened(study_id, self.storage, self.options.clock)
        finally:
            handle.users -= 1
            self._release(study_id, handle)

    async def require_study(self, study_id: int) -> None:
        """Raise `UnknownStudy` if there is no such study."""
        async with self.study(study_id):
            pass

    def forget_study(self, study_id: int) -> None:
        """Close a deleted study when its last user is done."""
        self._events.pop(study_id, None)
        handle = self._open_studies.pop(study_id, None)
        if handle is not None and not handle.users:
            self._close(handle)

    def _release(self, study_id: int, handle: _StudyHandle) -> None:
        if self._open_studies.get(study_id) is not handle:  # forgotten in the meantime
            if not handle.users:
                self._close(handle)
        elif handle.study is None and not handle.users:  # opening failed
            del self._open_studies[study_id]
        else:
            self._open_studies.move_to_end(study_id)
            if self._is_idle(study_id):
                self._close_surplus()

    def _is_idle(self, study_id: int) -> bool:
        """Return whether a study has neither users nor subscribers, for whom it would be reopened at every poll."""
        return not self._open_studies[study_id].users and not self._events.get(study_id)

    def _close_surplus(self) -> None:
        idle = [study_id for study_id in self._open_studies if self._is_idle(study_id)]
        for study_id in idle[: max(len(idle) - MAX_IDLE_STUDIES, 0)]:
            self._close(self._open_studies.pop(study_id))

    def _close(self, handle: _StudyHandle) -> None:
        """Close a study in a background task: no request waits for it or can cancel it."""
        study, handle.study = handle.study, None
        if study is not None:
            closing = asyncio.create_task(study.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    @cached_property
    def secret(self) -> bytes:
        """Random bytes that all servers of the storage share and never disclose."""
        return self.storage.secret()

    @cached_property
    def hidden_names(self) -> HiddenNames:
        """Hides names of files from raters."""
        return HiddenNames(self.secret)

    @cached_property
    def hidden_numbers(self) -> HiddenNumbers:
        """Hides numbers of pairs from raters."""
        return HiddenNumbers(self.secret)

    def renderer(self, study: Study, for_rater: bool = False) -> ContentRenderer:
        """Makes blocks of the payloads of a study."""
        hidden_names = self.hidden_names if for_rater and self.options.media is not None else None
        return ContentRenderer(study.id, study.settings.show_as, self.options.media, hidden_names)

    async def events(self, study_id: int) -> StudyEvents:
        """Return the events of a study."""
        await self.require_study(study_id)
        return self._events.setdefault(study_id, StudyEvents(lambda: self.study(study_id)))

    async def _is_responding(self) -> bool:
        await asyncio.to_thread(self.storage.find_study, "")
        return await self.worker.is_responding()

    async def api_description(self, describe: Callable[[], dict[str, Any]]) -> bytes:
        """Return the OpenAPI description, which is made and encoded once."""
        if self._api_description is None:
            made = await asyncio.to_thread(describe)
            self._api_description = json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()
        return self._api_description

    # -- tokens --------------------------------------------------------------------------

    async def find_token(self, secret: str) -> Token | None:
        """Return a valid token by its secret, or None."""
        return await self.find_token_by_hash(token_hash(secret))

    async def find_token_by_hash(self, digest: str) -> Token | None:
        """Return a valid token by the hash of its secret, or None."""
        now = time.monotonic()
        if digest == self._temporary_token_hash:
            return self.temporary_token
        cached = self._token_cache.get(digest)
        if cached is not None and now - cached[0] < TOKEN_CACHE_SECONDS and cached[1].is_valid():
            return cached[1]
        token = await asyncio.to_thread(find_token_by_hash, self.storage, digest)
        if token is None:
            self._token_cache.pop(digest, None)
            return None
        self._token_cache[digest] = now, token
        self._token_cache.move_to_end(digest)
        if len(self._token_cache) > _MAX_CACHED_TOKENS:
            self._token_cache.popitem(last=False)
        return token

    def revoke_temporary_token(self) -> None:
        """Revoke the admin token of this run."""
        self.temporary_token = self._temporary_token_hash = None

    def clear_token_cache(self) -> None:
        """Look up all tokens again, after one was revoked."""
        self._token_cache.clear()

    # -- shutdown -------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop the worker and close all studies and the storage."""
        self.stopping.set()
        self.live_threads.shutdown(wait=False, cancel_futures=True)
        await self.worker.close()
        for study_id in list(self._open_studies):
            self._close(self._open_studies.pop(study_id))
        await asyncio.gather(*self._closing)
        await asyncio.to_thread(self.storage.close)
