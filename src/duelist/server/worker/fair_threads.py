"""Threads that studies share: no study has more than half of them, so that requests about one do not delay the others."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Final

Call = Callable[[], None]


class FairThreads:
    """Runs calls in threads, first come, first served, except those of a study that has half of the threads already.

    Threads are daemons: the process ends when its input does, whatever they are doing.
    """

    def __init__(self, threads: int) -> None:
        self._share: Final = max(threads // 2, 1)
        self._waiting: deque[tuple[Hashable, Call]] = deque()
        self._running: Counter[Hashable] = Counter()
        self._changed = threading.Condition()
        for number in range(threads):
            threading.Thread(target=self._work, name=f"duelist-worker-{number}", daemon=True).start()

    def submit(self, study: Hashable, call: Call) -> None:
        """Run a call, which must not raise, for a study (None: for none in particular) as soon as a thread is free for it."""
        with self._changed:
            self._waiting.append((study, call))
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            study, call = self._take()
            call()
            with self._changed:
                self._running[study] -= 1
                self._changed.notify_all()

    def _take(self) -> tuple[Hashable, Call]:
        """Wait for a call of a study that has not got its share, and return the oldest."""
        with self._changed:
            while True:
                for place, (study, call) in enumerate(self._waiting):
                    if self._running[study] < self._share:
                        del self._waiting[place]
                        self._running[study] += 1
                        return study, call
                self._changed.wait()
