"""Health of the storage and the background worker, whose checks strangers cannot multiply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

CACHE_SECONDS: Final = 1.0


class Health:
    """Checks whether the server can work, at most once per second for any number of requests."""

    def __init__(
        self, check: Callable[[], Coroutine[Any, Any, bool]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._check = check
        self._clock = clock
        self._checked_at: float | None = None
        self._checking: asyncio.Task[bool] | None = None

    async def is_responding(self) -> bool:
        """Return the result of the current or last check, or of a new one; raise its error."""
        is_old = self._checked_at is not None and self._clock() - self._checked_at >= CACHE_SECONDS
        if self._checking is None or is_old:
            self._checked_at, self._checking = None, asyncio.create_task(self._check())
            self._checking.add_done_callback(self._finish)
        return await asyncio.shield(self._checking)

    def _finish(self, checked: asyncio.Task[bool]) -> None:
        self._checked_at = self._clock()
        if not checked.cancelled():
            checked.exception()  # those who asked may have left
