"""Changes of a study, told to whoever listens: one look a second at each study that somebody listens to, whoever changed it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from duelist.core.errors import DuelistError
from duelist.server.monitoring.logs import log_event
from duelist.study import AsyncStudy, Study

POLL_SECONDS: Final = 0.5
"""Seconds between two looks."""
KEEP_ALIVE_SECONDS: Final = 15.0
"""After so many seconds without an event, a comment keeps proxies from closing the connection."""
MOST: Final = 200


class StudyEvents:
    """Those who listen to one study; `study` opens it, or finds it open, for as long as a look takes."""

    def __init__(self, study: Callable[[], AbstractAsyncContextManager[AsyncStudy]]) -> None:
        self._study = study
        self._listeners: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self.last: dict[str, Any] = {}
        self.number = ""

    async def look(self) -> None:
        """See whether something has changed, and tell. A look that fails is no reason to stop looking, nor to send a listener away."""
        try:
            with contextlib.suppress(DuelistError):  # the storage is away for a moment, or the study was deleted
                async with self._study() as study:
                    await self._look_at(study)
        except Exception as error:  # noqa: BLE001  (who listens hears of nothing once nobody looks)
            log_event("a look at a study failed", logging.ERROR, error=f"{type(error).__name__}: {error}")

    async def _look_at(self, study: AsyncStudy) -> None:
        stamp = await study.read(Study.revision)
        number = ".".join(map(str, stamp))
        if number == self.number:
            return
        state = await study.read(_state)
        self.last = {"votes": stamp.votes, "duels": stamp.duels, "arms": stamp.arms, **state}
        self.number = number
        for listener in self._listeners:
            listener.set()

    async def _watch(self) -> None:
        while self._listeners:
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def listen(self, stopping: asyncio.Event) -> AsyncGenerator[str]:
        """The events from now on, the state as it is now first; ends when the server stops."""
        changed = asyncio.Event()
        self._listeners.add(changed)
        try:
            await self.look()
            if self.number:  # else nothing is known yet, and the first look that succeeds tells
                changed.set()
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())
            while not stopping.is_set():
                if await _either(changed, stopping, KEEP_ALIVE_SECONDS):
                    if stopping.is_set():
                        return
                    changed.clear()
                    yield f"event: change\nid: {self.number}\ndata: {json.dumps(self.last, ensure_ascii=False)}\n\n"
                else:
                    yield ": still here\n\n"
        finally:
            self._listeners.discard(changed)

    def __len__(self) -> int:
        return len(self._listeners)


def _state(study: Study) -> dict[str, Any]:
    return {"pending": len(study.pending()), "state": study.state.value, "name": study.name}


async def _either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> bool:
    """Whether either happens in time."""
    tasks = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
