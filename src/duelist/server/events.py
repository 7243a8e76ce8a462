"""Changes of a study, told to whoever listens: one look a second at each study that somebody listens to, whoever changed it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from duelist.errors import DuelistError
from duelist.study import AsyncStudy, Study

EVERY: Final = 0.5
"""Seconds between two looks."""
SILENCE: Final = 15.0
"""After so many seconds without an event, a comment keeps proxies from closing the connection."""
MOST: Final = 200


class Changes:
    """Those who listen to one study."""

    def __init__(self, study: AsyncStudy) -> None:
        self._study = study
        self._listeners: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self.last: dict[str, Any] = {}
        self.number = ""

    async def look(self) -> None:
        """See whether something has changed, and tell."""
        stamp = await self._study.read(Study.stamp)
        number = ".".join(map(str, stamp))
        if number == self.number:
            return
        state = await self._study.read(_state)
        self.last = {"votes": stamp.votes, "duels": stamp.duels, "arms": stamp.arms, **state}
        self.number = number
        for listener in self._listeners:
            listener.set()

    async def _watch(self) -> None:
        while self._listeners:
            with contextlib.suppress(DuelistError):  # the storage is away for a moment, or the study was deleted
                await self.look()
            await asyncio.sleep(EVERY)

    async def listen(self, stopping: asyncio.Event) -> AsyncIterator[str]:
        """The events from now on, the state as it is now first; ends when the server stops."""
        changed = asyncio.Event()
        changed.set()
        self._listeners.add(changed)
        await self.look()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            while not stopping.is_set():
                if await _either(changed, stopping, SILENCE):
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
    return {"out": len(study.pending()), "state": study.state.value, "name": study.name}


async def _either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> bool:
    """Whether either happens in time."""
    tasks = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
