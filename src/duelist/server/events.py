"""Server-sent events of a study, which is polled while anyone subscribes: other processes may change it, too."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from duelist.core.errors import DuelistError
from duelist.server.monitoring.logs import log_event
from duelist.study import AsyncStudy, Study

POLL_SECONDS: Final = 0.5
"""Seconds between polls."""
KEEP_ALIVE_SECONDS: Final = 15.0
"""Seconds without an event after which a comment keeps proxies from closing the connection."""
CHECK_SECONDS: Final = 2.0
"""Seconds between checks that a subscriber may still see the study."""
MAX_SUBSCRIBERS: Final = 200
"""Event streams per study."""
MAX_SUBSCRIPTIONS: Final = 20
"""Event streams per token, of all studies together."""


class StudyEvents:
    """Subscribers to the changes of one study, which `study` opens for each poll."""

    def __init__(self, study: Callable[[], AbstractAsyncContextManager[AsyncStudy]]) -> None:
        self._study = study
        self._subscribers: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self.state: dict[str, Any] = {}
        self.event_id = ""

    async def poll(self) -> None:
        """Notify subscribers if the study has changed; a failed poll is logged and tried again."""
        try:
            with contextlib.suppress(DuelistError):  # storage temporarily down, or study deleted
                async with self._study() as study:
                    await self._poll(study)
        except Exception as error:  # noqa: BLE001  (the polling task must not end)
            log_event("polling a study failed", logging.ERROR, error=f"{type(error).__name__}: {error}")

    async def _poll(self, study: AsyncStudy) -> None:
        revision = await study.read(Study.revision)
        event_id = ".".join(map(str, revision))
        if event_id == self.event_id:
            return
        state = await study.read(_state)
        self.state = {"votes": revision.votes, "duels": revision.duels, "arms": revision.arms, **state}
        self.event_id = event_id
        for subscriber in self._subscribers:
            subscriber.set()

    async def _watch(self) -> None:
        while self._subscribers:
            await self.poll()
            await asyncio.sleep(POLL_SECONDS)

    async def subscribe(
        self, stopping: asyncio.Event, is_allowed: Callable[[], Awaitable[bool]] | None = None
    ) -> AsyncGenerator[str]:
        """Yield the current state and every change, until the server stops or the subscriber may not see more."""
        changed = asyncio.Event()
        self._subscribers.add(changed)
        try:
            await self.poll()
            if self.event_id:  # otherwise the first successful poll notifies
                changed.set()
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())
            sent_at = time.monotonic()
            while not stopping.is_set():
                has_changed = await _wait_for_either(changed, stopping, CHECK_SECONDS)
                if stopping.is_set() or (is_allowed is not None and not await is_allowed()):
                    return
                if has_changed:
                    changed.clear()
                    sent_at = time.monotonic()
                    yield f"event: change\nid: {self.event_id}\ndata: {json.dumps(self.state, ensure_ascii=False)}\n\n"
                elif time.monotonic() - sent_at > KEEP_ALIVE_SECONDS:
                    sent_at = time.monotonic()
                    yield ": still here\n\n"
        finally:
            self._subscribers.discard(changed)

    def __len__(self) -> int:
        return len(self._subscribers)


def _state(study: Study) -> dict[str, Any]:
    return {"pending": len(study.pending()), "state": study.state.value, "name": study.name}


async def _wait_for_either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> bool:
    """Return whether either event happens in time."""
    tasks = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
